//! The moves of an operation in the order of its plan.

use crate::dashboard::open::{MigrationListRow, OpenMigration};
use crate::store::{Migration, OperationRecord};
use crate::view::figures::{bytes, count};
use askama::Template;
use plans::plan::{After, Until};

/// The maximum number of moves that are shown.
const SHOWN: usize = 500;

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
    expects: String,
}

impl MovesView {
    /// Creates a row for each move, with the figures of `open`.
    pub(super) fn new(operation: &OperationRecord, open: &[OpenMigration]) -> Self {
        let shown = operation.migrations.iter().take(SHOWN);
        Self {
            id: operation.id.to_string(),
            rows: shown.map(|m| row(m, open)).collect(),
            hidden: operation.migrations.len().saturating_sub(SHOWN),
        }
    }
}

fn row(m: &Migration, open: &[OpenMigration]) -> OperationMoveRow {
    OperationMoveRow {
        row: MigrationListRow::new(m, open),
        why: m.plan.why.clone(),
        after: after(&m.plan.after),
        mode: m.plan.mode.name(),
        expects: format!(
            "{} rows, {}",
            count(m.plan.estimate.rows),
            bytes(m.plan.estimate.bytes)
        ),
    }
}

/// Describes for what a move waits according to its plan.
pub(in crate::dashboard) fn after(after: &[After]) -> String {
    let text = |after: &After| match after.until {
        Until::Flipped => format!("{} flipped", after.id),
        Until::Finished => format!("{} finished", after.id),
    };
    after.iter().map(text).collect::<Vec<_>>().join(", ")
}
