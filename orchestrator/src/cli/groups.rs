//! The groups of commands in `shardwright --help`, in the order in which a newcomer needs them.
//!
//! clap lists all subcommands under one heading. This file orders them by group, lets clap write the list, and inserts
//! the heading of each group before its first command.

use anstream::adapter::strip_str;
use clap::Command;

/// The heading of each group, and its commands. A test checks that each command is in exactly one group.
const GROUPS: &[(&str, &[&str])] = &[
    ("Try it", &["demo", "torture"]),
    (
        "Set up",
        &[
            "serve", "context", "token", "init", "shard", "map", "fleet", "hook",
        ],
    ),
    ("Plan and submit", &["doctor", "plan", "apply"]),
    (
        "Watch",
        &["list", "show", "watch", "wait", "top", "dashboard"],
    ),
    (
        "Decide",
        &[
            "approve",
            "approve-cancel",
            "overrule",
            "pause",
            "resume",
            "retry",
            "set",
            "abort",
            "rollback",
            "finish",
        ],
    ),
    ("Inspect", &["verify", "report", "version"]),
    ("Maintain", &["agent", "reconcile", "cleanup"]),
    ("More", &["migration", "completions", "man", "help"]),
];

/// Returns the command with a help that lists its subcommands in groups.
pub(super) fn with_groups(command: Command) -> Command {
    let command = command.mut_subcommands(|subcommand| {
        let order = position(subcommand.get_name());
        subcommand.display_order(order)
    });
    let list = command
        .clone()
        .help_template("{subcommands}")
        .render_help()
        .ansi()
        .to_string();
    let heading = *command.get_styles().get_header();
    let mut groups = String::new();
    for line in list.lines() {
        let first_command = GROUPS.iter().find(|(_, names)| is_line_of(line, names[0]));
        if let Some((title, _)) = first_command {
            groups += &format!("\n{heading}{title}:{heading:#}\n");
        }
        groups += line;
        groups += "\n";
    }
    command.help_template(format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\n{heading}Options:{heading:#}\n{{options}}{{after-help}}"
    ))
}

/// Returns the position of a command in the help. A command without a group comes last.
fn position(name: &str) -> usize {
    let mut names = GROUPS.iter().flat_map(|(_, names)| *names);
    names.position(|known| *known == name).unwrap_or(usize::MAX)
}

/// Returns whether a line of the list of subcommands describes this command.
fn is_line_of(line: &str, name: &str) -> bool {
    let plain = strip_str(line).to_string();
    plain.starts_with("  ") && plain.split_whitespace().next() == Some(name)
}

#[cfg(test)]
mod tests {
    use super::GROUPS;
    use crate::cli::command;
    use std::collections::BTreeMap;

    fn help() -> String {
        let mut command = command().term_width(100);
        command.render_help().to_string()
    }

    #[test]
    fn each_command_is_in_one_group() {
        let mut command = command();
        command.build();
        let visible = command.get_subcommands().filter(|c| !c.is_hide_set());
        let mut visible: Vec<&str> = visible.map(|c| c.get_name()).collect();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        visible.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, visible);
    }

    #[test]
    fn the_help_lists_each_command_once_below_its_heading() {
        let help = help();
        let (mut heading, mut found) = ("", BTreeMap::<&str, Vec<&str>>::new());
        for line in help.lines() {
            let is_heading = line.ends_with(':') && !line.starts_with(' ');
            if is_heading {
                heading = line.trim_end_matches(':');
            } else if line.starts_with("  ") && !line.starts_with("   ") {
                let name = line.split_whitespace().next().unwrap();
                found.entry(heading).or_default().push(name);
            }
        }
        for (title, names) in GROUPS {
            assert_eq!(found[title], *names, "{help}");
        }
    }

    #[test]
    fn the_manual_has_the_same_groups() {
        let manual = include_str!("../../../docs/cli.md");
        let mut rest = manual.split_once("## Commands\n").unwrap().1;
        for (title, names) in GROUPS {
            let heading = format!("\n### {title}\n");
            rest = rest
                .split_once(&heading)
                .unwrap_or_else(|| panic!("{title}"))
                .1;
            let section = rest.split("\n#").next().unwrap();
            for name in *names {
                let is_listed = [format!("`{name}`"), format!("`{name} ")];
                assert!(
                    is_listed.iter().any(|n| section.contains(n)),
                    "{title}: {name}"
                );
            }
        }
    }

    #[test]
    fn the_help_has_its_other_parts_too() {
        let help = help();
        for part in ["Usage: shardwright", "--controller <URL>", "Exit codes:"] {
            assert_eq!(help.matches(part).count(), 1, "{part}: {help}");
        }
        assert!(!help.contains('{') && !help.contains("Commands:"), "{help}");
    }
}
