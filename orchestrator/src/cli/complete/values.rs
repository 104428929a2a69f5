//! The arguments whose values the controller knows.

use super::candidates::candidates;
use super::permitted::MigrationUse as M;
use crate::controller::Command as Sent;
use clap::Command;
use clap_complete::engine::ArgValueCandidates;

/// What an argument names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedObject {
    /// An operation or a migration.
    Migration(M),
    /// A map.
    Map,
    /// A map that divides keys by their hash.
    HashMap,
    /// An earlier version of the map that the line names.
    MapVersion,
    /// A schema or a group of tables, if the map that the line names has these as keys.
    MapPart,
    /// A shard.
    Shard(ShardUse),
    /// An agent that is not connected.
    SilentAgent,
    /// A token that was not revoked.
    Token,
    /// A context of the config file.
    Context,
}

/// Which shards a command accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShardUse {
    /// Every shard.
    Any,
    /// Those that own keys of the map that the line names.
    Owner,
    /// Those that no map in force names.
    Unused,
}

use NamedObject as N;
use ShardUse as S;

/// The command, its argument, and what the argument names. Arguments that name something new are not listed.
const VALUES: &[(&str, &str, NamedObject)] = &[
    ("show", "id", N::Migration(M::Read)),
    ("report", "id", N::Migration(M::Read)),
    ("watch", "id", N::Migration(M::Follow)),
    ("wait", "id", N::Migration(M::Follow)),
    ("set", "id", N::Migration(M::Follow)),
    ("verify", "id", N::Migration(M::Compare)),
    ("approve", "id", N::Migration(M::Send(Sent::Approve))),
    (
        "approve-cancel",
        "id",
        N::Migration(M::Send(Sent::ApproveCancel)),
    ),
    ("overrule", "id", N::Migration(M::Send(Sent::Overrule))),
    ("pause", "id", N::Migration(M::Send(Sent::Pause))),
    ("resume", "id", N::Migration(M::Send(Sent::Resume))),
    ("retry", "id", N::Migration(M::Send(Sent::Retry))),
    ("abort", "id", N::Migration(M::Send(Sent::Abort))),
    ("rollback", "id", N::Migration(M::Send(Sent::Rollback))),
    ("finish", "id", N::Migration(M::Send(Sent::Finish))),
    ("map show", "name", N::Map),
    ("map remove", "name", N::Map),
    ("map history", "name", N::Map),
    ("map diff", "name", N::Map),
    ("map diff", "from", N::MapVersion),
    ("map diff", "to", N::MapVersion),
    ("map export", "name", N::Map),
    ("map export", "version", N::MapVersion),
    ("map revert", "name", N::Map),
    ("map revert", "version", N::MapVersion),
    ("map join", "name", N::Map),
    ("map buckets", "name", N::HashMap),
    ("map convert", "name", N::Map),
    ("map convert", "shards", N::Shard(S::Any)),
    ("map assign", "name", N::Map),
    ("map set", "name", N::Map),
    ("map load", "name", N::Map),
    ("map check", "name", N::Map),
    ("map locate", "name", N::Map),
    ("map locate", "key", N::MapPart),
    ("map create", "shards", N::Shard(S::Any)),
    ("map import", "from", N::Shard(S::Any)),
    ("plan split", "map", N::Map),
    ("plan split", "source", N::Shard(S::Owner)),
    ("plan split", "into", N::Shard(S::Any)),
    ("plan merge", "map", N::Map),
    ("plan merge", "from", N::Shard(S::Owner)),
    ("plan merge", "into", N::Shard(S::Any)),
    ("plan move", "map", N::Map),
    ("plan move", "from", N::Shard(S::Owner)),
    ("plan move", "to", N::Shard(S::Any)),
    ("plan move", "keys", N::MapPart),
    ("plan isolate", "map", N::Map),
    ("plan isolate", "key", N::MapPart),
    ("plan isolate", "to", N::Shard(S::Any)),
    ("plan drain", "map", N::Map),
    ("plan drain", "shard", N::Shard(S::Owner)),
    ("plan drain", "to", N::Shard(S::Any)),
    ("plan rebalance", "map", N::Map),
    ("plan rebalance", "onto", N::Shard(S::Any)),
    ("doctor", "shard", N::Shard(S::Any)),
    ("doctor", "map", N::Map),
    ("shard set", "name", N::Shard(S::Any)),
    ("shard show", "name", N::Shard(S::Any)),
    ("shard remove", "name", N::Shard(S::Unused)),
    ("cleanup", "shards", N::Shard(S::Any)),
    ("reconcile", "accept", N::Shard(S::Any)),
    ("agent remove", "name", N::SilentAgent),
    ("token revoke", "name", N::Token),
    ("context use", "name", N::Context),
    ("context set", "name", N::Context),
    ("context remove", "name", N::Context),
    ("", "context", N::Context),
];

