//! What a migration created on the shards, and what became of each object.

use crate::store::CleanupRecord;
use crate::view::MigrationView;
use plans::step::StepKind;
use plans::step::create_target::TargetCreated;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An object that a migration announced before it created it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectEvidence {
    /// The object, and when it was observed to be gone.
    #[serde(flatten)]
    pub record: CleanupRecord,
    /// What became of it.
    #[serde(default)]
    pub outcome: ObjectOutcome,
}

/// What became of an object on a shard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObjectOutcome {
    /// It is not known to be gone.
    #[default]
    Left,
    /// It was observed to be gone.
    Removed,
    /// The shard keeps it: it owns the keys now.
    HandedOver,
    /// The migration did not create it; the shard had it before, and keeps it.
    Existing,
}

impl ObjectEvidence {
    /// Decides from the state of the migration: a record alone does not know whether its object was to go.
    pub(super) fn of(mut record: CleanupRecord, migration: &MigrationView) -> Self {
        let outcome = outcome(&record, migration);
        if outcome != ObjectOutcome::Removed {
            record.done_at = None;
        }
        Self { record, outcome }
    }
}

fn outcome(record: &CleanupRecord, migration: &MigrationView) -> ObjectOutcome {
    let (state, existed) = (migration.summary.state, existed(migration));
    if record.is_kept(state, existed) {
        match existed {
            true => ObjectOutcome::Existing,
            false => ObjectOutcome::HandedOver,
        }
    } else if record.done_at.is_some() {
        ObjectOutcome::Removed
    } else {
        ObjectOutcome::Left
    }
}

/// Whether the target had the moving tables before.
fn existed(migration: &MigrationView) -> bool {
    let mut steps = migration.steps.iter();
    let step = steps.find(|step| step.kind == StepKind::CreateTarget);
    step.is_some_and(|step| TargetCreated::existed(step.output.as_ref()))
}
