//! Operations: a submitted plan with one migration for each of its moves.
//!
//! An operation has no state of its own; its migrations have.

use super::{Migration, NewEvent, Snapshot, Step};
use chrono::{DateTime, Utc};
use plans::id::{AttemptNo, Epoch, MapVersion, MigrationId};
use plans::plan::{MovePlan, Plan};
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState;

/// A submitted plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationRecord {
    /// Its id.
    pub id: MigrationId,
    /// What it does.
    pub plan: Plan,
    /// It was admitted although other migrations may move some of its keys first.
    pub queued: bool,
    /// Why it may break rules of the map; none: it breaks none.
    pub override_reason: Option<String>,
    /// Who submitted it.
    pub submitted_by: String,
    /// When.
    pub created_at: DateTime<Utc>,
    /// Its migrations in the order of the plan's moves.
    pub migrations: Vec<Migration>,
}

/// An operation to admit.
#[derive(Debug, Clone)]
pub struct NewOperation {
    /// Its id.
    pub id: MigrationId,
    /// What it does.
    pub plan: Plan,
    /// The version of the map in which the sources were seen to own its keys.
    pub map_version: MapVersion,
    /// Who submits it.
    pub by: String,
    /// When.
    pub at: DateTime<Utc>,
    /// Admit it although other migrations move some of its keys; it waits for them.
    pub queue: bool,
    /// Why it may break rules of the map; none: it breaks none.
    pub override_reason: Option<String>,
}

impl NewOperation {
    /// How its migrations look when they are admitted, in the order of the moves.
    ///
    /// The only move bears the operation's id; several are called `<id>x1`, `<id>x2` and so on.
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
        let nodes = plan.graph.nodes.iter().zip(0..);
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
            renew: true,
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

    /// The first line of the journal of each of its migrations.
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
