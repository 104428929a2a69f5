//! Commands that another program carries out: `shardwright demo` runs `shardwright-demo demo`.

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
    /// The options of the program.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "OPTION"
    )]
    arguments: Vec<OsString>,
}

impl External {
    /// Replaces this process by the program, so that signals and the exit code are those of the program. It must be in
    /// the folder of this program, or in PATH.
    pub(super) fn run(self, command: &str) -> Result<u8, CliError> {
        let beside = std::env::current_exe().map(|path| path.with_file_name(PROGRAM));
        let program = beside.ok().filter(|path| path.is_file());
        let program = program.unwrap_or_else(|| PathBuf::from(PROGRAM));
        let source = Command::new(&program)
            .arg(command)
            .args(self.arguments)
            .exec();
        Err(CliError::External { program, source })
    }
}
