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
    /// Print what would be done, and change nothing.
    #[arg(long)]
    dry_run: bool,
}

/// The options of a command that cannot be undone easily.
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
    pub(super) fn proceed_or_print(self, what: &str) -> bool {
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
        if !self.dry.proceed_or_print(what) {
            return Ok(false);
        }
        if self.yes {
            return Ok(true);
        }
        if !std::io::stdin().is_terminal() {
            return Err(CliError::Usage(
                "nothing was changed: a confirmation is required and there is no terminal; with --yes no confirmation is required"
                    .to_owned(),
            ));
        }
        super::out::write_message(format_args!("{what}\nType {name} to continue: "));
        read_confirmation(name, std::io::stdin().lock()).map(|()| true)
    }
}

fn read_confirmation(name: &str, mut from: impl BufRead) -> Result<(), CliError> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    if line.trim() == name {
        return Ok(());
    }
    Err(CliError::Refused(format!(
        "nothing was changed: you did not type {name}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_itself_is_consent() {
        assert!(read_confirmation("m1", &b"m1\n"[..]).is_ok());
        for typed in ["", "\n", "y\n", "m12\n"] {
            let refused = read_confirmation("m1", typed.as_bytes()).unwrap_err();
            assert_eq!(refused.exit_code(), 4, "{typed:?}");
        }
    }
}
