//! Operations: the state of an operation, computed from its migrations, and commands for all of its migrations that can
//! carry them out.

use super::commands::{Command, carry_out_for_operation};
use super::draft::MigrationDraft;
use super::{ControlError, Controller};
use crate::store::{Migration, OperationRecord};
use plans::id::MigrationId;
use plans::state::migration::MigrationState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fmt;

/// The state of an operation, computed from the states of its migrations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OperationState {
    /// No migration has started.
    Planned,
    /// A migration is running or about to start.
    Running,
    /// A migration waits for the approval of its cutover, or for permission to end transactions.
    Waiting,
    /// The operator has paused a migration, and none is running.
    Paused,
    /// A migration has failed.
    Failed,
    /// A migration is being aborted.
    Unwinding,
    /// A migration is in its hold, and none is running.
    Flipped,
    /// Final: every migration was aborted.
    Unwound,
    /// Final: every migration is completed.
    Completed,
    /// A migration was rolled back and has not ended, and none is running; or every migration has ended by a rollback.
    RolledBack,
    /// Final: every migration has ended, but with different results.
    Partial,
}

impl OperationState {
    const ALL: [Self; 11] = [
        Self::Planned,
        Self::Running,
        Self::Waiting,
        Self::Paused,
        Self::Failed,
        Self::Unwinding,
        Self::Flipped,
        Self::Unwound,
        Self::Completed,
        Self::RolledBack,
        Self::Partial,
    ];

    /// Returns the name of the state in JSON and on pages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Paused => "paused",
            Self::Failed => "failed",
            Self::Unwinding => "unwinding",
            Self::Flipped => "flipped",
            Self::Unwound => "unwound",
            Self::Completed => "completed",
            Self::RolledBack => "rolled_back",
            Self::Partial => "partial",
        }
    }

    /// Returns the state with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

impl fmt::Display for OperationState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<MigrationState> for OperationState {
    fn from(state: MigrationState) -> Self {
        match state {
            MigrationState::Planned => Self::Planned,
            MigrationState::Running => Self::Running,
            MigrationState::Waiting => Self::Waiting,
            MigrationState::Paused => Self::Paused,
            MigrationState::Failed => Self::Failed,
            MigrationState::Unwinding => Self::Unwinding,
            MigrationState::Unwound => Self::Unwound,
            MigrationState::Flipped => Self::Flipped,
            MigrationState::Completed => Self::Completed,
            MigrationState::RolledBack => Self::RolledBack,
        }
    }
}

/// Returns the state of an operation from the state of each migration and whether it has ended. States that need the
/// operator come first.
#[must_use]
pub fn state(migrations: &[(MigrationState, bool)]) -> OperationState {
    use MigrationState as M;
    let open = || migrations.iter().filter(|(_, ended)| !ended);
    let any = |wanted: M| open().any(|(state, _)| *state == wanted);
    for first in [
        M::Failed,
        M::Unwinding,
        M::Waiting,
        M::Running,
        M::Paused,
        M::RolledBack,
        M::Flipped,
    ] {
        if any(first) {
            return first.into();
        }
    }
    if any(M::Planned) {
        let begun = migrations.iter().any(|(_, ended)| *ended);
        return if begun {
            OperationState::Running
        } else {
            OperationState::Planned
        };
    }
    let mut ends = migrations.iter().map(|(state, _)| *state);
    match ends.next() {
        Some(end) if ends.all(|other| other == end) => end.into(),
        Some(_) | None => OperationState::Partial,
    }
}

/// Returns the [`state`] of the given migrations.
#[must_use]
pub fn state_of(migrations: &[Migration]) -> OperationState {
    let states = migrations.iter();
    let states: Vec<_> = states.map(|m| (m.state, m.finished_at.is_some())).collect();
    state(&states)
}

impl Controller {
    /// Returns an operation.
    ///
    /// # Errors
    /// [`crate::store::StoreError::Missing`], or an error of the store.
    pub async fn operation(&self, id: &MigrationId) -> Result<OperationRecord, ControlError> {
        let found = self.inner.store.operation(id).await?;
        found.ok_or_else(|| ControlError::missing("operation", id.as_str()))
    }

    /// Carries out a command on each migration of an operation that can carry it out.
    ///
    /// If the operation has one move, this is the same as the command on its migration.
    ///
    /// # Errors
    /// [`ControlError::NoMigrationCan`] if no migration can carry it out; otherwise the errors of
    /// [`Controller::command`].
    pub async fn command_all(
        &self,
        id: &MigrationId,
        command: Command,
        actor: &str,
        reason: Option<&str>,
    ) -> Result<OperationRecord, ControlError> {
        let operation = self.operation(id).await?;
        if let [only] = operation.migrations.as_slice() {
            self.command(&only.id, command, actor, reason).await?;
            return self.operation(id).await;
        }
        let data = json!({ "reason": reason, "operation": id });
        let tokens = self.tokens_for(command).await?;
        let mut done = 0;
        // The last moves come first, so that an abort leaves no move that could start in the meantime.
        for migration in operation.migrations.iter().rev() {
            let edit = |draft: &mut MigrationDraft| {
                if let Some(tokens) = &tokens {
                    super::approvals::check_independence(draft, tokens)?;
                }
                let mut tried = MigrationDraft::new(draft.snapshot().clone(), actor, draft.now);
                if carry_out_for_operation(&mut tried, command, data.clone())?.is_none() {
                    return Ok(false);
                }
                *draft = tried;
                Ok(true)
            };
            let (obeyed, _) = self.change(&migration.id, actor, edit).await?;
            done += usize::from(obeyed);
        }
        if done == 0 {
            return Err(no_migration_can(&operation, command));
        }
        tracing::info!(operation = %id, %command, actor, done, "command");
        self.operation(id).await
    }

    /// Checks whether any migration of an operation could carry out a command now. Changes nothing.
    ///
    /// # Errors
    /// The errors of [`Controller::command_all`].
    pub async fn try_command_all(
        &self,
        id: &MigrationId,
        command: Command,
    ) -> Result<OperationRecord, ControlError> {
        let operation = self.operation(id).await?;
        if let [only] = operation.migrations.as_slice() {
            self.try_command(&only.id, command).await?;
            return Ok(operation);
        }
        for migration in &operation.migrations {
            let snapshot = self.load(&migration.id).await?;
            if Command::allowed_ahead(&snapshot).contains(&command) {
                return Ok(operation);
            }
        }
        Err(no_migration_can(&operation, command))
    }
}

/// Returns the error that no migration can carry out the command.
fn no_migration_can(operation: &OperationRecord, command: Command) -> ControlError {
    let mut moves = operation.migrations.iter();
    let offline = moves.find(|m| m.plan.mode == plans::request::Mode::Offline);
    let hint = offline.filter(|_| command == Command::Rollback).map(|m| {
        format!(
            "an offline move has no reverse stream; plan a move back: {}",
            super::commands::move_back_command(m)
        )
    });
    ControlError::NoMigrationCan {
        command: command.to_string(),
        operation: operation.id.clone(),
        state: state_of(&operation.migrations),
        hint,
    }
}

#[cfg(test)]
mod tests;
