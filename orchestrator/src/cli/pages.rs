//! `shardwright completions` and `shardwright man`: the script with which a shell requests completions, and man pages,
//! generated from the description of the command line.

use super::error::CliError;
use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

/// Print the script that lets a shell complete commands, options and names.
///
/// The shell then calls this program, which queries the controller for the names of migrations, maps, shards and agents.
/// It uses the controller and the token that the command itself would use, and waits one second at most. Write the script
/// to a file that the shell reads: bash ~/.local/share/bash-completion/completions/shardwright, zsh _shardwright in a
/// directory of fpath, fish ~/.config/fish/completions/shardwright.fish.
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
    pub(super) fn print(&self) -> Result<u8, CliError> {
        super::out::print(super::complete::registration(&self.shell.to_string())?);
        Ok(0)
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
    use clap::ValueEnum;

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
    fn each_shell_has_a_script_that_calls_the_program() {
        for shell in Shell::value_variants() {
            let script = crate::cli::complete::registration(&shell.to_string()).unwrap();
            let script = String::from_utf8(script).unwrap();
            let names = ["SHARDWRIGHT_COMPLETE", "shardwright"];
            assert!(names.iter().all(|name| script.contains(name)), "{script}");
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
