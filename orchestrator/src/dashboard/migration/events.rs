//! The journal as text, newest line first.

use crate::controller::{ControlError, Controller};
use crate::store::Event;
use crate::view::figures::moment;
use askama::Template;
use plans::id::MigrationId;
use serde_json::Value;

/// The maximum number of events that are read, that are shown, and that are visible before the list is expanded.
const MAX_READ: i64 = 10_000;
const MAX_SHOWN: usize = 200;
const MAX_VISIBLE: usize = 20;

/// The newest events.
#[derive(Template)]
#[template(path = "migration/events.html")]
pub(super) struct EventsView {
    newest: Vec<JournalRow>,
    older: Vec<JournalRow>,
    hidden: usize,
    id: String,
}

struct JournalRow {
    seq: i64,
    at: String,
    what: String,
    step: String,
    actor: String,
    details: String,
}

impl EventsView {
    /// Returns the newest of `events`, the journal of a migration.
    pub(super) fn new(id: &MigrationId, events: &[Event]) -> Self {
        let mut shown = events.iter().rev().take(MAX_SHOWN).map(row);
        Self {
            newest: shown.by_ref().take(MAX_VISIBLE).collect(),
            older: shown.collect(),
            hidden: events.len().saturating_sub(MAX_SHOWN),
            id: id.to_string(),
        }
    }
}

/// Reads the journal of a migration, oldest line first.
pub(super) async fn read(
    controller: &Controller,
    id: &MigrationId,
) -> Result<Vec<Event>, ControlError> {
    Ok(controller.store().events(id, 0, MAX_READ).await?)
}

/// Describes an event.
pub(super) fn event_text(event: &Event) -> String {
    event.kind.replace(['.', '_'], " ")
}

fn row(event: &Event) -> JournalRow {
    JournalRow {
        seq: event.seq,
        at: moment(event.at),
        what: event_text(event),
        step: event
            .step
            .as_ref()
            .map_or_else(String::new, ToString::to_string),
        actor: event.actor.clone(),
        details: details(&event.data),
    }
}

/// Returns the fields of the data as `name value`, and a failure as its message.
pub(super) fn details(data: &Value) -> String {
    let Value::Object(fields) = data else {
        return String::new();
    };
    let parts = fields.iter().filter_map(|(name, value)| match value {
        Value::Null => None,
        Value::Object(inner) => {
            let message = inner.get("message").or_else(|| inner.get("agent"))?;
            message.as_str().map(str::to_owned)
        }
        Value::String(text) => Some(format!("{} {text}", name.replace('_', " "))),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            Some(format!("{} {value}", name.replace('_', " ")))
        }
    });
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn details_are_readable_text() {
        let data = json!({"attempt": 2, "failure": {"code": "x.y", "message": "it broke"}, "reason": null});
        assert_eq!(details(&data), "attempt 2, it broke");
    }
}
