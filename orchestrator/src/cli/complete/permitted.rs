//! Which migrations a command accepts, as far as a list of migrations shows it. The controller decides: it knows more,
//! for example the answers of hooks.

use crate::controller::Command;
use crate::view::MigrationSummary;
use plans::request::Mode;
use plans::state::migration::MigrationState;

/// What a command does with a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MigrationUse {
    /// It reads the migration, also after its end.
    Read,
    /// It waits for something, or changes a limit.
    Follow,
    /// It compares both copies.
    Compare,
    /// It sends a command.
    Send(Command),
}

impl MigrationUse {
    /// Returns whether an operation with several moves can be named too.
    pub(super) fn takes_operations(self) -> bool {
        self != Self::Compare
    }

    /// Returns whether the command may accept the migration.
    pub(super) fn permits(self, m: &MigrationSummary) -> bool {
        let is_open = m.finished_at.is_none();
        match self {
            Self::Read => true,
            Self::Follow => is_open,
            Self::Compare => {
                let state = m.state;
                let before_flip = matches!(state, MigrationState::Waiting | MigrationState::Failed);
                is_open && (before_flip || m.map_version.after.is_some())
            }
            Self::Send(command) => is_open && accepts(command, m),
        }
    }
}

/// Returns whether an unfinished migration may accept the command.
fn accepts(command: Command, m: &MigrationSummary) -> bool {
    use MigrationState as S;
    let is_flipped = m.map_version.after.is_some();
    match command {
        Command::Approve => matches!(m.state, S::Waiting | S::RolledBack),
        Command::ApproveCancel => m.waiting_for.is_some(),
        Command::Overrule => !matches!(m.state, S::Paused | S::Failed | S::Unwinding),
        Command::Pause => matches!(
            m.state,
            S::Planned | S::Running | S::Waiting | S::Flipped | S::RolledBack
        ),
        Command::Resume => matches!(m.state, S::Paused | S::Failed),
        Command::Retry => m.state != S::Paused,
        Command::Abort => !is_flipped && m.state != S::Unwinding,
        Command::Rollback => is_flipped && m.map_version.back.is_none() && m.mode != Mode::Offline,
        Command::Finish => is_flipped,
    }
}
