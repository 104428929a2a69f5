//! The progress of the work: the tables of a step, and the change stream.

use super::super::step_words::step_words;
use super::built_object::{BuiltObject, built_object};
use crate::dual_write;
use crate::view::figures::{bytes, count, millis, moment, percent};
use crate::view::sentence::{current, is_forward, tables_percent};
use crate::view::{MigrationView, StepView};
use askama::Template;
use plans::failure::Failure;
use plans::names::Direction;
use plans::request::Mode;
use plans::state::step::StepState;
use plans::wire::{Retained, TableProgress};

/// The progress of the step for each table.
#[derive(Template)]
#[template(path = "migration/tables.html")]
pub(super) struct TablesView {
    step: &'static str,
    message: String,
    rows: Vec<TableProgressRow>,
    /// Indexes and constraints that are being built, in words.
    objects: Vec<BuiltObject>,
    /// True if the migration was aborted or rolled back, so that its bars are grey.
    is_unsuccessful: bool,
}

struct TableProgressRow {
    table: String,
    phase: String,
    rows: String,
    bytes: String,
    /// The progress in percent; `None` if no total is known.
    percent: Option<u8>,
}

impl TablesView {
    /// Returns the figures of the current step, or of the last step that worked table by table.
    pub(super) fn new(view: &MigrationView) -> Self {
        let running_step = current(view).filter(|step| step.state == StepState::Running);
        let has_tables = |step: &&StepView| {
            let progress = step.progress.as_ref();
            progress.is_some_and(|progress| !progress.tables.is_empty())
        };
        let has_total = |step: &&StepView| {
            let progress = step.progress.as_ref();
            progress.is_some_and(|progress| tables_percent(&progress.tables).is_some())
        };
        let last_with_total = || view.steps.iter().rev().find(has_total);
        let step = running_step.filter(has_tables).or_else(last_with_total);
        let progress = step.and_then(|step| step.progress.clone());
        let progress = progress.unwrap_or_default();
        let is_running = step.is_some_and(|step| step.state == StepState::Running);
        Self {
            step: step.map_or("", |step| step_words(step.kind)),
            message: Some(progress.message.clone())
                .filter(|_| is_running && !progress.tables.iter().any(is_built))
                .unwrap_or_default(),
            is_unsuccessful: !is_forward(view.summary.state),
            objects: progress.tables.iter().filter_map(built_object).collect(),
            rows: progress
                .tables
                .iter()
                .filter(|table| built_object(table).is_none())
                .map(table_row)
                .collect(),
        }
    }
}

/// Returns whether the entry is an object that is being built, not a table.
fn is_built(table: &TableProgress) -> bool {
    built_object(table).is_some()
}

fn table_row(table: &TableProgress) -> TableProgressRow {
    // Totals are estimates, but the number of completed rows is exact.
    let is_done = table.phase == "done" || table.rows_total <= table.rows_done;
    let done_of_total = |done: i64, total: i64, text: fn(i64) -> String| {
        if done == 0 && total == 0 {
            "–".to_owned()
        } else if is_done || total <= done {
            text(done)
        } else {
            format!("{} of {}", text(done), text(total))
        }
    };
    let is_known = table.rows_total > 0 || table.phase == "done";
    let rows_percent = percent(table.rows_done, table.rows_total);
    TableProgressRow {
        table: table.table.clone(),
        phase: table.phase.clone(),
        rows: done_of_total(table.rows_done, table.rows_total, count),
        bytes: done_of_total(table.bytes_done, table.bytes_total, bytes),
        percent: is_known.then_some(if table.phase == "done" {
            100
        } else {
            rows_percent
        }),
    }
}

/// Describes the log that a shard retains now. It is no limit.
fn retained_text(log: &Retained) -> Option<String> {
    let status = match log.wal_status.as_str() {
        "" => return None,
        "reserved" => String::new(),
        status => format!(", {status}"),
    };
    Some(format!(
        "{} now, the most so far was {}{status}",
        bytes(log.bytes),
        bytes(log.peak_bytes)
    ))
}

/// Describes at which amount the log is not retained any more.
fn retained_limit_text(view: &MigrationView, log: &Retained) -> String {
    let cap = bytes(i64::from(view.plan.options.wal_cap_mb) << 20);
    match log.safe_bytes {
        Some(safe) => format!(
            "{cap} (wal_cap_mb); the server drops the slot after another {}",
            bytes(safe)
        ),
        None => format!("{cap} (wal_cap_mb); the server has no limit of its own"),
    }
}

/// The change stream.
#[derive(Template)]
#[template(path = "migration/stream.html")]
pub(super) struct StreamView {
    stream: Option<StreamFigures>,
    /// True for an offline move, which has no stream.
    offline: bool,
}

struct StreamFigures {
    direction: &'static str,
    /// What happens to the changes, in plain words.
    words: String,
    /// The same in the terms of the command line.
    mode: String,
    lag: String,
    lag_bytes: String,
    transactions: String,
    changes: String,
    /// The log that the upstream shard retains for the stream, if any.
    retained: Option<String>,
    /// At which amount the log is not retained any more.
    retained_limit: String,
    /// When the hold, and with it the stream, ends without a command.
    ends: Option<String>,
    failure: Option<Failure>,
}

impl StreamView {
    /// Returns the figures of the stream, if one runs.
    pub(super) fn new(view: &MigrationView) -> Self {
        let stream = view.stream.as_ref().map(|stream| StreamFigures {
            direction: match stream.direction {
                Direction::Forward => "source to target",
                Direction::Reverse => "target to source",
            },
            words: dual_write::in_plain_words(stream),
            mode: format!(
                "{}, {}",
                dual_write::phase(stream),
                dual_write::state(stream)
            ),
            lag: millis(stream.lag_ms),
            lag_bytes: bytes(stream.lag_bytes),
            transactions: count(stream.transactions),
            changes: count(stream.changes),
            retained: retained_text(&stream.retained),
            retained_limit: retained_limit_text(view, &stream.retained),
            ends: view.hold_ends_at.map(moment),
            failure: stream.failure.clone(),
        });
        Self {
            stream,
            offline: view.summary.mode == Mode::Offline,
        }
    }
}
