//! How far a migration is, with the name of what is counted: the rows of the current step, or the steps.

use super::step_words::step_words;
use crate::view::sentence::{current, has_ended, progress_percent, tables_percent};
use crate::view::{MigrationView, StepView};
use plans::step::StepKind;

/// How far a migration is.
pub(super) struct DonePart {
    pub(super) percent: u8,
    /// What is counted and how much of it is done, as in `rows copied 63 %` or `step 9 of 13`.
    pub(super) text: String,
}

impl DonePart {
    /// Returns the rows of the current step if it counts rows, otherwise the steps. `None` if the migration is being
    /// aborted, or was aborted or rolled back.
    pub(super) fn of(view: &MigrationView) -> Option<Self> {
        let all = progress_percent(view)?;
        let Some(step) = current(view).filter(|_| view.summary.finished_at.is_none()) else {
            return Some(Self {
                percent: all,
                text: "all steps done".to_owned(),
            });
        };
        Some(match rows_percent(step) {
            Some(percent) => Self {
                percent,
                text: format!("{} {percent} %", counted_words(step)),
            },
            None => Self {
                percent: all,
                text: position_text(view),
            },
        })
    }
}

/// Returns how many percent of its rows a step has done, if it counts them.
fn rows_percent(step: &StepView) -> Option<u8> {
    tables_percent(&step.progress.as_ref()?.tables)
}

/// Returns what a step counts, as in `rows copied`.
pub(super) fn counted_words(step: &StepView) -> &'static str {
    let tables = step.progress.iter().flat_map(|progress| &progress.tables);
    let has_rows = tables.map(|table| table.rows_total).any(|rows| rows > 0);
    match step.kind {
        StepKind::Copy if !has_rows => "bytes copied",
        StepKind::Copy => "rows copied",
        StepKind::Verify => "rows compared",
        StepKind::DropOld | StepKind::DropSurplus | StepKind::DropNew => "rows deleted",
        StepKind::Preflight
        | StepKind::CreateTarget
        | StepKind::OpenCapture
        | StepKind::Promote
        | StepKind::SetReadOnly
        | StepKind::CatchUp
        | StepKind::BuildIndexes
        | StepKind::OpenReverse
        | StepKind::Cutover
        | StepKind::Hold
        | StepKind::Unwind
        | StepKind::Rollback
        | StepKind::HoldBack => "rows done",
    }
}

/// Returns the position of the current step, as in `step 9 of 13`.
fn position_text(view: &MigrationView) -> String {
    let done = view.steps.iter().filter(|step| has_ended(step)).count();
    format!(
        "step {} of {}",
        (done + 1).min(view.steps.len()),
        view.steps.len()
    )
}

/// Describes the current step: what it counts, its name and its position.
pub(super) fn current_step_text(view: &MigrationView) -> String {
    let Some(step) = current(view).filter(|_| view.summary.finished_at.is_none()) else {
        return DonePart::of(view).map_or_else(String::new, |done| done.text);
    };
    let words = step_words(step.kind);
    match (DonePart::of(view), rows_percent(step)) {
        (None, _) => words.to_owned(),
        (Some(done), Some(_)) => format!("{}, {}", done.text, position_text(view)),
        (Some(done), None) => format!("{words}, {}", done.text),
    }
}
