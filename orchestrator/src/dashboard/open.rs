//! Migrations that have not ended, with the figures of their heartbeats; and the row of a migration in a list.

use super::done_part::{DonePart, current_step_text};
use super::marks::{self, StateMark};
use crate::controller::Controller;
use crate::store::{Migration, Snapshot};
use crate::view::MigrationView;
use crate::view::figures::{ago, bytes, millis, seconds};
use crate::view::sentence::{current, is_forward, progress_percent};
use chrono::{DateTime, Utc};
use plans::state::migration::MigrationState;

/// A migration that has not ended, with its figures.
pub(super) struct OpenMigration {
    pub(super) view: MigrationView,
    /// When the migration last changed.
    pub(super) changed: DateTime<Utc>,
}

impl OpenMigration {
    /// Creates the view of a migration at the time `now`.
    pub(super) fn new(controller: &Controller, snapshot: &Snapshot, now: DateTime<Utc>) -> Self {
        let figures = controller.figures(&snapshot.migration.id);
        let steps = snapshot.steps.iter();
        let times = steps.flat_map(|step| [step.dispatched_at, step.finished_at]);
        let heartbeat = figures.as_ref().map(|figures| figures.at);
        let times = times
            .chain([snapshot.migration.started_at, heartbeat])
            .flatten();
        Self {
            changed: times.fold(snapshot.migration.created_at, DateTime::max),
            view: MigrationView::new(snapshot, figures.as_ref(), now),
        }
    }
}

/// A row for a migration in a list.
pub(super) struct MigrationListRow {
    pub(super) id: String,
    /// The operation, or the name of the move in it.
    pub(super) what: String,
    pub(super) source: String,
    pub(super) target: String,
    pub(super) keys: String,
    pub(super) mark: StateMark,
    /// The current work, or what the migration waits for.
    pub(super) step: String,
    /// The percentage that `step` names: of the rows of the current step, or of the steps. `None` if the migration was
    /// aborted or rolled back.
    pub(super) progress_percent: Option<u8>,
    /// The percentage of the steps.
    pub(super) steps_percent: Option<u8>,
    pub(super) lag: String,
    /// The estimated time to the end of the current step; empty if there is no estimate.
    pub(super) eta: String,
    pub(super) changed: DateTime<Utc>,
}

impl MigrationListRow {
    /// Creates the row of `m`. Its figures come from `unfinished`, if it is there.
    pub(super) fn new(m: &Migration, unfinished: &[OpenMigration]) -> Self {
        let found = unfinished
            .iter()
            .find(|migration| migration.view.summary.id == m.id);
        let view = found.map(|migration| &migration.view);
        let stream = view.and_then(|view| view.stream.as_ref());
        let changed = found.map(|migration| migration.changed).or(m.finished_at);
        let is_single_move = m.id == m.operation;
        Self {
            id: m.id.to_string(),
            what: if is_single_move {
                m.plan.operation.clone()
            } else {
                m.plan.id.clone()
            },
            source: m.plan.moving.source.to_string(),
            target: m.plan.moving.target.to_string(),
            keys: m.plan.moving.keys.to_string(),
            mark: marks::of_migration(view.map_or(m.state, |view| view.summary.state)),
            step: match view {
                Some(view) => step_text(view),
                None if is_forward(m.state) => "all steps done".to_owned(),
                None => String::new(),
            },
            progress_percent: match view {
                Some(view) => DonePart::of(view).map(|done| done.percent),
                None => is_forward(m.state).then_some(100),
            },
            steps_percent: view
                .map_or_else(|| is_forward(m.state).then_some(100), progress_percent),
            eta: view.map(eta_text).unwrap_or_default(),
            lag: stream.map_or_else(
                || "–".to_owned(),
                |s| format!("{}, {}", millis(s.lag_ms), bytes(s.lag_bytes)),
            ),
            changed: changed.unwrap_or(m.created_at),
        }
    }

    /// Returns when the migration last changed.
    pub(super) fn updated(&self) -> String {
        ago(self.changed)
    }
}

/// Returns the estimated time to the end of the current step.
fn eta_text(view: &MigrationView) -> String {
    let eta = current(view)
        .and_then(|step| step.progress.as_ref())
        .and_then(|progress| progress.eta_seconds);
    eta.map(seconds).unwrap_or_default()
}

/// Describes the current step with its progress and its position. For a planned migration it describes what it waits
/// for.
fn step_text(view: &MigrationView) -> String {
    let waits = view.summary.waiting_for.as_ref();
    if let Some(what) = waits.filter(|_| view.summary.state == MigrationState::Planned) {
        return format!("waits: {what}");
    }
    current_step_text(view)
}
