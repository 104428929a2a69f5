//! The start gate: checks which planned migrations may start, in one pass over all unfinished migrations.
//!
//! The unfinished migrations usually suffice to find what a move waits for. Only if a move must follow one that has
//! ended, the pass reads their operation from the store, once for all of its moves.

use super::queue::{self, StartGate};
use super::{ControlError, Controller};
use crate::store::{Migration, Snapshot};
use plans::id::MigrationId;
use plans::state::migration::MigrationState;
use std::collections::HashMap;
use std::sync::Arc;

/// The moves of the operations that this pass has read.
#[derive(Debug, Default)]
pub(super) struct OperationMoves(HashMap<MigrationId, Vec<Migration>>);

impl Controller {
    /// Returns whether a planned migration may start; `all` are the unfinished migrations. Returns `None` if the
    /// migration is not planned.
    pub(super) async fn gate(
        &self,
        snapshot: &Snapshot,
        all: &[Arc<Snapshot>],
        operations: &mut OperationMoves,
    ) -> Result<Option<StartGate>, ControlError> {
        let own = &snapshot.migration;
        if own.state != MigrationState::Planned {
            return Ok(None);
        }
        let all: Vec<&Migration> = all.iter().map(|other| &other.migration).collect();
        let store = &self.inner.store;
        let mut moves = queue::moves_of_operation(own, &all);
        if !queue::knows_all(own, &moves) {
            if !operations.0.contains_key(&own.operation) {
                let read = store.operation(&own.operation).await?;
                let moves = read.map(|found| found.migrations).unwrap_or_default();
                operations.0.insert(own.operation.clone(), moves);
            }
            // For unfinished migrations, `all` is at least as new as this read. It comes first, so it counts.
            let read = operations.0.get(&own.operation).into_iter().flatten();
            moves.extend(read);
        }
        let reasons = queue::start_obstacles(own, &all, &moves);
        if !reasons.is_empty() {
            return Ok(Some(StartGate::Held(reasons.join("; "))));
        }
        let map = store.map(&own.plan.map).await?;
        let map = map.ok_or_else(|| ControlError::missing("map", own.plan.map.as_str()))?;
        Ok(Some(
            queue::lost_keys_reason(own, &map).map_or(StartGate::Open, StartGate::Lost),
        ))
    }
}
