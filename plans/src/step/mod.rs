//! The steps of a move: what each one does, what it returns, and how it is undone.
//!
//! A step is idempotent under one migration and epoch. A file of this folder describes a step and defines its result;
//! the agent's file of the same name implements the step. [`StepKind`] describes the steps without a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

pub mod build_indexes;
pub mod catch_up;
pub mod copy;
pub mod create_target;
pub mod cutover;
pub mod drop_old;
pub mod drop_surplus;
pub mod hold;
pub mod open_capture;
pub mod preflight;
pub mod promote;
pub mod servers;
pub mod set_read_only;
pub mod unwind;
pub mod verify;

/// The kind of a step.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Checks both shards. Changes nothing, so there is nothing to undo.
    Preflight,
    /// Creates tables, a closed register and guards on the target. Undone by dropping the created objects.
    CreateTarget,
    /// Creates guards, publication, slot and snapshot on the source. Undone by dropping them.
    OpenCapture,
    /// Only for a move that is seeded from a standby: promotes the standby, which becomes the target. An abort leaves the
    /// promoted server to its owner, without the objects of the migration.
    Promote,
    /// Only for an offline move: guards on the source refuse writes to the moving keys. The step waits until earlier
    /// writers have ended. Undone by opening and dropping the guards.
    SetReadOnly,
    /// Copies the moving rows that the slot's snapshot sees, then creates the primary keys. Undone with the target's
    /// tables.
    Copy,
    /// Applies captured changes until the lag is small. The stream continues after the step.
    CatchUp,
    /// Creates secondary indexes, constraints, foreign keys and triggers on the target.
    BuildIndexes,
    /// Compares every moving row at an exact point while the application writes. Only reads.
    Verify,
    /// Creates publication and slot on the target for a rollback (I6). Undone by dropping them.
    OpenReverse,
    /// The cutover: fence, wait-out, drain, check, seal, flip, open (C1 to C11). Undone until the flip.
    Cutover,
    /// Applies the target's changes to the source's rows until the operator finishes or rolls back.
    Hold,
    /// Deletes the moved rows from the source, and the objects that the migration created. Cannot be undone.
    DropOld,
    /// Only for a move that is seeded from a standby: deletes the rows on the target whose keys the target does not own.
    /// Cannot be undone.
    DropSurplus,
    /// Aborts before the flip: removes everything that was created.
    Unwind,
    /// Rolls back after the flip: the cutover in the other direction.
    Rollback,
    /// After a rollback: applies the source's changes to the target's rows until the operator finishes or requests
    /// another cutover.
    HoldBack,
    /// After a rollback: removes the target's copied rows, and the objects that the migration created.
    DropNew,
}

/// The steps of an online move, in order.
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

/// The steps of a move that is seeded from a standby, in order.
pub const SEEDED: [StepKind; 10] = [
    StepKind::Preflight,
    StepKind::OpenCapture,
    StepKind::Promote,
    StepKind::CatchUp,
    StepKind::Verify,
    StepKind::OpenReverse,
    StepKind::Cutover,
    StepKind::Hold,
    StepKind::DropOld,
    StepKind::DropSurplus,
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
    /// All kinds: the steps of a move, then those of abort and rollback.
    pub const ALL: [Self; 18] = [
        Self::Preflight,
        Self::CreateTarget,
        Self::OpenCapture,
        Self::Promote,
        Self::SetReadOnly,
        Self::Copy,
        Self::CatchUp,
        Self::BuildIndexes,
        Self::Verify,
        Self::OpenReverse,
        Self::Cutover,
        Self::Hold,
        Self::DropOld,
        Self::DropSurplus,
        Self::Unwind,
        Self::Rollback,
        Self::HoldBack,
        Self::DropNew,
    ];

    /// Returns the kind with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the name in graphs, on the command line, in the API and in fail points.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Preflight => "preflight",
            Self::CreateTarget => "create_target",
            Self::OpenCapture => "open_capture",
            Self::Promote => "promote",
            Self::SetReadOnly => "set_read_only",
            Self::Copy => "copy",
            Self::CatchUp => "catch_up",
            Self::BuildIndexes => "build_indexes",
            Self::Verify => "verify",
            Self::OpenReverse => "open_reverse",
            Self::Cutover => "cutover",
            Self::Hold => "hold",
            Self::DropOld => "drop_old",
            Self::DropSurplus => "drop_surplus",
            Self::Unwind => "unwind",
            Self::Rollback => "rollback",
            Self::HoldBack => "hold_back",
            Self::DropNew => "drop_new",
        }
    }

    /// Returns one sentence for people.
    #[must_use]
    pub fn summary(self) -> &'static str {
        match self {
            Self::Preflight => "check both shards, change nothing",
            Self::CreateTarget => "create tables, a closed register and guards on the target",
            Self::OpenCapture => "create guards, publication and slot on the source",
            Self::Promote => {
                "promote the standby, close it for writes, and find the position where its copy ends"
            }
            Self::SetReadOnly => {
                "make the moving keys read-only on the source, wait for writers to end"
            }
            Self::Copy => "copy the moving rows, then build primary keys",
            Self::CatchUp => "apply captured changes until the target has almost no lag",
            Self::BuildIndexes => "build secondary indexes, constraints and triggers",
            Self::Verify => "compare every moving row at an exact point",
            Self::OpenReverse => "create publication and slot on the target for a rollback",
            Self::Cutover => {
                "fence, wait out earlier writers, drain, check, seal, flip the map, open the target"
            }
            Self::Hold => "apply the target's changes to the source; a rollback is possible",
            Self::DropOld => {
                "delete the moved rows from the source, and the objects of the migration"
            }
            Self::DropSurplus => "delete the rows on the target whose keys other shards own",
            Self::Unwind => "remove everything that was created",
            Self::Rollback => "return the keys to the source",
            Self::HoldBack => {
                "apply the source's changes to the target; another cutover is possible"
            }
            Self::DropNew => "delete the copied rows from the target",
        }
    }

    /// Returns the locks that the step takes on the application's tables.
    #[must_use]
    pub fn locks(self) -> &'static str {
        match self {
            Self::OpenCapture | Self::SetReadOnly => {
                "source: SHARE ROW EXCLUSIVE on each table for one CREATE TRIGGER, 200 ms lock timeout, retried"
            }
            Self::Promote => {
                "both: SHARE ROW EXCLUSIVE on each table for one CREATE TRIGGER, 200 ms lock timeout, retried"
            }
            Self::Copy | Self::Verify => "source: ACCESS SHARE (as a SELECT)",
            Self::Cutover | Self::Rollback => "none; writes to the moving keys are refused",
            Self::DropOld => {
                "source: row locks on moved rows; both: ACCESS EXCLUSIVE on each table for one DROP TRIGGER, 200 ms lock timeout, retried"
            }
            Self::DropSurplus => {
                "target: row locks on surplus rows; ACCESS EXCLUSIVE on each table for one DROP TRIGGER, 200 ms lock timeout, retried"
            }
            Self::Unwind | Self::DropNew => {
                "source: ACCESS EXCLUSIVE on each table for one DROP TRIGGER, 200 ms lock timeout, retried"
            }
            Self::CreateTarget => {
                "none on a new target; on a live target as on the source: SHARE ROW EXCLUSIVE for one CREATE TRIGGER"
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
