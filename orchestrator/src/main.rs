//! The program `shardwright`: the command line, and with the command `serve` the controller.

use orchestrator::cli::{Cli, CliError};
use std::process::ExitCode;

fn main() -> ExitCode {
    orchestrator::cli::complete();
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(error.report()),
    };
    let errors = cli.error_form();
    let runtime = tokio::runtime::Runtime::new().map_err(CliError::Io);
    match runtime.and_then(|runtime| runtime.block_on(cli.run())) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            error.report(errors);
            ExitCode::from(error.exit_code())
        }
    }
}
