//! Before something changes: `--dry-run` reports what would be done, and what is dangerous requires a name to be typed.
//!
//! All of this is messages, on stderr; nothing here knows what is dangerous: the commands do.

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
    /// True where nothing may be changed.
    pub(super) fn is_dry(self) -> bool {
        self.dry_run
    }

    /// Whether it is to be done; if not, reports what would be.
    pub(super) fn goes_on(self, what: &str) -> bool {
        if self.dry_run {
            report!("dry run, nothing was changed. What would be done: {what}");
        }
        !self.dry_run
    }
}

impl Consent {
    /// The option `--dry-run`.
    pub(super) fn dry(self) -> DryRun {
        self.dry
    }

    /// Whether it is to be done: reports `what`, and requires `name` to be typed.
    ///
    /// # Errors
    /// Wrong usage without a terminal; refused where something else is typed.
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
