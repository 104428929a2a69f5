//! The journal as text, newest line first.

use super::super::step_words::{step_words, words_of_step};
use crate::controller::{ControlError, Controller, NO_TOKEN};
use crate::store::Event;
use crate::view::StepView;
use crate::view::figures::moment;
use askama::Template;
use plans::id::MigrationId;
use serde::Deserialize;
use serde_json::Value;

/// The maximum number of events that are read, that are shown, and that are visible before the list is expanded.
const MAX_READ: i64 = 10_000;
const MAX_SHOWN: usize = 200;
const MAX_VISIBLE: usize = 20;

/// The groups of events, by the beginning of their kind, each with its name for people.
const GROUPS: [(&str, &str); 8] = [
    ("", "all kinds"),
    ("migration", "migration"),
    ("step", "steps"),
    ("ownership", "keys and cutover"),
    ("owner", "agents"),
    ("approval", "approvals"),
    ("cancel", "ended transactions"),
    ("hook", "hooks"),
];

/// Which lines of the journal are shown; an empty field: all.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct JournalFilter {
    /// The beginning of the kind.
    kind: String,
    /// The step.
    of: String,
    /// A text that the line contains.
    text: String,
}

impl JournalFilter {
    /// Returns the query parameters of the filter.
    pub(super) fn pairs(&self) -> [(&'static str, &str); 3] {
        [("kind", &self.kind), ("of", &self.of), ("text", &self.text)]
    }

    /// Returns the form of the filter for the journal of a migration with these steps.
    pub(super) fn form(&self, id: &MigrationId, steps: &[StepView]) -> JournalForm {
        let choice = |value: String, label: String, chosen: &str| JournalChoice {
            is_chosen: value == chosen,
            value,
            label,
        };
        let kinds =
            GROUPS.map(|(kind, label)| choice(kind.to_owned(), label.to_owned(), &self.kind));
        let any = choice(String::new(), "all steps".to_owned(), &self.of);
        let steps = steps.iter().map(|step| {
            let label = step_words(step.kind).to_owned();
            choice(step.id.to_string(), label, &self.of)
        });
        JournalForm {
            id: id.to_string(),
            kinds: kinds.into(),
            steps: [any].into_iter().chain(steps).collect(),
            text: self.text.clone(),
        }
    }

    fn is_set(&self) -> bool {
        self.pairs()
            .iter()
            .any(|(_, value)| !value.trim().is_empty())
    }

    fn includes(&self, event: &Event) -> bool {
        let group = event.kind.split('.').next().unwrap_or_default();
        let step = event.step.as_ref().map_or("", |step| step.as_str());
        (self.kind.is_empty() || group == self.kind)
            && (self.of.is_empty() || step == self.of)
            && self.contains_text(event)
    }

    fn contains_text(&self, event: &Event) -> bool {
        let text = self.text.trim().to_lowercase();
        let parts = [event_text(event), event.actor.clone(), details(&event.data)];
        text.is_empty() || parts.iter().any(|part| part.to_lowercase().contains(&text))
    }
}

/// The form of the filter.
#[derive(Template)]
#[template(path = "migration/journal_filter.html")]
pub(super) struct JournalForm {
    id: String,
    kinds: Vec<JournalChoice>,
    steps: Vec<JournalChoice>,
    text: String,
}

struct JournalChoice {
    value: String,
    label: String,
    is_chosen: bool,
}

/// The newest events.
#[derive(Template)]
#[template(path = "migration/events.html")]
pub(super) struct EventsView {
    newest: Vec<JournalRow>,
    older: Vec<JournalRow>,
    hidden: usize,
    id: String,
    is_filtered: bool,
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
    /// Returns the newest of `events`, the journal of a migration, that the filter includes.
    pub(super) fn new(id: &MigrationId, events: &[Event], filter: &JournalFilter) -> Self {
        let included = || events.iter().filter(|event| filter.includes(event));
        let mut shown = included().rev().take(MAX_SHOWN).map(row);
        Self {
            newest: shown.by_ref().take(MAX_VISIBLE).collect(),
            older: shown.collect(),
            hidden: included().count().saturating_sub(MAX_SHOWN),
            id: id.to_string(),
            is_filtered: filter.is_set(),
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
    let text = match event.kind.as_str() {
        "ownership.fence" => "writes to the keys blocked",
        "ownership.fence_back" => "writes to the keys blocked for the rollback",
        "ownership.release" | "ownership.release_back" => "attempt given up, writes accepted again",
        "ownership.flip" => "map flipped to the target",
        "ownership.flip_back" => "map flipped back to the source",
        "ownership.abort" => "abort recorded, the source keeps the keys",
        "migration.flipped" => "hold began",
        "migration.unwound" => "migration aborted, what it created is removed",
        kind => return kind.replace(['.', '_'], " "),
    };
    text.to_owned()
}

fn row(event: &Event) -> JournalRow {
    JournalRow {
        seq: event.seq,
        at: moment(event.at),
        what: event_text(event),
        step: event.step.as_ref().map_or_else(String::new, words_of_step),
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
        // The controller requires no tokens, so this says nothing about the caller.
        Value::String(text) if name == "token" && text == NO_TOKEN => None,
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
