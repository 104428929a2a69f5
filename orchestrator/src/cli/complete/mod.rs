//! Completion of names that only the controller knows: migrations, maps, shards, agents, tokens.
//!
//! - The shell calls the program with the variable [`VARIABLE`] and the words of the command line. The program prints
//!   the candidates, and runs no command.
//! - `values` has a table of the arguments that are completed, `candidates` reads the names, `permitted` selects the
//!   migrations whose state permits a command.
//! - The controller, the token and the certificates are those that the command itself would use.
//! - Without an answer within [`LIMIT`] there are no candidates, and no message: it would be printed into the command
//!   line that the user is typing.

mod candidates;
mod permitted;
mod typed;
mod values;

use super::error::CliError;
use clap_complete::env::{CompleteEnv, Shells};
use std::time::Duration;

/// The variable that requests candidates. Its value is the name of the shell.
const VARIABLE: &str = "SHARDWRIGHT_COMPLETE";
/// The program that the shell calls.
const PROGRAM: &str = "shardwright";
/// For how long the controller may take.
const LIMIT: Duration = Duration::from_secs(1);

/// zsh loads the script at the first completion, and expects candidates from it at once.
const FIRST_CALL_OF_ZSH: &str = r#"
if [[ "$funcstack[1]" = "_shardwright" ]]; then
    _clap_dynamic_completer_shardwright "$@"
fi
"#;

/// Prints the candidates and ends the process, if a shell requests them.
pub fn complete() {
    let command = || values::with_values(super::command());
    CompleteEnv::with_factory(command)
        .var(VARIABLE)
        .completer(PROGRAM)
        .complete();
}

/// Returns the script with which a shell calls this program for candidates.
///
/// # Errors
/// The shell is not known, or the script cannot be written.
pub(super) fn registration(shell: &str) -> Result<Vec<u8>, CliError> {
    let shells = Shells::builtins();
    let completer = shells
        .completer(shell)
        .ok_or_else(|| CliError::Usage(format!("there are no completions for {shell}")))?;
    let mut script = Vec::new();
    completer.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    if shell == "zsh" {
        script.extend_from_slice(FIRST_CALL_OF_ZSH.as_bytes());
    }
    Ok(script)
}
