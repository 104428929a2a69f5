//! Operations: a submitted plan, with one migration for each of its moves.
//!
//! An operation has no state of its own. Only its migrations have a state.

use super::{Migration, NewEvent, Snapshot, Step};
use chrono::{DateTime, Utc};
use plans::id::{AttemptNo, Epoch, MapVersion, MigrationId};
use plans::plan::{MovePlan, Plan};
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState;

/// A submitted plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationRecord {
    /// The id of the operation.
    pub id: MigrationId,
    /// The submitted plan.
    pub plan: Plan,
    /// True if the operation was accepted although other migrations may first move some of its keys.
    pub queued: bool,
    /// The reason for which the plan may violate rules of the map; `None`: it violates none.
    pub override_reason: Option<String>,
    /// The user who submitted the operation.
    pub submitted_by: String,
    /// When the operation was submitted.
    pub created_at: DateTime<Utc>,
    /// The migrations, in the order of the plan's moves.
    pub migrations: Vec<Migration>,
}

/// An operation that is about to be written to the store.
#[derive(Debug, Clone)]
pub struct NewOperation {
    /// The id of the operation.
    pub id: MigrationId,
    /// The submitted plan.
    pub plan: Plan,
    /// The map version in which the sources owned the keys when the plan was checked.
    pub map_version: MapVersion,
    /// The user who submits the operation.
    pub by: String,
    /// When the operation is submitted.
    pub at: DateTime<Utc>,
    /// True to accept the operation although other migrations move some of its keys. It then waits for them.
    pub queue: bool,
    /// The reason for which the plan may violate rules of the map; `None`: it violates none.
    pub override_reason: Option<String>,
}

impl NewOperation {
    /// Returns the initial state of the operation's migrations, in the order of the moves.
    ///
    /// The migration of a single move has the operation's id. The migrations of several moves have the ids `<id>x1`,
    /// `<id>x2` and so on.
    #[must_use]
    pub fn snapshots(&self) -> Vec<Snapshot> {
        let only = self.plan.moves.len() == 1;
        let numbered = self.plan.migrations().zip(0..);
        numbered
            .map(|(plan, ordinal)| {
                let id = if only {
                    self.id.clone()
                } else {
                    MigrationId(format!("{}x{}", self.id, ordinal + 1))
                };
                self.snapshot(id, ordinal, plan)
            })
            .collect()
    }

    fn snapshot(&self, id: MigrationId, ordinal: i32, plan: MovePlan) -> Snapshot {
        let nodes = plan.graph.nodes().iter().zip(0..);
        let steps = nodes
            .map(|(node, ordinal)| Step {
                id: node.id.clone(),
                ..Step::new(node.kind, ordinal)
            })
            .collect();
        let migration = Migration {
            id,
            operation: self.id.clone(),
            ordinal,
            queued: self.queue,
            state: MigrationState::Planned,
            ownership: Ownership::Ready,
            attempt: AttemptNo::default(),
            epoch: Epoch::default(),
            needs_new_epoch: true,
            owner: None,
            approved: false,
            approvals: Vec::new(),
            hold_end: None,
            waiting_for: None,
            since: Some(self.at),
            cancel: None,
            hook: None,
            limits: None,
            failure: None,
            map_version_before: plan.map_version,
            map_version_after: None,
            map_version_back: None,
            submitted_by: self.by.clone(),
            created_at: self.at,
            started_at: None,
            finished_at: None,
            revision: 1,
            plan,
        };
        Snapshot {
            migration,
            steps,
            lease_until: None,
        }
    }

    /// Returns the first journal line of each of the operation's migrations.
    #[must_use]
    pub fn event(&self) -> NewEvent {
        NewEvent {
            at: self.at,
            actor: self.by.clone(),
            kind: "migration.submitted".to_owned(),
            step: None,
            data: serde_json::json!({
                "plan_hash": self.plan.hash,
                "operation": self.id,
                "override_reason": self.override_reason,
            }),
        }
    }
}
