//! The moves of an operation in the order of its plan.

use crate::dashboard::marks;
use crate::dashboard::open::{MigrationListRow, OpenMigration};
use crate::store::{Migration, OperationRecord};
use crate::view::Tone;
use crate::view::figures::{bytes, count};
use askama::Template;
use plans::plan::{After, Until};
use plans::state::migration::MigrationState;

/// The maximum number of moves that are shown.
const MAX_MOVES: usize = 500;

/// The moves.
#[derive(Template)]
#[template(path = "operation/moves.html")]
pub(super) struct MovesView {
    id: String,
    rows: Vec<OperationMoveRow>,
    hidden: usize,
    ended: usize,
    total: usize,
    tally: Vec<TallyPart>,
}

/// How many moves are in one state, as a part of a bar.
struct TallyPart {
    label: String,
    tone: Tone,
    x: f64,
    width: f64,
}

struct OperationMoveRow {
    row: MigrationListRow,
    why: String,
    after: String,
    mode: &'static str,
    estimate: String,
}

impl MovesView {
    /// Creates a row for each move, with the figures of `unfinished`.
    pub(super) fn new(operation: &OperationRecord, unfinished: &[OpenMigration]) -> Self {
        let shown = operation.migrations.iter().take(MAX_MOVES);
        Self {
            id: operation.id.to_string(),
            rows: shown.map(|m| row(m, unfinished)).collect(),
            hidden: operation.migrations.len().saturating_sub(MAX_MOVES),
            ended: operation
                .migrations
                .iter()
                .filter(|m| m.finished_at.is_some())
                .count(),
            total: operation.migrations.len(),
            tally: tally(&operation.migrations),
        }
    }
}

/// Counts the moves in each state; those that are furthest come first.
fn tally(migrations: &[Migration]) -> Vec<TallyPart> {
    let mut x = 0.0;
    let counts = MigrationState::ALL.into_iter().rev().filter_map(|state| {
        let count = migrations.iter().filter(|m| m.state == state).count();
        (count > 0).then_some((marks::of_migration(state), count))
    });
    counts
        .map(|(mark, count)| {
            let width = count as f64 * 100.0 / migrations.len() as f64;
            let part = TallyPart {
                label: format!("{count} {}", mark.text),
                tone: mark.tone,
                x,
                width,
            };
            x += width;
            part
        })
        .collect()
}

fn row(m: &Migration, unfinished: &[OpenMigration]) -> OperationMoveRow {
    OperationMoveRow {
        row: MigrationListRow::new(m, unfinished),
        why: m.plan.why.clone(),
        after: after_text(&m.plan.after),
        mode: m.plan.mode.name(),
        estimate: format!(
            "{} rows, {}",
            count(m.plan.estimate.rows),
            bytes(m.plan.estimate.bytes)
        ),
    }
}

/// Describes which moves must come first according to the plan.
pub(in crate::dashboard) fn after_text(after: &[After]) -> String {
    let text = |after: &After| match after.until {
        Until::Flipped => format!("{} cut over", after.id),
        Until::Finished => format!("{} finished", after.id),
    };
    after.iter().map(text).collect::<Vec<_>>().join(", ")
}
