//! The phases of a migration at which hooks are called.

use crate::store::Event;
use plans::request::Mode;
use plans::step::StepKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// When a hook is called. Before a phase (`before_…`) the hook can refuse it. The other values are notifications of
/// what has happened.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MigrationPhase {
    /// Both shards were checked, and nothing was created yet. A seeded move: the standby is about to be promoted.
    BeforeCopy,
    /// An online move: everything is ready for the cutover. An offline move: its keys are about to be closed to writes.
    BeforeCutover,
    /// The hold has ended, and the old rows are about to be removed.
    BeforeDrop,
    /// The migration was submitted.
    Submitted,
    /// The controller has started the migration.
    Started,
    /// Every moving row was copied, or the standby was promoted.
    AfterCopy,
    /// The migration waits for an operator's approval.
    Waiting,
    /// A hook refused the next phase, or did not answer.
    Vetoed,
    /// The map names the target as owner of the keys.
    AfterCutover,
    /// An operator paused the migration.
    Paused,
    /// The migration continues after a pause or a failure.
    Resumed,
    /// A step failed and is not repeated. The migration keeps its state.
    Failed,
    /// An operator aborts the migration.
    Aborted,
    /// The migration was aborted, and everything that it created was removed.
    Unwound,
    /// The map names the source as owner again.
    RolledBack,
    /// The migration has ended: the old rows were removed, or after a rollback the copied rows.
    Completed,
}

impl MigrationPhase {
    /// All phases.
    pub const ALL: [Self; 16] = [
        Self::BeforeCopy,
        Self::BeforeCutover,
        Self::BeforeDrop,
        Self::Submitted,
        Self::Started,
        Self::AfterCopy,
        Self::Waiting,
        Self::Vetoed,
        Self::AfterCutover,
        Self::Paused,
        Self::Resumed,
        Self::Failed,
        Self::Aborted,
        Self::Unwound,
        Self::RolledBack,
        Self::Completed,
    ];

    /// Returns the name in files and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BeforeCopy => "before_copy",
            Self::BeforeCutover => "before_cutover",
            Self::BeforeDrop => "before_drop",
            Self::Submitted => "submitted",
            Self::Started => "started",
            Self::AfterCopy => "after_copy",
            Self::Waiting => "waiting",
            Self::Vetoed => "vetoed",
            Self::AfterCutover => "after_cutover",
            Self::Paused => "paused",
            Self::Resumed => "resumed",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
            Self::Unwound => "unwound",
            Self::RolledBack => "rolled_back",
            Self::Completed => "completed",
        }
    }

    /// Returns true if the hook can refuse this phase.
    #[must_use]
    pub fn is_request(self) -> bool {
        matches!(
            self,
            Self::BeforeCopy | Self::BeforeCutover | Self::BeforeDrop
        )
    }

    /// Returns what a message says after "before", for example "the copy".
    #[must_use]
    pub fn what(self) -> &'static str {
        match self {
            Self::BeforeCopy => "the copy",
            Self::BeforeCutover => "the cutover",
            Self::BeforeDrop => "the old rows go",
            Self::Submitted
            | Self::Started
            | Self::AfterCopy
            | Self::Waiting
            | Self::Vetoed
            | Self::AfterCutover
            | Self::Paused
            | Self::Resumed
            | Self::Failed
            | Self::Aborted
            | Self::Unwound
            | Self::RolledBack
            | Self::Completed => "nothing",
        }
    }

    /// Returns the phase that begins with this step.
    ///
    /// From the step `set_read_only` on, the keys of an offline move are closed to writes. After that no hook is called
    /// before the cutover.
    #[must_use]
    pub fn before_step(step: StepKind, mode: Mode) -> Option<Self> {
        match (step, mode) {
            (StepKind::CreateTarget | StepKind::Promote, _) => Some(Self::BeforeCopy),
            (StepKind::Cutover, Mode::Online) | (StepKind::SetReadOnly, Mode::Offline) => {
                Some(Self::BeforeCutover)
            }
            (StepKind::DropOld, _) => Some(Self::BeforeDrop),
            (
                StepKind::Preflight
                | StepKind::OpenCapture
                | StepKind::SetReadOnly
                | StepKind::Copy
                | StepKind::CatchUp
                | StepKind::BuildIndexes
                | StepKind::Verify
                | StepKind::OpenReverse
                | StepKind::Cutover
                | StepKind::Hold
                | StepKind::DropSurplus
                | StepKind::Unwind
                | StepKind::Rollback
                | StepKind::HoldBack
                | StepKind::DropNew,
                _,
            ) => None,
        }
    }

    /// Returns the phase for a journal line, if hooks are notified of it.
    #[must_use]
    pub fn of_event(event: &Event) -> Option<Self> {
        let step = event.step.as_ref().map(|step| step.as_str());
        match (event.kind.as_str(), step) {
            ("migration.submitted", _) => Some(Self::Submitted),
            ("migration.started", _) => Some(Self::Started),
            ("migration.held", _) => Some(Self::Waiting),
            ("migration.paused", _) => Some(Self::Paused),
            ("migration.resumed", _) => Some(Self::Resumed),
            ("migration.failed", _) => Some(Self::Failed),
            ("migration.aborted", _) => Some(Self::Aborted),
            ("migration.unwound", _) => Some(Self::Unwound),
            ("migration.flipped", _) => Some(Self::AfterCutover),
            ("migration.rolled_back", _) => Some(Self::RolledBack),
            ("migration.completed", _) => Some(Self::Completed),
            ("hook.vetoed" | "hook.silent", _) => Some(Self::Vetoed),
            ("step.completed", Some("copy" | "promote")) => Some(Self::AfterCopy),
            _ => None,
        }
    }
}

impl fmt::Display for MigrationPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_has_one_name_in_files_and_messages() {
        for phase in MigrationPhase::ALL {
            let word = serde_json::to_value(phase).unwrap();
            assert_eq!(word, phase.name());
        }
    }

    #[test]
    fn no_hook_is_requested_while_keys_are_closed_to_writes() {
        let offline = |step| MigrationPhase::before_step(step, Mode::Offline);
        assert_eq!(
            offline(StepKind::SetReadOnly),
            Some(MigrationPhase::BeforeCutover)
        );
        for step in plans::step::OFFLINE.into_iter().skip(3) {
            let offline_request = offline(step);
            assert!(
                offline_request.is_none() || step == StepKind::DropOld,
                "{step:?}"
            );
        }
    }
}
