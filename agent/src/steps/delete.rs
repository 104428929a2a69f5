//! Deletes moving rows as a part of a step.

use std::time::Duration;

use plans::table::MovingTable;
use plans::wire::TableProgress;

use crate::cleanup::delete_rows::{ClosedProof, RowDeletion};
use crate::migration::context::StepContext;
use crate::shard::database::Shard;
use crate::shard::epoch::EpochToken;

/// Returns the deletion of the moving rows on `shard`, which the caller starts. Each of its transactions proves the
/// epoch and `closed`.
pub(super) fn row_deletion<'a>(
    context: &'a StepContext,
    shard: &'a Shard,
    token: EpochToken,
    closed: ClosedProof<'a>,
) -> RowDeletion<'a> {
    RowDeletion {
        shard,
        token,
        map: &context.dispatch.map,
        keys: &context.dispatch.keys,
        closed,
        pause: Duration::from_millis(context.dispatch.options.drop_pause_ms.into()),
        throttle: &context.session.throttle,
        on_batch: Box::new(|table, deleted| report_deleted(context, table, deleted)),
    }
}

fn report_deleted(context: &StepContext, table: &MovingTable, deleted: i64) {
    context.session.update(|progress| {
        progress.message = format!("deleting moved rows of {}", table.table);
        progress.tables = vec![TableProgress {
            table: table.table.to_string(),
            rows_done: deleted,
            phase: "deleting".to_owned(),
            ..TableProgress::default()
        }];
    });
}
