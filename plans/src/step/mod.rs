//! The steps of a move: what each promises, what it returns, how it is undone.
//!
//! A step is idempotent under one (migration, epoch).
//! A file here states the contract, the agent's file of the same name keeps it; kinds without a file have theirs below.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

pub mod build_indexes;
pub mod catch_up;
pub mod copy;
pub mod create_target;
pub mod cutover;
pub mod drop_old;
pub mod open_capture;
pub mod preflight;
pub mod unwind;
pub mod verify;

/// What a step does.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Checks both shards; changes nothing. No undo.
    Preflight,
    /// Creates tables, a closed register and guards on the target. Undone by dropping what it created.
    CreateTarget,
    /// Creates guards, publication, slot and snapshot on the source. Undone by dropping them.
    OpenCapture,
    /// Offline: guards on the source refuse writes to the moving keys; waits until writers have ended. Undone by opening and dropping them.
    SetReadOnly,
    /// Copies the moving rows as the slot's snapshot sees them, then builds the primary keys. Undone with the target's tables.
    Copy,
    /// Applies captured changes until the target is nearly level. The stream goes on afterwards.
    CatchUp,
    /// Builds secondary indexes, constraints, foreign keys and triggers on the target.
    BuildIndexes,
    /// Compares every moving row at an exact point while writes go on. Reads only.
    Verify,
    /// Creates publication and slot on the target for the way back (I6). Undone by dropping them.
    OpenReverse,
    /// Fence, wait-out, drain, check, seal, flip, open (C1 to C11). Undone until the flip.
    Cutover,
    /// Keeps the old copy in step until the operator finishes or rolls back.
    Hold,
    /// Deletes the moved rows from the source and what the migration created; not undone.
    DropOld,
    /// Before the flip: takes back everything that was created.
    Unwind,
    /// After the flip: the cutover in the other direction.
    Rollback,
    /// After a roll back: keeps the target's copy in step until the operator finishes or lets the cutover begin again.
    HoldBack,
    /// After a roll back: drops the target's copy and what the migration created.
    DropNew,
}

/// The steps of a forward move, in order.
pub const FORWARD: [StepKind; 11] = [
    StepKind::Preflight,
    StepKind::CreateTarget,
    StepKind::OpenCapture,
    StepKind::Copy,
    StepKind::CatchUp,
    StepKind::BuildIndexes,
    StepKind::Verify,
    StepKind::OpenReverse,
    StepKind::Cutover,
    StepKind::Hold,
    StepKind::DropOld,
];

/// The steps of an offline move, in order.
pub const OFFLINE: [StepKind; 9] = [
    StepKind::Preflight,
    StepKind::CreateTarget,
    StepKind::SetReadOnly,
    StepKind::Copy,
    StepKind::BuildIndexes,
    StepKind::Verify,
    StepKind::Cutover,
    StepKind::Hold,
    StepKind::DropOld,
];

impl StepKind {
    /// Every kind: the forward steps, then those of the ways back.
    pub const ALL: [Self; 16] = [
        Self::Preflight,
        Self::CreateTarget,
        Self::OpenCapture,
        Self::SetReadOnly,
        Self::Copy,
        Self::CatchUp,
        Self::BuildIndexes,
        Self::Verify,
        Self::OpenReverse,
        Self::Cutover,
        Self::Hold,
        Self::DropOld,
        Self::Unwind,
        Self::Rollback,
        Self::HoldBack,
        Self::DropNew,
    ];

    /// The kind called `name`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The name used everywhere: graph, command line, API, fail points.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Preflight => "preflight",
            Self::CreateTarget => "create_target",
            Self::OpenCapture => "open_capture",
            Self::SetReadOnly => "set_read_only",
            Self::Copy => "copy",
            Self::CatchUp => "catch_up",
            Self::BuildIndexes => "build_indexes",
            Self::Verify => "verify",
            Self::OpenReverse => "open_reverse",
            Self::Cutover => "cutover",
            Self::Hold => "hold",
            Self::DropOld => "drop_old",
            Self::Unwind => "unwind",
            Self::Rollback => "rollback",
            Self::HoldBack => "hold_back",
            Self::DropNew => "drop_new",
        }
    }

    /// One sentence for people.
    #[must_use]
    pub fn summary(self) -> &'static str {
        match self {
            Self::Preflight => "check both shards, change nothing",
            Self::CreateTarget => "create tables, a closed register and guards on the target",
            Self::OpenCapture => "create guards, publication and slot on the source",
            Self::SetReadOnly => {
                "make the moving keys read-only on the source, wait for writers to end"
            }
            Self::Copy => "copy the moving rows, then build primary keys",
            Self::CatchUp => "apply captured changes until the target is level",
            Self::BuildIndexes => "build secondary indexes, constraints and triggers",
            Self::Verify => "compare every moving row at an exact point",
            Self::OpenReverse => "create the stream back to the source",
            Self::Cutover => "fence, wait out, drain, check, seal, flip the map, open the target",
            Self::Hold => "keep the old copy in step; roll back is possible",
            Self::DropOld => "delete the moved rows from the source, remove what is left",
            Self::Unwind => "take back everything that was created",
            Self::Rollback => "give the keys back to the source",
            Self::HoldBack => "keep the target's copy in step; another cutover is possible",
            Self::DropNew => "drop the target's copy",
        }
    }

    /// Locks that the step takes on the user's tables.
    #[must_use]
    pub fn locks(self) -> &'static str {
        match self {
            Self::OpenCapture | Self::SetReadOnly => {
                "source: SHARE ROW EXCLUSIVE on each table for one CREATE TRIGGER, 200 ms lock timeout, retried"
            }
            Self::Copy | Self::Verify => "source: ACCESS SHARE (as a SELECT)",
            Self::Cutover | Self::Rollback => "none; writes to the moving keys are refused",
            Self::DropOld => {
                "source: row locks on moved rows; both: ACCESS EXCLUSIVE on each table for one DROP TRIGGER, 200 ms lock timeout, retried"
            }
            Self::Unwind | Self::DropNew => {
                "source: ACCESS EXCLUSIVE on each table for one DROP TRIGGER, 200 ms lock timeout, retried"
            }
            Self::CreateTarget => {
                "none on a new shard; on a live one as on the source: SHARE ROW EXCLUSIVE for one CREATE TRIGGER"
            }
            Self::Preflight
            | Self::CatchUp
            | Self::BuildIndexes
            | Self::OpenReverse
            | Self::Hold
            | Self::HoldBack => "none",
        }
    }
}

impl fmt::Display for StepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