/// Returns the command with completions for its arguments.
pub(super) fn with_values(command: Command) -> Command {
    let mut command = command;
    for (_, argument, named) in VALUES.iter().filter(|(path, ..)| path.is_empty()) {
        command = complete_argument(command, argument, *named);
    }
    add_values(command, "")
}

/// Adds completions to the subcommands of `command`, whose own name is `path`.
fn add_values(command: Command, path: &str) -> Command {
    command.mut_subcommands(|verb| {
        // The long form, such as `migration show`, is completed as the short form.
        let path = match verb.get_name() {
            "migration" => String::new(),
            name => format!("{path}{name} "),
        };
        let mut verb = verb;
        let here = |(command, ..): &&(&str, &str, NamedObject)| {
            !command.is_empty() && *command == path.trim_end()
        };
        for (_, argument, named) in VALUES.iter().filter(here) {
            verb = complete_argument(verb, argument, *named);
        }
        add_values(verb, &path)
    })
}

/// Adds a completion to one argument. `Command::mut_arg` would change the order of positional arguments.
fn complete_argument(command: Command, argument: &str, named: NamedObject) -> Command {
    command.mut_args(|known| match known.get_id() == argument {
        true => known.add(ArgValueCandidates::new(move || candidates(named))),
        false => known,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Arguments with the name of something that does not exist yet, or that no controller knows.
    const OTHERS: [(&str, &str); 8] = [
        ("report", "to"),
        ("shard add", "name"),
        ("map create", "name"),
        ("map import", "name"),
        ("token create", "name"),
        ("hook test", "name"),
        ("init", "shards"),
        ("init", "map"),
    ];

    /// The ids of arguments that name an object.
    const NAMING: [&str; 11] = [
        "id", "name", "map", "shard", "shards", "source", "from", "into", "to", "onto", "accept",
    ];

    fn arguments(command: &Command, path: &str, all: &mut BTreeSet<(String, String)>) {
        for verb in command.get_subcommands() {
            let path = match verb.get_name() {
                "migration" => continue,
                name => format!("{path}{name} "),
            };
            for argument in verb.get_arguments() {
                let (path, id) = (path.trim_end().to_owned(), argument.get_id().to_string());
                all.insert((path, id));
            }
            arguments(verb, &path, all);
        }
    }

    #[test]
    fn each_argument_that_names_an_object_is_completed() {
        let mut all = BTreeSet::new();
        arguments(&crate::cli::command(), "", &mut all);
        for (path, id) in &all {
            let is_listed = VALUES
                .iter()
                .any(|(p, i, _)| (p, i) == (&path.as_str(), &id.as_str()));
            let is_other = OTHERS.contains(&(path.as_str(), id.as_str()));
            let names_object = NAMING.contains(&id.as_str());
            assert!(is_listed || is_other || !names_object, "{path} {id}");
        }
        for (path, id, _) in VALUES.iter().filter(|(path, ..)| !path.is_empty()) {
            assert!(
                all.contains(&((*path).to_owned(), (*id).to_owned())),
                "{path} has no argument {id}"
            );
        }
    }

    #[test]
    fn the_command_with_completions_is_consistent() {
        with_values(crate::cli::command()).debug_assert();
    }
}
