//! Examples under the help of the main verbs; a test holds each line to the parser.

pub(super) const APPLY: &str = "\
Examples:
  shardwright apply plan.json
  shardwright apply plan.json --queue
  shardwright apply plan.json --dry-run";

pub(super) const DOCTOR: &str = "\
Examples:
  shardwright doctor
  shardwright doctor request.yaml
  shardwright doctor --map tenants -o json
  shardwright doctor --explain SW0411";

pub(super) const WATCH: &str = "\
Examples:
  shardwright watch m7f3
  shardwright watch m7f3 --until waiting
  shardwright watch m7f3 -o jsonl";

pub(super) const WAIT: &str = "\
Examples:
  shardwright wait m7f3 --for condition=ready --timeout 2h
  shardwright wait m7f3 --for phase=flipped
  shardwright wait m7f3 --for finished";

pub(super) const APPROVE: &str = "\
Examples:
  shardwright approve m7f3 --dry-run
  shardwright approve m7f3 --reason CHG-1042
  shardwright approve m7f3 --yes";

pub(super) const ABORT: &str = "\
Examples:
  shardwright abort m7f3 --dry-run
  shardwright abort m7f3 --yes --reason CHG-1042";

pub(super) const ROLLBACK: &str = "\
Examples:
  shardwright rollback m7f3 --dry-run
  shardwright rollback m7f3 --yes --reason CHG-1042";

pub(super) const FINISH: &str = "\
Examples:
  shardwright finish m7f3 --dry-run
  shardwright finish m7f3 --yes";

pub(super) const VERIFY: &str = "\
Examples:
  shardwright verify m7f3
  shardwright verify m7f3 --repair --yes";

pub(super) const REPORT: &str = "\
Examples:
  shardwright report m7f3 --to report.html
  shardwright report m7f3 --format md";

pub(super) const SPLIT: &str = "\
Examples:
  shardwright plan split tenants --source a --into a=..100 --into b=100.. -o plan.json
  shardwright plan split tenants --source a --into a --into b --even rows";

pub(super) const MOVE: &str = "\
Examples:
  shardwright plan move tenants --from a --to b --keys 100..200 -o plan.json
  shardwright plan move tenants --from a --to b";

pub(super) const SHARD_ADD: &str = "\
Examples:
  shardwright shard add a host=10.0.0.5
  shardwright shard add b service=orders-b --label region=eu --capacity 2";

pub(super) const MAP_CREATE: &str = "\
Examples:
  shardwright map create tenants --range ..=a --table orders=tenant_id
  shardwright map create events --strategy hash --buckets 1024 --shards a,b
  shardwright map create tenants -f map.yaml";

pub(super) const MAP_ASSIGN: &str = "\
Examples:
  shardwright map assign tenants --range 100..200=b --dry-run
  shardwright map assign tenants --range 100..200=b --yes --reason CHG-1042";

pub(super) const MAP_MEND: &str = "\
Examples:
  shardwright map check tenants --request mend.yaml
  shardwright map mend mend.yaml --dry-run
  shardwright map mend mend.yaml --yes --reason CHG-1042";

#[cfg(test)]
mod tests {
    use crate::cli::Cli;
    use clap::{Command, CommandFactory, Parser};

    /// Each command with the examples under its help.
    fn examples(command: &Command, name: &str, all: &mut Vec<(String, String)>) {
        for verb in command.get_subcommands() {
            let name = format!("{name}{} ", verb.get_name());
            let help = verb.get_after_help().map(ToString::to_string);
            let help = help.unwrap_or_default();
            let lines = help.lines().filter_map(|line| line.strip_prefix("  "));
            let lines = lines.filter(|line| line.starts_with("shardwright "));
            all.extend(lines.map(|line| (name.clone(), line.to_owned())));
            examples(verb, &name, all);
        }
    }

    #[test]
    fn every_example_is_a_command_line() {
        let mut all = Vec::new();
        examples(&Cli::command(), "", &mut all);
        for (of, line) in &all {
            let read = Cli::try_parse_from(line.split(' '));
            assert!(read.is_ok(), "{of}: {line}: {}", read.unwrap_err());
        }
        for verb in [
            "apply",
            "doctor",
            "watch",
            "wait",
            "approve",
            "abort",
            "rollback",
            "finish",
            "set",
            "verify",
            "report",
            "plan split",
            "plan move",
            "shard add",
            "map create",
            "map assign",
            "map mend",
        ] {
            let shown = |(of, line): &&(String, String)| {
                of.trim_end() == verb && line.starts_with(&format!("shardwright {verb} "))
            };
            assert!(all.iter().find(shown).is_some(), "{verb} has no example");
        }
    }
}
