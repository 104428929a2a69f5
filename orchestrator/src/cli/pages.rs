//! `shardwright completions` and `shardwright man`: completions and man pages, generated from the description of the
//! command line.

use super::error::CliError;
use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

/// Print completions.
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Write man pages.
#[derive(Debug, Args)]
pub(super) struct Man {
    /// The folder for the pages. It is created if it does not exist.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Completions {
    pub(super) fn print(&self) -> u8 {
        let mut command = super::command();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "shardwright", &mut script);
        super::out::print(script);
        0
    }
}

impl Man {
    pub(super) fn write(&self) -> Result<u8, CliError> {
        let written = std::fs::create_dir_all(&self.out)
            .and_then(|()| clap_mangen::generate_to(super::command(), &self.out));
        written.map(|()| 0).map_err(|source| CliError::File {
            action: "write",
            path: self.out.clone(),
            source,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    const MANUAL: &str = include_str!("../../../docs/cli.md");

    /// Returns each command, such as `map show`, without the long forms `migration ...`.
    fn commands() -> Vec<String> {
        let mut lines = Vec::new();
        for noun in command().get_subcommands() {
            let verbs = noun
                .get_subcommands()
                .filter(|_| noun.get_name() != "migration");
            let verbs: Vec<_> = verbs
                .map(|verb| format!("{} {}", noun.get_name(), verb.get_name()))
                .collect();
            lines.push(noun.get_name().to_owned());
            lines.extend(verbs);
        }
        lines
    }

    #[test]
    fn the_manual_names_every_command() {
        for command_line in commands() {
            assert!(
                MANUAL.contains(&format!("`{command_line}")),
                "docs/cli.md lacks {command_line}"
            );
        }
    }

    #[test]
    fn completions_name_every_command() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut command(), "shardwright", &mut text);
            let text = String::from_utf8(text).unwrap();
            for command in command().get_subcommands() {
                assert!(text.contains(command.get_name()), "{shell}: {command}");
            }
        }
    }

    #[test]
    fn every_command_has_a_man_page_and_the_first_lists_the_exit_codes() {
        let out = std::env::temp_dir().join(format!("shardwright-man-{}", std::process::id()));
        Man { out: out.clone() }.write().unwrap();
        for command_line in commands() {
            let page = out.join(format!("shardwright-{}.1", command_line.replace(' ', "-")));
            assert!(page.exists(), "{}", page.display());
        }
        let first = std::fs::read_to_string(out.join("shardwright.1")).unwrap();
        assert!(first.contains("Exit codes"), "{first}");
        std::fs::remove_dir_all(out).unwrap();
    }
}
