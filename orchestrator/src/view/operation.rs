//! An operation as the API shows it: its state, its moves with their migrations, totals.

use super::MigrationSummary;
use crate::controller::operations::{OperationState, state_of};
use crate::store::OperationRecord;
use chrono::{DateTime, Utc};
use plans::id::{MapName, MapVersion, MigrationId};
use plans::plan::{After, Estimate};
use plans::request::Options;
use plans::shard_map::Strategy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything about an operation except the details of its migrations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationView {
    /// Its id; with one move also its migration's.
    pub id: MigrationId,
    /// split, merge, move, isolate, drain or rebalance.
    pub operation: String,
    /// Where it is.
    pub state: OperationState,
    /// The map.
    pub map: MapName,
    /// The version that it was planned for.
    pub map_version: MapVersion,
    /// How the map divides keys.
    pub strategy: Strategy,
    /// online, offline, or both.
    pub mode: String,
    /// It was admitted although other migrations may move some of its keys first.
    pub queued: bool,
    /// Why it may break rules of the map.
    pub override_reason: Option<String>,
    /// Hash of the plan.
    pub plan_hash: String,
    /// How the migrations behave.
    pub options: Options,
    /// What the plan expects.
    pub estimate: Estimate,
    /// Who submitted it.
    pub submitted_by: String,
    /// When.
    pub created_at: DateTime<Utc>,
    /// When the first move was taken up.
    pub started_at: Option<DateTime<Utc>>,
    /// When the last move ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// How many moves are in which state.
    pub totals: MoveTotals,
    /// What was considered, for people.
    pub notes: Vec<String>,
    /// The moves in the order of the plan.
    pub moves: Vec<MoveView>,
}

/// Moves by where they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MoveTotals {
    /// All of them.
    pub moves: usize,
    /// Whose keys the target owns.
    pub flipped: usize,
    /// That have ended.
    pub ended: usize,
    /// That failed.
    pub failed: usize,
}

/// One move of an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MoveView {
    /// Why it is made.
    pub why: String,
    /// What it waits for.
    pub after: Vec<After>,
    /// What it expects.
    pub estimate: Estimate,
    /// Its migration.
    #[serde(flatten)]
    pub migration: MigrationSummary,
}

impl From<&OperationRecord> for OperationView {
    fn from(operation: &OperationRecord) -> Self {
        let plan = &operation.plan;
        let migrations = &operation.migrations;
        let ends: Option<Vec<_>> = migrations.iter().map(|m| m.finished_at).collect();
        let count = |which: &dyn Fn(&&crate::store::Migration) -> bool| {
            migrations.iter().filter(which).count()
        };
        let mut modes: Vec<&str> = plan
            .moves
            .iter()
            .map(|planned| planned.mode.name())
            .collect();
        modes.sort_unstable();
        modes.dedup();
        Self {
            id: operation.id.clone(),
            operation: plan.operation.clone(),
            state: state_of(migrations),
            map: plan.map.clone(),
            map_version: plan.map_version,
            strategy: plan.strategy,
            mode: modes.join("+"),
            queued: operation.queued,
            override_reason: operation.override_reason.clone(),
            plan_hash: plan.hash.clone(),
            options: plan.options.clone(),
            estimate: plan.estimate.clone(),
            submitted_by: operation.submitted_by.clone(),
            created_at: operation.created_at,
            started_at: migrations.iter().filter_map(|m| m.started_at).min(),
            finished_at: ends.and_then(|ends| ends.into_iter().max()),
            totals: MoveTotals {
                moves: migrations.len(),
                flipped: count(&|m| m.map_version_after.is_some() && m.map_version_back.is_none()),
                ended: count(&|m| m.finished_at.is_some()),
                failed: count(&|m| m.failure.is_some()),
            },
            notes: plan.notes.clone(),
            moves: migrations
                .iter()
                .map(|m| MoveView {
                    why: m.plan.why.clone(),
                    after: m.plan.after.clone(),
                    estimate: m.plan.estimate.clone(),
                    migration: MigrationSummary::from(m),
                })
                .collect(),
        }
    }
}
