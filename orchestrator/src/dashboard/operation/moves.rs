//! The moves of an operation in the order of its plan.

use crate::dashboard::open::{MigrationListRow, OpenMigration};
use crate::store::{Migration, OperationRecord};
use crate::view::figures::{bytes, count};
use askama::Template;
use plans::plan::{After, Until};

/// The maximum number of moves that are shown.
const MAX_MOVES: usize = 500;

/// The moves.
#[derive(Template)]
#[template(path = "operation/moves.html")]
pub(super) struct MovesView {
    id: String,
    rows: Vec<OperationMoveRow>,
    hidden: usize,
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
        }
    }
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
        Until::Flipped => format!("{} flipped", after.id),
        Until::Finished => format!("{} finished", after.id),
    };
    after.iter().map(text).collect::<Vec<_>>().join(", ")
}
