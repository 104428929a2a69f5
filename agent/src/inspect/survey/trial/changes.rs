//! Changes of rows of the sample as the apply makes them: each row goes, comes back and is written once more.

use plans::table::MovingTable;

use crate::compare::{self, MovingRows, RepairValues};
use crate::error::StepError;
use crate::stream::apply::{Applier, Executor, PlannedChanges, RowChange};

/// Rows of a table that are changed: enough to be changed by sets.
const CHANGED: i64 = 10;

/// Changes the first row alone, then the first ones by sets. All values travel as text, whatever the stream's form will be.
pub(super) async fn run(
    executor: &mut Executor,
    applier: &mut Applier,
    at: usize,
    table: &MovingTable,
) -> Result<(), StepError> {
    let rows = rows(executor, table).await?;
    let Some(first) = rows.first() else {
        return Ok(());
    };
    for rows in [std::slice::from_ref(first), &rows] {
        let (mut deletes, mut inserts) = (Vec::new(), Vec::new());
        let mut updates: Vec<RowChange> = Vec::new();
        for row in rows {
            deletes.push(applier.delete_read(at, row.clone())?);
            inserts.push(applier.insert_read(at, row.clone())?);
            updates.push(applier.update_read(at, row.clone())?);
        }
        for changes in [&deletes, &inserts, &updates] {
            executor.execute(&PlannedChanges::of(changes)).await?;
        }
    }
    Ok(())
}

async fn rows(executor: &Executor, table: &MovingTable) -> Result<Vec<RepairValues>, StepError> {
    let side = executor.session();
    let moving = MovingRows::of_rows(table, "true".to_owned());
    let keys = compare::read_keys(side, &moving, CHANGED).await?;
    let rows = compare::read_rows(side, &moving, &keys).await?;
    Ok(rows.into_iter().map(|(_, values)| values).collect())
}
