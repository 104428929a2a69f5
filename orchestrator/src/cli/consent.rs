//! Confirmation before a change. With `--dry-run` a command only prints what it would do. A dangerous command requires
//! the user to type a name.
//!
//! All texts are messages on stderr. The commands decide what is dangerous, not this file.

use super::error::CliError;
use crate::cli::out::report;
use clap::Args;
use std::io::{BufRead, IsTerminal};

/// The option of every command that changes something.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct DryRun {
    /// Report what would be done, and change nothing.
    #[arg(long)]
    dry_run: bool,
}

/// The options of a command that is not undone easily.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct Consent {
    /// Do it without confirmation.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    dry: DryRun,
}

impl DryRun {
    /// Returns true if the command must not change anything.
    pub(super) fn is_dry(self) -> bool {
        self.dry_run
    }

    /// Returns whether the command must make its change. If not, prints `what`, the change that it would make.
    pub(super) fn goes_on(self, what: &str) -> bool {
        if self.dry_run {
            report!("dry run, nothing was changed. What would be done: {what}");
        }
        !self.dry_run
    }
}

impl Consent {
    /// Returns the option `--dry-run`.
    pub(super) fn dry(self) -> DryRun {
        self.dry
    }

    /// Returns whether the command must make its change. Prints `what`, and requires the user to type `name`.
    ///
    /// # Errors
    /// Wrong usage if there is no terminal. A refusal if the user types something else.
    pub(super) fn is_confirmed(self, what: &str, name: &str) -> Result<bool, CliError> {
        if !self.dry.goes_on(what) {
            return Ok(false);
        }
        if self.yes {
            return Ok(true);
        }
        if !std::io::stdin().is_terminal() {
            return Err(CliError::Usage(format!(
                "nothing was changed: there is no terminal to type {name} on; --yes needs no confirmation"
            )));
        }
        super::out::write_message(format_args!("{what}\nType {name} to go on: "));
        is_typed(name, std::io::stdin().lock()).map(|()| true)
    }
}

fn is_typed(name: &str, mut from: impl BufRead) -> Result<(), CliError> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    if line.trim() == name {
        return Ok(());
    }
    Err(CliError::Refused(format!(
        "nothing was changed: {name} was not typed"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_itself_is_consent() {
        assert!(is_typed("m1", &b"m1\n"[..]).is_ok());
        for typed in ["", "\n", "y\n", "m12\n"] {
            let refused = is_typed("m1", typed.as_bytes()).unwrap_err();
            assert_eq!(refused.exit_code(), 4, "{typed:?}");
        }
    }
}
