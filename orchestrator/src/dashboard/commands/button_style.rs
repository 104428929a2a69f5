//! The label and the style of the button of a command: the same on every page.

use crate::controller::Command;
use plans::plan::MovePlan;
use plans::request::Seed;

/// How a button looks. Of the buttons of one object at most one is recommended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dashboard) enum ButtonStyle {
    /// The migration waits for the command, and goes on with it.
    Recommended,
    /// The command can be undone.
    Usual,
    /// The command cannot be undone: it deletes rows, gives up what was done, or ends transactions.
    Irreversible,
}

impl ButtonStyle {
    /// Returns the style of a command's button. After a rollback nothing waits for another cutover.
    pub(in crate::dashboard) fn of(command: Command, is_rolled_back: bool) -> Self {
        match command {
            Command::Approve if is_rolled_back => Self::Usual,
            Command::Approve | Command::Resume => Self::Recommended,
            Command::Pause | Command::Retry | Command::Rollback => Self::Usual,
            Command::ApproveCancel | Command::Overrule | Command::Abort | Command::Finish => {
                Self::Irreversible
            }
        }
    }

    /// Returns the CSS class.
    pub(in crate::dashboard) fn class(self) -> &'static str {
        match self {
            Self::Recommended => "button first",
            Self::Usual => "button",
            Self::Irreversible => "button grave",
        }
    }
}

/// Returns the label of a command for one migration.
pub(in crate::dashboard) fn label(
    command: Command,
    plan: &MovePlan,
    is_rolled_back: bool,
) -> &'static str {
    match command {
        Command::Approve if is_rolled_back => "Cut over again",
        Command::Approve => "Approve the cutover",
        Command::Finish if is_rolled_back && plan.options.seed == Seed::Copy => {
            "Finish, drop the copy"
        }
        Command::Finish if is_rolled_back => "Finish, keep the rows",
        Command::ApproveCancel
        | Command::Overrule
        | Command::Pause
        | Command::Resume
        | Command::Retry
        | Command::Abort
        | Command::Rollback
        | Command::Finish => label_for_all(command),
    }
}

/// Returns the label of a command for all moves of an operation.
pub(in crate::dashboard) fn label_for_all(command: Command) -> &'static str {
    match command {
        Command::Approve => "Approve the cutovers",
        Command::ApproveCancel => "End the transactions",
        Command::Overrule => "Overrule the hook",
        Command::Pause => "Pause",
        Command::Resume => "Resume",
        Command::Retry => "Retry now",
        Command::Abort => "Abort",
        Command::Rollback => "Roll back",
        Command::Finish => "Finish, drop old rows",
    }
}
