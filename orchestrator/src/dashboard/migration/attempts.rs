//! The attempts of a cutover, and the events of the last one in milliseconds.

use super::super::marks::{self, StateMark};
use super::super::step_words::words_of_step;
use super::events;
use crate::chart::{ChartQuantity, ValueAxis};
use crate::store::Event;
use crate::view::figures::{millis, moment};
use askama::Template;
use chrono::{DateTime, Utc};
use plans::state::migration::MigrationState;
use std::collections::BTreeMap;

/// The maximum number of attempts that are shown. Older ones are omitted.
const MAX_ATTEMPTS: usize = 20;
/// The maximum number of events of the last attempt.
const MAX_EVENTS: usize = 14;

/// Every cutover attempt in either direction, newest first.
#[derive(Template)]
#[template(path = "cutover/attempts.html")]
pub(super) struct AttemptsView {
    rows: Vec<AttemptRow>,
    hidden: usize,
    /// The axis that the bars of all attempts have in common.
    axis: ValueAxis,
}

struct AttemptRow {
    number: String,
    direction: &'static str,
    began: DateTime<Utc>,
    ended: Option<DateTime<Utc>>,
    /// How long writes were blocked, in milliseconds, if the agent measured it.
    blocked_ms: Option<f64>,
    mark: StateMark,
    /// Why the attempt was given up, or the map version that it created.
    reason: String,
}

impl AttemptsView {
    /// Collects the attempts from the journal. `blocked_ms` has the write-blocked windows that agents measured, by the
    /// number of the attempt.
    pub(super) fn new(events: &[Event], blocked_ms: &BTreeMap<String, f64>) -> Self {
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
                        marks::of_unsuccessful("interrupted"),
                        "the agent stopped; another attempt followed",
                    );
                }
                rows.push(AttemptRow::new(event, direction));
            } else if let Some(row) = running {
                row.end_if_ended(event);
            }
        }
        for row in &mut rows {
            row.blocked_ms = blocked_ms.get(&row.number).copied();
        }
        let hidden = rows.len().saturating_sub(MAX_ATTEMPTS);
        rows.reverse();
        rows.truncate(MAX_ATTEMPTS);
        let longest = rows.iter().filter_map(AttemptRow::span_ms).max();
        Self {
            rows,
            hidden,
            axis: ValueAxis::new(ChartQuantity::Millis, longest.unwrap_or(0) as f64),
        }
    }

    /// Returns when the current attempt began, if one runs.
    pub(super) fn running_since(&self) -> Option<DateTime<Utc>> {
        let newest = self.rows.first()?;
        newest.ended.is_none().then_some(newest.began)
    }

    /// Returns the width of the bar of an attempt, in percent.
    fn width(&self, row: &AttemptRow) -> Option<f64> {
        row.span_ms()
            .map(|ms| self.axis.fraction(ms as f64) * 100.0)
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
            blocked_ms: None,
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
            kind @ ("ownership.flip" | "ownership.flip_back") => {
                let version = event.data.get("map_version");
                let version = version.map(|version| format!("map version {version}"));
                let mark = match kind {
                    "ownership.flip" => marks::flipped(),
                    _ => marks::of_migration(MigrationState::RolledBack),
                };
                self.end(event, mark, &version.unwrap_or_default());
            }
            "ownership.release" | "ownership.release_back" => {
                let reason = event.data.get("reason").and_then(|reason| reason.as_str());
                self.end(
                    event,
                    marks::of_unsuccessful("given up"),
                    reason.unwrap_or_default(),
                );
            }
            "ownership.abort" => self.end(
                event,
                marks::of_unsuccessful("given up"),
                "the migration was aborted",
            ),
            _ => {}
        }
    }

    fn span_ms(&self) -> Option<i64> {
        let span = self.ended? - self.began;
        Some(span.num_milliseconds())
    }

    fn duration(&self) -> String {
        self.span_ms().map_or_else(|| "–".to_owned(), millis)
    }

    fn blocked(&self) -> String {
        let ms = self.blocked_ms.map(|ms| format!("{ms:.1} ms"));
        ms.unwrap_or_else(|| "–".to_owned())
    }

    fn at(&self) -> String {
        moment(self.began)
    }
}

/// What happened from the beginning of the last attempt on.
#[derive(Template)]
#[template(path = "cutover/course.html")]
pub(super) struct CutoverCourse {
    lines: Vec<CutoverCourseLine>,
}

struct CutoverCourseLine {
    /// The time since the beginning of the attempt.
    after: String,
    at: String,
    what: String,
    step: String,
    details: String,
}

impl CutoverCourse {
    pub(super) fn new(events: &[Event]) -> Self {
        let is_begin = |event: &Event| {
            matches!(
                event.kind.as_str(),
                "ownership.fence" | "ownership.fence_back"
            )
        };
        let first = events.iter().rposition(is_begin);
        let events = first.map_or(&[][..], |first| &events[first..]);
        let began = events.first().map(|event| event.at);
        let line = |event: &Event| CutoverCourseLine {
            after: began.map_or_else(String::new, |began| {
                format!("+{}", millis((event.at - began).num_milliseconds()))
            }),
            at: moment(event.at),
            what: events::event_text(event),
            step: event.step.as_ref().map_or_else(String::new, words_of_step),
            details: events::details(&event.data),
        };
        Self {
            lines: events.iter().take(MAX_EVENTS).map(line).collect(),
        }
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
        let rows: Vec<_> = AttemptsView::new(&events, &BTreeMap::from([("3".to_owned(), 12.34)]))
            .rows
            .iter()
            .map(|row| {
                let (number, blocked) = (row.number.clone(), row.blocked());
                [number, blocked, row.duration(), row.reason.clone()]
            })
            .collect();
        let row = |a: &str, b: &str, c: &str, d: &str| [a, b, c, d].map(str::to_owned);
        let expected = [
            row("4", "–", "–", ""),
            row("3", "12.3 ms", "200 ms", "map version 4"),
            row(
                "2",
                "–",
                "200 ms",
                "the agent stopped; another attempt followed",
            ),
            row("1", "–", "100 ms", "over the budget"),
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn attempts_are_compared_on_one_axis() {
        let events = [
            event(1, "ownership.fence", json!({"attempt": 1})),
            event(2, "ownership.release", json!({})),
            event(3, "ownership.fence", json!({"attempt": 2})),
            event(5, "ownership.flip", json!({})),
        ];
        let view = AttemptsView::new(&events, &BTreeMap::new());
        let widths: Vec<_> = view.rows.iter().map(|row| view.width(row)).collect();
        assert_eq!(widths, [Some(100.0), Some(50.0)]);
        let course = CutoverCourse::new(&events);
        let lines: Vec<_> = course
            .lines
            .iter()
            .map(|line| line.after.as_str())
            .collect();
        assert_eq!(lines, ["+0 ms", "+200 ms"]);
    }
}
