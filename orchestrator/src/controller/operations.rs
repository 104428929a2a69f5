//! Operations: one state out of many, and orders that go to each migration that can take them.

use super::commands::{Command, obey_ahead};
use super::draft::MigrationDraft;
use super::{ControlError, Controller};
use crate::store::{Migration, OperationRecord};
use plans::id::MigrationId;
use plans::state::migration::MigrationState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fmt;

/// Where an operation is, by where its migrations are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OperationState {
    /// Nothing has begun.
    Planned,
    /// Some move goes on, or is about to.
    Running,
    /// A move waits for its approval.
    Waiting,
    /// A move was stopped by the operator, and no other goes on.
    Paused,
    /// A move failed.
    Failed,
    /// A move is being taken back.
    Unwinding,
    /// What is left waits for the end of a hold.
    Flipped,
    /// Every move was taken back.
    Unwound,
    /// Every move is done.
    Completed,
    /// Every move was rolled back.
    RolledBack,
    /// Over, and not every move ended the same way.
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

    /// The name in JSON and on screens.
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

    /// The state called `name`.
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

/// The state of an operation: each migration's state and whether it has ended; what needs the operator comes first.
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

/// [`state`] of stored migrations.
#[must_use]
pub fn state_of(migrations: &[Migration]) -> OperationState {
    let states = migrations.iter();
    let states: Vec<_> = states.map(|m| (m.state, m.finished_at.is_some())).collect();
    state(&states)
}

impl Controller {
    /// One operation.
    ///
    /// # Errors
    /// [`crate::store::StoreError::Missing`], or what the store says.
    pub async fn operation(&self, id: &MigrationId) -> Result<OperationRecord, ControlError> {
        let found = self.inner.store.operation(id).await?;
        found.ok_or_else(|| ControlError::missing("operation", id.as_str()))
    }

    /// Carries out an order for an operation: on each migration that can take it.
    ///
    /// With one move it is an order for that migration.
    ///
    /// # Errors
    /// [`ControlError::NoneCan`] when no migration can; otherwise as [`Controller::command`].
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
        // The last moves first, so that an abort leaves none that could start in the meantime.
        for migration in operation.migrations.iter().rev() {
            let edit = |draft: &mut MigrationDraft| {
                if let Some(tokens) = &tokens {
                    super::approvals::check_apart(draft, tokens)?;
                }
                let mut tried = MigrationDraft::new(draft.snapshot().clone(), actor, draft.now);
                if obey_ahead(&mut tried, command, data.clone())?.is_none() {
                    return Ok(false);
                }
                *draft = tried;
                Ok(true)
            };
            let (obeyed, _) = self.change(&migration.id, actor, edit).await?;
            done += usize::from(obeyed);
        }
        if done == 0 {
            return Err(none_can(&operation, command));
        }
        tracing::info!(operation = %id, %command, actor, done, "command");
        self.operation(id).await
    }

    /// Whether any migration of an operation could take an order now; nothing is changed.
    ///
    /// # Errors
    /// As [`Controller::command_all`].
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
        Err(none_can(&operation, command))
    }
}

/// That no migration can take the order.
fn none_can(operation: &OperationRecord, command: Command) -> ControlError {
    let mut moves = operation.migrations.iter();
    let offline = moves.find(|m| m.plan.mode == plans::request::Mode::Offline);
    let hint = offline.filter(|_| command == Command::Rollback).map(|m| {
        format!(
            "offline moves keep no stream back; plan a move back: {}",
            super::commands::move_back(m)
        )
    });
    ControlError::NoneCan {
        command: command.to_string(),
        operation: operation.id.clone(),
        state: state_of(&operation.migrations),
        hint,
    }
}

#[cfg(test)]
mod tests;
