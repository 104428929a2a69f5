//! Examples for the help of each command. Tests check that each command has an example, and that each example can be
//! parsed.

use clap::Command;

/// The commands, such as `map show`, and for each of them command lines as a user types them.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "serve",
        &[
            "shardwright serve --store 'host=10.0.0.2 dbname=control user=shardwright'",
            "shardwright serve --listen 0.0.0.0:7432 --tokens --tls-cert cert.pem --tls-key key.pem",
        ],
    ),
    (
        "demo",
        &[
            "shardwright demo",
            "shardwright demo --operation merge --strategy hash --scale 0.2",
            "shardwright demo --kill agent@copy",
        ],
    ),
    (
        "torture",
        &["shardwright torture --runs 20 --json results.json"],
    ),
    (
        "init",
        &[
            "shardwright init --shard 'a=host=10.0.0.5 dbname=shop user=me password=${env:SHOP_PASSWORD}' --out fleet.yaml",
            "shardwright init --shard a=service=shop-a --shard b=service=shop-b --map tenants --key tenant_id",
        ],
    ),
    (
        "fleet apply",
        &[
            "shardwright fleet apply fleet.yaml --dry-run",
            "shardwright fleet apply fleet.yaml",
        ],
    ),
    (
        "shard add",
        &[
            "shardwright shard add a host=10.0.0.5",
            "shardwright shard add b service=orders-b --label region=eu --capacity 2",
        ],
    ),
    (
        "shard set",
        &["shardwright shard set b --label region=eu --capacity 2"],
    ),
    ("shard list", &["shardwright shard list -o wide"]),
    ("shard show", &["shardwright shard show b -o yaml"]),
    (
        "shard remove",
        &[
            "shardwright shard remove b --dry-run",
            "shardwright shard remove b --yes",
        ],
    ),
    (
        "map remove",
        &[
            "shardwright map remove old --dry-run",
            "shardwright map remove old --yes",
        ],
    ),
    (
        "map create",
        &[
            "shardwright map create tenants --range ..=a --table orders=tenant_id",
            "shardwright map create events --strategy hash --buckets 1024 --shards a,b",
            "shardwright map create tenants -f map.yaml",
        ],
    ),
    (
        "map import",
        &["shardwright map import tenants mappings.csv --table orders=tenant_id"],
    ),
    ("map show", &["shardwright map show tenants"]),
    ("map list", &["shardwright map list -o name"]),
    ("map history", &["shardwright map history tenants"]),
    (
        "map diff",
        &[
            "shardwright map diff tenants 3",
            "shardwright map diff tenants 3 5",
        ],
    ),
    (
        "map export",
        &[
            "shardwright map export tenants --format csv --out mappings.csv",
            "shardwright map export tenants --format sql",
            "shardwright map export tenants --format pgbouncer --out /etc/pgbouncer/tenants.ini",
        ],
    ),
    (
        "map revert",
        &["shardwright map revert tenants 3 --out back.yaml"],
    ),
    ("map join", &["shardwright map join tenants --dry-run"]),
    (
        "map buckets",
        &[
            "shardwright map buckets events 2048 --dry-run",
            "shardwright map buckets events 2048 --yes --reason CHG-1043",
        ],
    ),
    (
        "map convert",
        &[
            "shardwright map convert events --strategy range --range ..1000=a --range 1000..=b --dry-run",
            "shardwright map convert events --strategy hash --buckets 1024 --shards a,b --moves moves.yaml --yes",
            "shardwright map convert events -f map.yaml --yes --reason CHG-1044",
        ],
    ),
    (
        "map assign",
        &[
            "shardwright map assign tenants --range 100..200=b --dry-run",
            "shardwright map assign tenants --range 100..200=b --yes --reason CHG-1042",
        ],
    ),
    (
        "map set",
        &[
            "shardwright map set tenants --table invoices=tenant_id --dry-run",
            "shardwright map set tenants --pin eu=b,c@100..200",
        ],
    ),
    (
        "map load",
        &[
            "shardwright map load tenants",
            "shardwright map load tenants --by writes --for 60s",
        ],
    ),
    (
        "map check",
        &[
            "shardwright map check tenants",
            "shardwright map check tenants --request repairs.yaml",
        ],
    ),
    (
        "map repair",
        &[
            "shardwright map check tenants --request repairs.yaml",
            "shardwright map repair repairs.yaml --dry-run",
            "shardwright map repair repairs.yaml --yes --reason CHG-1042",
        ],
    ),
    ("map locate", &["shardwright map locate tenants 4711"]),
    (
        "plan",
        &[
            "shardwright plan request.yaml -o plan.json",
            "shardwright plan split tenants --source a --into a --into b --even rows -o plan.json",
        ],
    ),
    (
        "plan split",
        &[
            "shardwright plan split tenants --source a --into a=..100 --into b=100.. -o plan.json",
            "shardwright plan split tenants --source a --into a --into b --even rows",
        ],
    ),
    (
        "plan merge",
        &["shardwright plan merge tenants --from a --from b --into c -o plan.json"],
    ),
    (
        "plan move",
        &[
            "shardwright plan move tenants --from a --to b --keys 100..200 -o plan.json",
            "shardwright plan move tenants --from a --to b --limit rate=20MB/s --approvals 2",
        ],
    ),
    (
        "plan isolate",
        &["shardwright plan isolate tenants 4711 --to c -o plan.json"],
    ),
    (
        "plan drain",
        &[
            "shardwright plan drain tenants --shard a -o plan.json",
            "shardwright plan drain tenants --shard a --to b --to c --by bytes --drop-tables",
        ],
    ),
    (
        "plan rebalance",
        &[
            "shardwright plan rebalance tenants --by writes --for 60s -o plan.json",
            "shardwright plan rebalance tenants --onto c --threshold 5",
        ],
    ),
    (
        "apply",
        &[
            "shardwright apply plan.json",
            "shardwright apply plan.json --queue",
            "shardwright apply plan.json --dry-run",
        ],
    ),
    (
        "doctor",
        &[
            "shardwright doctor",
            "shardwright doctor request.yaml",
            "shardwright doctor --map tenants -o json",
            "shardwright doctor --explain SW0411",
        ],
    ),
    (
        "token create",
        &[
            "shardwright token create eve --role operator --days 90",
            "shardwright token create agent-1 --role agent --label region=eu",
        ],
    ),
    ("token list", &["shardwright token list"]),
    (
        "token revoke",
        &["shardwright token revoke eve --yes --reason CHG-1042"],
    ),
    ("context list", &["shardwright context list"]),
    ("context show", &["shardwright context show"]),
    ("context use", &["shardwright context use production"]),
    (
        "context set",
        &[
            "shardwright context set production --controller https://shards.example.net:7432 --token-file token",
        ],
    ),
    ("context remove", &["shardwright context remove staging"]),
    ("dashboard", &["shardwright dashboard"]),
    ("top", &["shardwright top --sort lag"]),
    ("agent list", &["shardwright agent list"]),
    (
        "agent remove",
        &[
            "shardwright agent remove agent-2 --dry-run",
            "shardwright agent remove agent-2 --yes --reason CHG-1042",
        ],
    ),
    (
        "cleanup",
        &[
            "shardwright cleanup",
            "shardwright cleanup --shard b --apply --yes",
        ],
    ),
    (
        "reconcile",
        &[
            "shardwright reconcile",
            "shardwright reconcile --accept b --yes --reason restored",
            "shardwright reconcile --apply --dry-run",
        ],
    ),
    ("hook list", &["shardwright hook list --hooks hooks.yaml"]),
    (
        "hook test",
        &["shardwright hook test freeze --hooks hooks.yaml --phase before_cutover"],
    ),
    ("version", &["shardwright version -o json"]),
    (
        "completions",
        &[
            "shardwright completions bash",
            "shardwright completions zsh",
        ],
    ),
    ("man", &["shardwright man --out /usr/local/share/man/man1"]),
    (
        "list",
        &["shardwright list", "shardwright list --limit 100 -o jsonl"],
    ),
    (
        "show",
        &["shardwright show m7f3", "shardwright show m7f3 -o yaml"],
    ),
    (
        "watch",
        &[
            "shardwright watch m7f3",
            "shardwright watch m7f3 --until waiting",
            "shardwright watch m7f3 -o jsonl",
        ],
    ),
    (
        "wait",
        &[
            "shardwright wait m7f3 --for condition=ready --timeout 2h",
            "shardwright wait m7f3 --for phase=flipped",
            "shardwright wait m7f3 --for finished",
        ],
    ),
    (
        "approve",
        &[
            "shardwright approve m7f3 --dry-run",
            "shardwright approve m7f3 --reason CHG-1042",
            "shardwright approve m7f3 --yes",
        ],
    ),
    (
        "approve-cancel",
        &[
            "shardwright show m7f3",
            "shardwright approve-cancel m7f3 --yes --reason CHG-1042",
        ],
    ),
    (
        "overrule",
        &["shardwright overrule m7f3 --yes --reason CHG-1042"],
    ),
    ("pause", &["shardwright pause m7f3 --reason CHG-1042"]),
    ("resume", &["shardwright resume m7f3"]),
    ("retry", &["shardwright retry m7f3"]),
    (
        "abort",
        &[
            "shardwright abort m7f3 --dry-run",
            "shardwright abort m7f3 --yes --reason CHG-1042",
        ],
    ),
    (
        "rollback",
        &[
            "shardwright rollback m7f3 --dry-run",
            "shardwright rollback m7f3 --yes --reason CHG-1042",
        ],
    ),
    (
        "finish",
        &[
            "shardwright finish m7f3 --dry-run",
            "shardwright finish m7f3 --yes",
        ],
    ),
    (
        "set",
        &[
            "shardwright set rate m7f3 20MB/s",
            "shardwright set hours m7f3 22:00-06:00",
            "shardwright set rate m7f3 off --reason CHG-1042",
        ],
    ),
    (
        "verify",
        &[
            "shardwright verify m7f3",
            "shardwright verify m7f3 --repair --yes",
        ],
    ),
    (
        "report",
        &[
            "shardwright report m7f3 --to report.html",
            "shardwright report m7f3 --format md",
        ],
    ),
];

