//! The commands of an operator. Each command is one transaction with an entry in the journal.

mod execution;

pub(super) use execution::{carry_out_for_operation, move_back_command, resume};

use super::draft::MigrationDraft;
use super::{ControlError, Controller, approvals};
use crate::store::{Migration, Snapshot, TokenRecord};
use execution::{carry_out, illegal_error, rollback_obstacle};
use plans::id::MigrationId;
use plans::state::cutover::Ownership;
use serde_json::{Value, json};
use std::fmt;

/// A command of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Let the cutover begin; after a rollback, let another cutover begin.
    Approve,
    /// Let the agent end the transactions that it named and that prevent the cutover from starting.
    ApproveCancel,
    /// Continue without the answers of the hooks that the migration waits for.
    Overrule,
    /// Stop at the next safe point.
    Pause,
    /// Continue after a pause or a failure.
    Resume,
    /// Try a failed step again, immediately.
    Retry,
    /// Undo the migration; possible until the flip.
    Abort,
    /// Make the source the owner of the keys again; possible from the flip until `finish`.
    Rollback,
    /// End the hold: the agent removes the old rows.
    Finish,
}

impl Command {
    /// Every command.
    pub const ALL: [Self; 9] = [
        Self::Approve,
        Self::ApproveCancel,
        Self::Overrule,
        Self::Pause,
        Self::Resume,
        Self::Retry,
        Self::Abort,
        Self::Rollback,
        Self::Finish,
    ];

    /// Returns the name of the command on the command line and in the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::ApproveCancel => "approve-cancel",
            Self::Overrule => "overrule",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Retry => "retry",
            Self::Abort => "abort",
            Self::Rollback => "rollback",
            Self::Finish => "finish",
        }
    }

    /// Returns the command called `name`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|command| command.name() == name)
    }

    /// Returns the commands that the state of `snapshot` allows. Each command is tried on a draft, which is then
    /// discarded.
    #[must_use]
    pub fn allowed(snapshot: &Snapshot) -> Vec<Self> {
        Self::accepted_by(snapshot, carry_out)
    }

    /// Returns the commands that `snapshot` accepts as one of several migrations of an operation. Such a migration also
    /// accepts an approval before it waits for one.
    #[must_use]
    pub fn allowed_ahead(snapshot: &Snapshot) -> Vec<Self> {
        Self::accepted_by(snapshot, carry_out_for_operation)
    }

    fn accepted_by(
        snapshot: &Snapshot,
        carry_out: fn(&mut MigrationDraft, Self, Value) -> Result<Option<()>, ControlError>,
    ) -> Vec<Self> {
        let possible = |command: &Self| {
            let mut draft = MigrationDraft::new(snapshot.clone(), "", super::clock());
            matches!(carry_out(&mut draft, *command, json!({})), Ok(Some(())))
        };
        Self::ALL.into_iter().filter(possible).collect()
    }

    fn hint(self, m: &Migration) -> Option<String> {
        let flipped = m.map_version_after.is_some();
        let hint = match self {
            Self::Abort if m.ownership == Ownership::RolledBack => {
                "the map names the source again: use finish to end the migration, or approve for another cutover"
            }
            Self::Abort if flipped => "the map names the target: use rollback or finish",
            Self::Rollback | Self::Finish if !flipped => {
                "the map still names the source: use abort to undo the migration"
            }
            Self::Approve if m.cancel.is_some() => {
                "the migration waits for permission to end transactions: use approve-cancel"
            }
            Self::Approve => "approve is possible only while the migration waits for approval",
            Self::ApproveCancel => "the agent has not requested permission to end a transaction",
            Self::Overrule => "no hook delays the migration",
            Self::Pause if m.started_at.is_none() => {
                "the migration has not started: abort ends it at once"
            }
            Self::Abort
            | Self::Rollback
            | Self::Finish
            | Self::Pause
            | Self::Resume
            | Self::Retry => return None,
        };
        Some(hint.to_owned())
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Controller {
    /// Carries out a command of `actor`.
    ///
    /// # Errors
    /// [`ControlError::Illegal`] if the state of the migration does not allow the command.
    pub async fn command(
        &self,
        id: &MigrationId,
        command: Command,
        actor: &str,
        reason: Option<&str>,
    ) -> Result<Snapshot, ControlError> {
        self.command_at(id, command, actor, reason, None).await
    }

    /// Carries out a command like [`Controller::command`], but only if the migration still has this `revision`.
    ///
    /// # Errors
    /// Also [`ControlError::Changed`], if the migration has another revision.
    pub async fn command_at(
        &self,
        id: &MigrationId,
        command: Command,
        actor: &str,
        reason: Option<&str>,
        revision: Option<i64>,
    ) -> Result<Snapshot, ControlError> {
        let data = json!({ "reason": reason });
        if command == Command::Rollback {
            self.check_rollback(id).await?;
        }
        let tokens = self.tokens_for(command).await?;
        let edit = |draft: &mut MigrationDraft| {
            let current = draft.snapshot().migration.revision;
            if revision.is_some_and(|expected| expected != current) {
                let migration = id.clone();
                return Err(ControlError::Changed { migration, current });
            }
            let illegal = illegal_error(draft, command);
            if let Some(tokens) = &tokens {
                approvals::check_independence(draft, tokens)?;
            }
            carry_out(draft, command, data.clone()).and_then(|done| done.ok_or(illegal))
        };
        let ((), after) = self.change(id, actor, edit).await?;
        tracing::info!(migration = %id, %command, actor, "command");
        Ok(after)
    }

    /// Checks whether a command could be carried out now. Changes nothing.
    ///
    /// # Errors
    /// The errors of [`Controller::command`].
    pub async fn try_command(
        &self,
        id: &MigrationId,
        command: Command,
    ) -> Result<Snapshot, ControlError> {
        if command == Command::Rollback {
            self.check_rollback(id).await?;
        }
        let snapshot = self.load(id).await?;
        let mut draft = MigrationDraft::new(snapshot.clone(), "", super::clock());
        let illegal = illegal_error(&draft, command);
        carry_out(&mut draft, command, json!({}))?.ok_or(illegal)?;
        Ok(snapshot)
    }
}

impl Controller {
    /// Returns the tokens that the check of an approver needs, if the command is an approval.
    pub(super) async fn tokens_for(
        &self,
        command: Command,
    ) -> Result<Option<Vec<TokenRecord>>, ControlError> {
        if command != Command::Approve {
            return Ok(None);
        }
        Ok(Some(self.inner.store.tokens().await?))
    }

    /// Returns an error if a rollback is impossible according to the last report of the reverse stream.
    async fn check_rollback(&self, id: &MigrationId) -> Result<(), ControlError> {
        let snapshot = self.load(id).await?;
        let m = &snapshot.migration;
        if m.ownership != Ownership::Flipped {
            return Ok(());
        }
        let figures = self.figures(id);
        let stream = figures.as_ref().and_then(|f| f.stream.as_ref());
        // The change on the source comes first: a stream that ended because of it reports only the consequence.
        match self
            .source_changed(&snapshot)
            .or_else(|| rollback_obstacle(m, stream))
        {
            None => Ok(()),
            Some(reason) => Err(ControlError::NoRollBack {
                migration: id.clone(),
                reason,
            }),
        }
    }
}
