//! Commands of a program of their own, as with git and cargo: `shardwright demo` runs `shardwright-demo`.

use super::error::CliError;
use clap::Args;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The program with the commands `demo` and `torture`.
const PROGRAM: &str = "shardwright-demo";

/// Options of the program; `--help` lists them.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(super) struct External {
    /// Passed on as they are.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "OPTION"
    )]
    arguments: Vec<OsString>,
}

impl External {
    /// Replaces this process by the program, which is in the folder of this one or in PATH; signals and the exit code are the
    /// program's.
    pub(super) fn run(self, command: &str) -> Result<u8, CliError> {
        let same_folder = std::env::current_exe().map(|own| own.with_file_name(PROGRAM));
        let program = same_folder.ok().filter(|same_folder| same_folder.is_file());
        let program = program.unwrap_or_else(|| PathBuf::from(PROGRAM));
        let source = Command::new(&program)
            .arg(command)
            .args(self.arguments)
            .exec();
        Err(CliError::External { program, source })
    }
}
