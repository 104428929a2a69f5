//! Changes rows of the sample as the stream applies changes: each row is deleted, inserted again, and updated.

use plans::table::MovingTable;

use crate::compare::{self, MovingRows, RepairValues};
use crate::error::StepError;
use crate::stream::apply::{Applier, Executor, PlannedChanges, RowChange};

/// The number of rows that are changed. It is large enough for the apply to change them in sets.
const CHANGED_ROWS: i64 = 10;

/// Changes first one row, then several rows in sets. All values are sent as text, although the stream may use another
/// format.
pub(super) async fn run(
    executor: &mut Executor,
    applier: &mut Applier,
    table_index: usize,
    table: &MovingTable,
) -> Result<(), StepError> {
    let rows = read_rows(executor, table).await?;
    let Some(first) = rows.first() else {
        return Ok(());
    };
    for rows in [std::slice::from_ref(first), &rows] {
        let (mut deletes, mut inserts) = (Vec::new(), Vec::new());
        let mut updates: Vec<RowChange> = Vec::new();
        for row in rows {
            deletes.push(applier.delete_of_read_row(table_index, row.clone())?);
            inserts.push(applier.insert_of_read_row(table_index, row.clone())?);
            updates.push(applier.update_to_read_row(table_index, row.clone())?);
        }
        for changes in [&deletes, &inserts, &updates] {
            executor.execute(&PlannedChanges::of(changes)).await?;
        }
    }
    Ok(())
}

async fn read_rows(
    executor: &Executor,
    table: &MovingTable,
) -> Result<Vec<RepairValues>, StepError> {
    let session = executor.session();
    let moving = MovingRows::matching(table, "true".to_owned());
    let keys = compare::read_keys(session, &moving, CHANGED_ROWS).await?;
    let rows = compare::read_rows(session, &moving, &keys).await?;
    Ok(rows.into_iter().map(|(_, values)| values).collect())
}
