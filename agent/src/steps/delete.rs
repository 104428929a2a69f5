//! The deletion of moving rows as a step of a live migration orders it.

use std::time::Duration;

use plans::table::MovingTable;
use plans::wire::TableProgress;

use crate::cleanup::delete_rows::{Closed, Deletion};
use crate::migration::session::Context;
use crate::shard::database::Shard;
use crate::shard::epoch::Token;

pub(super) fn deletion<'a>(
    context: &'a Context,
    shard: &'a Shard,
    token: Token,
    closed: Closed<'a>,
) -> Deletion<'a> {
    Deletion {
        shard,
        token,
        map: &context.dispatch.map,
        keys: &context.dispatch.keys,
        closed,
        pause: Duration::from_millis(context.dispatch.options.drop_pause_ms.into()),
        pace: &context.owned.pace,
        tell: Box::new(|table, deleted| tell(context, table, deleted)),
    }
}

fn tell(context: &Context, table: &MovingTable, deleted: i64) {
    context.owned.update(|progress| {
        progress.message = format!("deleting moved rows of {}", table.table);
        progress.tables = vec![TableProgress {
            table: table.table.to_string(),
            rows_done: deleted,
            phase: "deleting".to_owned(),
            ..TableProgress::default()
        }];
    });
}
