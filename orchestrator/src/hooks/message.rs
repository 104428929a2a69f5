//! The message to a hook: the phase, the migration, and for a notification the journal entry.

use crate::store::MigrationPhase;
use crate::store::{Event, Snapshot};
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Value, json};

/// A message to a hook. Its id is the same each time it is sent.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct HookMessage {
    /// The id of this message to this hook.
    pub(crate) id: String,
    /// The name of the hook.
    pub(crate) hook: String,
    /// The phase.
    pub(crate) phase: MigrationPhase,
    /// The time of the event; for a call before a phase, the time at which the call was recorded.
    pub(crate) at: DateTime<Utc>,
    /// The migration.
    pub(crate) migration: Value,
    /// The journal entry; `None` in a call before a phase.
    pub(crate) event: Option<Value>,
}

impl HookMessage {
    /// Returns the message for a call before a phase.
    pub(crate) fn request(
        hook: &str,
        phase: MigrationPhase,
        at: DateTime<Utc>,
        snapshot: &Snapshot,
    ) -> Self {
        let m = &snapshot.migration;
        Self {
            id: format!("{hook}/{}/{phase}/{}", m.id, at.timestamp_micros()),
            hook: hook.to_owned(),
            phase,
            at,
            migration: migration_fields(snapshot),
            event: None,
        }
    }

    /// Returns the message that notifies a hook of a journal entry.
    pub(crate) fn event(
        hook: &str,
        phase: MigrationPhase,
        event: &Event,
        snapshot: &Snapshot,
    ) -> Self {
        let failure = event.data.get("failure");
        let failure_field = |name: &str| failure.and_then(|failure| failure.get(name));
        Self {
            id: format!("{hook}/{}/{}", snapshot.migration.id, event.seq),
            hook: hook.to_owned(),
            phase,
            at: event.at,
            migration: migration_fields(snapshot),
            event: Some(json!({
                "seq": event.seq,
                "kind": event.kind,
                "actor": event.actor,
                "step": event.step,
                "reason": event.data.get("reason"),
                "failure": failure.map(|_| json!({ "code": failure_field("code"), "message": failure_field("message") })),
            })),
        }
    }

    /// Returns the message that `shardwright hook test` sends.
    pub(crate) fn sample(hook: &str, phase: MigrationPhase, at: DateTime<Utc>) -> Self {
        Self {
            id: format!("{hook}/test/{}", at.timestamp_micros()),
            hook: hook.to_owned(),
            phase,
            at,
            migration: json!({ "id": "test", "operation_id": "test", "move": "m1", "operation": "move",
                "mode": "online", "map": "test", "source": "a", "target": "b", "state": "running",
                "ownership": "ready", "step": null, "submitted_by": "test", "created_at": at,
                "map_version": { "before": 1, "after": null, "back": null } }),
            event: None,
        }
    }
}

/// Returns the fields of the migration that a message contains.
fn migration_fields(snapshot: &Snapshot) -> Value {
    let m = &snapshot.migration;
    let step = snapshot.steps.iter().find(|step| !step.has_ended());
    json!({
        "id": m.id,
        "operation_id": m.operation,
        "move": m.plan.id,
        "operation": m.plan.operation,
        "mode": m.plan.mode,
        "map": m.plan.map,
        "source": m.plan.moving.source,
        "target": m.plan.moving.target,
        "state": m.state,
        "ownership": m.ownership,
        "step": step.map(|step| step.kind),
        "submitted_by": m.submitted_by,
        "created_at": m.created_at,
        "map_version": {
            "before": m.map_version_before,
            "after": m.map_version_after,
            "back": m.map_version_back,
        },
    })
}
