//! The page of the cutover: the keys, whether the migration is ready, and the duration of every attempt in
//! milliseconds.

use super::super::commands::CommandsView;
use super::super::marks::{self, StateMark};
use super::super::page::{DashboardPage, Fragment, PageError};
use super::events;
use super::ready::ReadyView;
use super::window::WindowsView;
use crate::access::Caller;
use crate::controller::{ControlError, Controller};
use crate::store::Event;
use crate::view::MigrationView;
use crate::view::figures::{millis, moment};
use crate::view::sentence::migration_sentence;
use askama::Template;
use axum::Extension;
use axum::extract::{Path, State};
use chrono::{DateTime, SecondsFormat, Utc};
use plans::id::MigrationId;
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState;

/// The maximum number of attempts that are shown. Older ones are omitted.
const MAX_ATTEMPTS: usize = 20;

/// Shows the page.
pub(in crate::dashboard) async fn show(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<DashboardPage, PageError> {
    let id = MigrationId(id);
    Ok(DashboardPage {
        title: format!("Cutover of {id}"),
        live: Some(format!("/live/migrations/{id}/switch")),
        fragments: fragments(&controller, &id, &caller).await?,
        caller: Some(caller),
    })
}

/// Returns the fragments of the page in their current state.
pub(in crate::dashboard) async fn fragments(
    controller: &Controller,
    id: &MigrationId,
    caller: &Caller,
) -> Result<Vec<Fragment>, ControlError> {
    let snapshot = controller.load(id).await?;
    let events = events::read(controller, id).await?;
    let view = MigrationView::new(&snapshot, controller.figures(id).as_ref(), Utc::now());
    let attempts = AttemptsView::new(&events);
    Ok(vec![
        Fragment::new("switch", &CutoverHead::new(&view, &attempts)),
        Fragment::new("orders", &CommandsView::of_cutover(&snapshot, caller)),
        Fragment::new("ready", &ReadyView::on_cutover_page(&view)),
        Fragment::new("windows", &WindowsView::new(&view)),
        Fragment::new("attempts", &attempts),
    ])
}

/// The owner of the keys, and how long writes to them may be refused.
#[derive(Template)]
#[template(path = "cutover/head.html")]
struct CutoverHead {
    id: String,
    title: String,
    mark: StateMark,
    sentence: String,
    keys: String,
    sides: [CutoverSide; 2],
    budget: u32,
    /// When the current attempt began. During an attempt writes may be refused.
    since: Option<String>,
    attempt: String,
}

/// The role of a shard for the moving keys, now and after the cutover.
struct CutoverSide {
    shard: String,
    role: &'static str,
    now: &'static str,
    then: &'static str,
}

impl CutoverHead {
    fn new(view: &MigrationView, attempts: &AttemptsView) -> Self {
        let m = &view.summary;
        let running_attempt = attempts.rows.first().filter(|row| row.ended.is_none());
        Self {
            id: m.id.to_string(),
            title: format!("Cutover {} → {}", m.source, m.target),
            mark: marks::of_migration(m.state),
            sentence: migration_sentence(view),
            keys: m.keys.to_string(),
            sides: sides(view),
            budget: view.plan.options.write_stop_budget_ms,
            since: running_attempt
                .map(|row| row.began.to_rfc3339_opts(SecondsFormat::Millis, true)),
            attempt: view.attempt.to_string(),
        }
    }
}

const OWNS: &str = "takes every read and write";
const FOLLOWS: &str = "receives the changes of the owner, refuses writes of the application";
const REFUSES: &str = "refuses writes for a moment";
const NO_ROWS: &str = "has no rows of the keys";

fn sides(view: &MigrationView) -> [CutoverSide; 2] {
    let m = &view.summary;
    let ended = m.finished_at.is_some();
    let copy_state = if ended { NO_ROWS } else { FOLLOWS };
    let (source, target, is_flipped) = match m.ownership {
        Ownership::Ready if m.state == MigrationState::Planned => (OWNS, NO_ROWS, false),
        Ownership::Ready => (OWNS, copy_state, false),
        Ownership::Fencing => (REFUSES, FOLLOWS, false),
        Ownership::Aborted => (OWNS, NO_ROWS, false),
        Ownership::Flipped => (copy_state, OWNS, true),
        Ownership::RollbackFencing => (FOLLOWS, REFUSES, true),
        Ownership::RolledBack => (OWNS, copy_state, false),
        Ownership::Completed => (NO_ROWS, OWNS, true),
    };
    // After a cutover the target owns the keys; after a rollback the source owns them.
    let (source_then, target_then) = if is_flipped {
        (OWNS, FOLLOWS)
    } else {
        (FOLLOWS, OWNS)
    };
    let is_final = ended || m.ownership == Ownership::Completed;
    let side = |shard: String, role, now, then| CutoverSide {
        shard,
        role,
        now,
        then: if is_final { now } else { then },
    };
    [
        side(m.source.to_string(), "source", source, source_then),
        side(m.target.to_string(), "target", target, target_then),
    ]
}

/// Every cutover attempt in either direction, newest first.
#[derive(Template)]
#[template(path = "cutover/attempts.html")]
struct AttemptsView {
    rows: Vec<AttemptRow>,
    hidden: usize,
}

struct AttemptRow {
    number: String,
    direction: &'static str,
    began: DateTime<Utc>,
    ended: Option<DateTime<Utc>>,
    mark: StateMark,
    /// Why the attempt was given up, or the map version that it created.
    reason: String,
}

impl AttemptsView {
    /// Collects the attempts from the journal.
    fn new(events: &[Event]) -> Self {
        let mut rows: Vec<AttemptRow> = Vec::new();
        for event in events {
            let direction = match event.kind.as_str() {
                "ownership.fence" => Some("to the target"),
                "ownership.fence_back" => Some("back to the source"),
                _ => None,
            };
            let running = rows.last_mut().filter(|row| row.ended.is_none());
            if let Some(direction) = direction {
                if let Some(interrupted) = running {
                    interrupted.end(
                        event,
                        marks::of_trouble("interrupted"),
                        "the agent stopped; another attempt followed",
                    );
                }
                rows.push(AttemptRow::new(event, direction));
            } else if let Some(row) = running {
                row.end_if_ended(event);
            }
        }
        let hidden = rows.len().saturating_sub(MAX_ATTEMPTS);
        rows.reverse();
        rows.truncate(MAX_ATTEMPTS);
        Self { rows, hidden }
    }
}

impl AttemptRow {
    fn new(event: &Event, direction: &'static str) -> Self {
        let number = event.data.get("attempt");
        Self {
            number: number.map(ToString::to_string).unwrap_or_default(),
            direction,
            began: event.at,
            ended: None,
            mark: marks::of_mapping(true),
            reason: String::new(),
        }
    }

    fn end(&mut self, event: &Event, mark: StateMark, reason: &str) {
        self.ended = Some(event.at);
        self.mark = mark;
        reason.clone_into(&mut self.reason);
    }

    /// Ends the attempt if the event is its end.
    fn end_if_ended(&mut self, event: &Event) {
        match event.kind.as_str() {
            "ownership.flip" | "ownership.flip_back" => {
                let version = event.data.get("map_version");
                let version = version.map(|version| format!("map version {version}"));
                self.end(event, marks::flipped(), &version.unwrap_or_default());
            }
            "ownership.release" | "ownership.release_back" => {
                let reason = event.data.get("reason").and_then(|reason| reason.as_str());
                self.end(
                    event,
                    marks::of_trouble("given up"),
                    reason.unwrap_or_default(),
                );
            }
            "ownership.abort" => self.end(
                event,
                marks::of_trouble("given up"),
                "the migration was aborted",
            ),
            _ => {}
        }
    }

    fn duration(&self) -> String {
        let span = self
            .ended
            .map(|ended| (ended - self.began).num_milliseconds());
        span.map_or_else(|| "–".to_owned(), millis)
    }

    fn at(&self) -> String {
        moment(self.began)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;
    use serde_json::{Value, json};

    fn event(seq: i64, kind: &str, data: Value) -> Event {
        Event {
            seq,
            at: DateTime::UNIX_EPOCH + TimeDelta::milliseconds(seq * 100),
            actor: "controller".to_owned(),
            kind: kind.to_owned(),
            step: None,
            data,
        }
    }

    #[test]
    fn attempts_are_collected_from_the_journal() {
        let events = [
            event(1, "ownership.fence", json!({"attempt": 1})),
            event(2, "ownership.release", json!({"reason": "over the budget"})),
            event(3, "ownership.fence", json!({"attempt": 2})),
            event(5, "ownership.fence", json!({"attempt": 3})),
            event(6, "step.completed", json!({})),
            event(7, "ownership.flip", json!({"map_version": 4})),
            event(9, "ownership.fence_back", json!({"attempt": 4})),
        ];
        let rows: Vec<_> = AttemptsView::new(&events)
            .rows
            .iter()
            .map(|row| (row.number.clone(), row.duration(), row.reason.clone()))
            .collect();
        let row = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        let expected = [
            row("4", "–", ""),
            row("3", "200 ms", "map version 4"),
            row("2", "200 ms", "the agent stopped; another attempt followed"),
            row("1", "100 ms", "over the budget"),
        ];
        assert_eq!(rows, expected);
    }
}