/// Returns the command with examples at the end of the help of each subcommand.
pub(super) fn with_examples(command: Command) -> Command {
    add_examples(command, "")
}

/// Adds examples to the subcommands of `command`, whose own name is `path`.
fn add_examples(command: Command, path: &str) -> Command {
    command.mut_subcommands(|verb| {
        // The long form, such as `migration show`, has the examples of the short form.
        let path = match verb.get_name() {
            "migration" => String::new(),
            name => format!("{path}{name} "),
        };
        let lines = EXAMPLES
            .iter()
            .find(|(verb, _)| *verb == path.trim_end())
            .map(|(_, lines)| format!("Examples:\n  {}", lines.join("\n  ")));
        let before = verb.get_after_help().map(|text| format!("{text}\n\n"));
        let verb = match lines {
            Some(lines) => verb.after_help(before.unwrap_or_default() + &lines),
            None => verb,
        };
        add_examples(verb, &path)
    })
}

#[cfg(test)]
mod tests {
    use super::EXAMPLES;
    use crate::cli::{Cli, command};
    use clap::{Command, Parser};

    /// Collects each command with the examples in its help.
    fn verbs(command: &Command, path: &str, all: &mut Vec<(String, String)>) {
        for verb in command.get_subcommands() {
            let path = format!("{path}{} ", verb.get_name());
            if !verb.has_subcommands() {
                let help = verb.get_after_help().map(ToString::to_string);
                all.push((path.trim_end().to_owned(), help.unwrap_or_default()));
            }
            verbs(verb, &path, all);
        }
    }

    #[test]
    fn every_command_has_an_example() {
        let mut all = Vec::new();
        verbs(&command(), "", &mut all);
        assert!(all.len() > 70, "{}", all.len());
        for (path, help) in &all {
            let verb = path.strip_prefix("migration ").unwrap_or(path);
            let example = format!("\n  shardwright {verb}");
            assert!(help.contains(&example), "{path} has no example");
        }
    }

    #[test]
    fn every_example_is_a_command_line() {
        for line in EXAMPLES.iter().flat_map(|(_, lines)| *lines) {
            // Text between quotes is one word.
            let words = line.split('\'').enumerate();
            let words = words.flat_map(|(index, part)| match index % 2 {
                0 => part.split_whitespace().collect::<Vec<_>>(),
                _ => vec![part],
            });
            let parsed = Cli::try_parse_from(words);
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
    }
}
