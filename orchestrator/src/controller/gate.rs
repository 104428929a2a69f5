//! Looks whether planned migrations may start, in one pass over all that have not ended.
//!
//! What a move waits for is mostly known from the pass itself. An operation is read only where a move comes after one
//! that has ended, and once in a pass however many of its moves wait.

use super::queue::{self, StartGate};
use super::{ControlError, Controller};
use crate::store::{Migration, Snapshot};
use plans::id::MigrationId;
use plans::state::migration::MigrationState;
use std::collections::HashMap;
use std::sync::Arc;

/// The moves of operations, as this pass has read them.
#[derive(Debug, Default)]
pub(super) struct OperationMoves(HashMap<MigrationId, Vec<Migration>>);

impl Controller {
    /// Whether a planned migration may start, seen from all that have not ended.
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
        let mut siblings = queue::moves_of_operation(own, &all);
        if !queue::knows_all(own, &siblings) {
            if !operations.0.contains_key(&own.operation) {
                let read = store.operation(&own.operation).await?;
                let moves = read.map(|found| found.migrations).unwrap_or_default();
                operations.0.insert(own.operation.clone(), moves);
            }
            // Of those that have not ended the pass knows as much or more.
            let read = operations.0.get(&own.operation).into_iter().flatten();
            siblings.extend(read);
        }
        let reasons = queue::reasons(own, &all, &siblings);
        if !reasons.is_empty() {
            return Ok(Some(StartGate::Held(reasons.join("; "))));
        }
        let map = store.map(&own.plan.map).await?;
        let map = map.ok_or_else(|| ControlError::missing("map", own.plan.map.as_str()))?;
        Ok(Some(
            queue::lost(own, &map).map_or(StartGate::Open, StartGate::Lost),
        ))
    }
}
