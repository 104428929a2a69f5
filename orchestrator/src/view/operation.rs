//! An operation in the API: its state, its moves with their migrations, and totals.

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

/// An operation, without the details of its migrations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationView {
    /// The id of the operation. If it has one move, the migration has the same id.
    pub id: MigrationId,
    /// The kind of the operation: split, merge, move, isolate, drain or rebalance.
    pub operation: String,
    /// The state of the operation.
    pub state: OperationState,
    /// The map.
    pub map: MapName,
    /// The version of the map for which the operation was planned.
    pub map_version: MapVersion,
    /// How the map divides the keys.
    pub strategy: Strategy,
    /// `online`, `offline`, or both: `offline+online`.
    pub mode: String,
    /// True if the operation was accepted with the option `queue`: other migrations may move some of its keys first.
    pub queued: bool,
    /// The reason why the operation may break rules of the map.
    pub override_reason: Option<String>,
    /// The hash of the plan.
    pub plan_hash: String,
    /// The options of the migrations.
    pub options: Options,
    /// The estimate of the plan.
    pub estimate: Estimate,
    /// The user who submitted the operation.
    pub submitted_by: String,
    /// When the operation was submitted.
    pub created_at: DateTime<Utc>,
    /// When the first move started.
    pub started_at: Option<DateTime<Utc>>,
    /// When the last move ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// The numbers of moves.
    pub totals: MoveTotals,
    /// Notes of the planner about its decisions.
    pub notes: Vec<String>,
    /// The moves, in the order of the plan.
    pub moves: Vec<MoveView>,
}

/// The numbers of moves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MoveTotals {
    /// The number of all moves.
    pub moves: usize,
    /// The number of moves whose keys the target owns.
    pub flipped: usize,
    /// The number of moves that have ended.
    pub ended: usize,
    /// The number of moves that have failed.
    pub failed: usize,
}

/// One move of an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MoveView {
    /// Why the planner has created the move.
    pub why: String,
    /// The moves that must come first.
    pub after: Vec<After>,
    /// The estimate for this move.
    pub estimate: Estimate,
    /// The migration of the move.
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
