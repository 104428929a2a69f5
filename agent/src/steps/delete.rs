//! Deletes the moving rows from a shard that is closed for them: in paced batches of blocks, children before
//! parents; each batch proves the epoch and reads the register again (I8).

use std::time::Duration;

use plans::table::MovingTable;
use plans::wire::TableProgress;
use tokio_postgres::Client;

use crate::error::{At, StepError};
use crate::owned::Context;
use crate::pg::copy_stream::BlockRange;
use crate::pg::epoch::{self, Token};
use crate::pg::register;
use crate::pg::shard::Shard;

/// Blocks of one batch: 16 MiB of heap.
const BATCH_BLOCKS: i64 = 2048;

/// Where rows are deleted, and what must hold there.
pub(super) struct Deletion<'a> {
    pub(super) context: &'a Context,
    pub(super) shard: &'a Shard,
    pub(super) token: Token,
    /// The map version that the shard must have been told of; `None`: any.
    pub(super) flipped: Option<i64>,
}

/// Deletes what the copy and the stream brought to a live target, which never owned the keys or gave them back.
pub(super) async fn brought_rows(context: &Context, shard: &str) -> Result<(), StepError> {
    context.say(format!("deleting copied rows from shard {shard}"));
    let target = context.target()?;
    let deletion = Deletion {
        context,
        shard: &target,
        token: context.token_for_cleanup(),
        flipped: None,
    };
    for table in context.keyed().iter().rev() {
        deletion.rows_of(table).await?;
    }
    Ok(())
}

impl Deletion<'_> {
    /// Deletes the moving rows of one table; how many.
    pub(super) async fn rows_of(&self, table: &MovingTable) -> Result<i64, StepError> {
        let session = self.shard.replica_session("drop").await?;
        let row = session
            .query_one(
                "select coalesce(pg_catalog.pg_relation_size(pg_catalog.to_regclass($1)), -1) / 8192",
                &[&table.table.sql()],
            )
            .await
            .at(self.what(table))?;
        let blocks: i64 = row.get(0);
        let pause = Duration::from_millis(self.context.dispatch.options.drop_pause_ms.into());
        let mut deleted = 0;
        let mut from = 0;
        while from <= blocks {
            let to = (from + BATCH_BLOCKS <= blocks).then_some(from + BATCH_BLOCKS);
            let range = BlockRange { from, to };
            deleted += self.batch(&session, table, &range).await?;
            self.tell(table, deleted);
            from += BATCH_BLOCKS;
            if from <= blocks {
                tokio::time::sleep(pause).await;
            }
        }
        Ok(deleted)
    }

    async fn batch(
        &self,
        session: &Client,
        table: &MovingTable,
        range: &BlockRange,
    ) -> Result<i64, StepError> {
        let what = self.what(table);
        self.begin_closed(session).await?;
        let sql = format!(
            "delete from only {} where {} and {}",
            table.table.sql(),
            range.condition(),
            self.context.predicate(table)
        );
        let rows = session.execute(&sql, &[]).await.at(&what)?;
        fail_point::hit("drop_old.batch_deleted").await?;
        epoch::commit(session, &what).await?;
        Ok(i64::try_from(rows).unwrap_or(i64::MAX))
    }

    /// Opens a transaction that has proved its epoch and has seen the shard closed for the keys.
    pub(super) async fn begin_closed(&self, session: &Client) -> Result<(), StepError> {
        let what = format!("shard {}: reading the register", self.shard.name);
        epoch::begin(session, &self.token, &self.shard.name).await?;
        let seen = register::read(session, &self.token, &what).await?;
        let told = self
            .flipped
            .is_none_or(|version| seen.flipped == Some(version));
        if seen.register == i64::MAX && told {
            return Ok(());
        }
        epoch::rollback(session).await;
        Err(StepError::refused(
            "drop.open",
            format!(
                "shard {}: its register is not closed or the map has moved on; nothing is deleted",
                self.shard.name
            ),
            "find out who changed the register; the rows are kept",
        ))
    }

    fn tell(&self, table: &MovingTable, deleted: i64) {
        self.context.owned.update(|progress| {
            progress.message = format!("deleting moved rows of {}", table.table);
            progress.tables = vec![TableProgress {
                table: table.table.to_string(),
                rows_done: deleted,
                phase: "deleting".to_owned(),
                ..TableProgress::default()
            }];
        });
    }

    fn what(&self, table: &MovingTable) -> String {
        format!(
            "shard {}: deleting moved rows of {}",
            self.shard.name, table.table
        )
    }
}
