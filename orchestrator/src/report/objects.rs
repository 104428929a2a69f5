//! The objects that a migration created on the shards, and the outcome of each.

use crate::store::CleanupRecord;
use crate::view::MigrationView;
use plans::request::Seed;
use plans::step::StepKind;
use plans::step::create_target::TargetCreated;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An object that a migration may have created. Its record was written before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectEvidence {
    /// The record of the object, with the time at which it was found to be removed.
    #[serde(flatten)]
    pub record: CleanupRecord,
    /// What happened to the object.
    #[serde(default)]
    pub outcome: ObjectOutcome,
}

/// What happened to an object on a shard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObjectOutcome {
    /// The object was not found to be removed.
    #[default]
    Left,
    /// The object was found to be removed.
    Removed,
    /// The shard keeps the object, because it owns the keys now.
    HandedOver,
    /// The shard keeps the object, because it existed before the migration.
    Existing,
}

impl ObjectEvidence {
    /// Determines the outcome from the record and from the state of the migration, which decides whether the object
    /// stays.
    pub(super) fn of(mut record: CleanupRecord, migration: &MigrationView) -> Self {
        let outcome = outcome(&record, migration);
        if outcome != ObjectOutcome::Removed {
            record.done_at = None;
        }
        Self { record, outcome }
    }
}

fn outcome(record: &CleanupRecord, migration: &MigrationView) -> ObjectOutcome {
    let (state, existed) = (migration.summary.state, target_tables_existed(migration));
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

/// Returns whether the target had the moving tables before the migration.
fn target_tables_existed(migration: &MigrationView) -> bool {
    // A standby has the tables of the source.
    if migration.plan.options.seed == Seed::Standby {
        return true;
    }
    let mut steps = migration.steps.iter();
    let step = steps.find(|step| step.kind == StepKind::CreateTarget);
    step.is_some_and(|step| TargetCreated::existed(step.output.as_ref()))
}
