//! Deletes rows of moving keys from a shard that is closed for them: in paced batches of blocks, children before
//! parents; each batch proves the epoch and reads the register again (I8).

use std::time::Duration;

use connect::Connected;
use plans::id::{MapName, MigrationId};
use plans::key_set::KeySet;
use plans::table::MovingTable;

use crate::error::{StepError, WithIntent};
use crate::postgres::copy_stream::BlockRange;
use crate::shard::database::Shard;
use crate::shard::epoch::{self, EpochToken};
use crate::shard::identity::{self, TimelineRule};
use crate::shard::{conflicting_migrations, register, user_code};
use crate::throttle::MigrationThrottle;

/// Blocks of one batch: 16 MiB of heap.
const BATCH_BLOCKS: i64 = 2048;

/// Bounds a session that takes back what an aborted migration did: it waits neither for a lock that another session
/// keeps, nor for a standby that is gone.
pub(crate) const SHORT_WAITS: &str = "set lock_timeout = '5s'; set synchronous_commit = local";

/// Called with a table and the number of its rows that are deleted.
pub(crate) type DeletionCallback<'a> = Box<dyn Fn(&MovingTable, i64) + Send + Sync + 'a>;

/// Where rows are deleted, and what must hold there.
pub(crate) struct RowDeletion<'a> {
    pub(crate) shard: &'a Shard,
    pub(crate) token: EpochToken,
    pub(crate) map: &'a MapName,
    pub(crate) keys: &'a KeySet,
    pub(crate) closed: ClosedProof<'a>,
    /// The pause between two batches, at least.
    pub(crate) pause: Duration,
    /// How fast they may follow each other.
    pub(crate) throttle: &'a MigrationThrottle,
    /// After each batch.
    pub(crate) on_batch: DeletionCallback<'a>,
}

/// What each transaction that deletes checks besides the closed register.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ClosedProof<'a> {
    /// Nothing: the migration is live, and its control store says that the keys have no owner here.
    Live,
    /// The shard was told of the flip that made this map version.
    Notified(i64),
    /// The migration was left: the shard was told of no flip, and nobody but these, which were left too, brings
    /// or has brought its keys here.
    Abandoned(&'a [MigrationId]),
}

impl ClosedProof<'_> {
    /// An owner's rows, or what nobody looks after, is not deleted on a server that no operator has accepted.
    fn timeline(self) -> TimelineRule {
        match self {
            Self::Notified(_) | Self::Abandoned(_) => TimelineRule::Same,
            Self::Live => TimelineRule::NotEarlier,
        }
    }

    /// True where the rows are deleted that were moved away, false where those are that a move has brought.
    fn is_at_source(self) -> bool {
        match self {
            Self::Notified(_) => true,
            Self::Live | Self::Abandoned(_) => false,
        }
    }
}

impl RowDeletion<'_> {
    /// Deletes the moving rows of one table; how many.
    pub(crate) async fn delete_rows_of(&self, table: &MovingTable) -> Result<i64, StepError> {
        let session = self.shard.replica_session("drop").await?;
        if !matches!(self.closed, ClosedProof::Notified(_)) {
            // What is aborted ends: rows that others keep locked are left over. A `drop_old` waits for them.
            session
                .batch_execute(SHORT_WAITS)
                .await
                .at(self.what(table))?;
        }
        let row = session
            .query_one(
                "select coalesce(pg_catalog.pg_relation_size(pg_catalog.to_regclass($1)), -1) / 8192",
                &[&table.table.sql()],
            )
            .await
            .at(self.what(table))?;
        let blocks: i64 = row.get(0);
        let turn = self.throttle.turn();
        let mut deleted = 0;
        let mut from = 0;
        while from <= blocks {
            let to = (from + BATCH_BLOCKS <= blocks).then_some(from + BATCH_BLOCKS);
            let range = BlockRange { from, to };
            deleted += self.delete_batch(&session, table, &range).await?;
            (self.on_batch)(table, deleted);
            from += BATCH_BLOCKS;
            if from <= blocks {
                turn.spend(0).await;
                tokio::time::sleep(self.pause).await;
            }
        }
        Ok(deleted)
    }

    async fn delete_batch(
        &self,
        session: &Connected,
        table: &MovingTable,
        range: &BlockRange,
    ) -> Result<i64, StepError> {
        let what = self.what(table);
        self.begin_closed(session).await?;
        user_code::prove(session, std::slice::from_ref(table)).await?;
        let sql = format!(
            "delete from only {} where {} and {}",
            table.table.sql(),
            range.condition(),
            self.predicate(table)
        );
        let rows = session.execute(&sql, &[]).await.at(&what)?;
        fail_point::hit("drop_old.batch_deleted").await?;
        epoch::commit(session, &what).await?;
        Ok(i64::try_from(rows).unwrap_or(i64::MAX))
    }

    /// Opens a transaction that has proved its epoch and has seen the shard closed for the keys.
    pub(crate) async fn begin_closed(&self, session: &Connected) -> Result<(), StepError> {
        epoch::begin(session, &self.token).await?;
        let closed = self.check_closed(session).await;
        if closed.is_err() {
            epoch::rollback(session).await;
        }
        closed
    }

    async fn check_closed(&self, session: &Connected) -> Result<(), StepError> {
        let shard = &self.shard.name;
        let what = format!("shard {shard}: proving which database it is");
        let proof = identity::proof_sql(self.closed.timeline());
        session.batch_execute(&proof).await.at(&what)?;
        let what = format!("shard {shard}: reading the register");
        let witness = register::read(session, &self.token, &what).await?;
        if witness.is_source != self.closed.is_at_source() {
            let (is, must) = match witness.is_source {
                true => ("source", "target"),
                false => ("target", "source"),
            };
            return Err(StepError::refused(
                "drop.role",
                format!(
                    "shard {shard}: in this database migration {} has its {is}, not its {must}; nothing is deleted",
                    self.token.migration
                ),
                "correct the connection strings of its two shards, then `resume`",
            ));
        }
        let flip_matches = match self.closed {
            ClosedProof::Live => true,
            ClosedProof::Notified(version) => witness.flipped == Some(version),
            ClosedProof::Abandoned(_) => witness.flipped.is_none(),
        };
        if witness.register != i64::MAX || !flip_matches {
            return Err(StepError::refused(
                "drop.open",
                format!(
                    "shard {shard}: its register is not closed or the map has moved on; nothing is deleted"
                ),
                "find out who changed the register; the rows are kept",
            ));
        }
        let ClosedProof::Abandoned(except) = self.closed else {
            return Ok(());
        };
        let own = &self.token.migration;
        let found =
            conflicting_migrations::find_with_same_keys(session, own, self.map, self.keys, except);
        match found.await? {
            None => Ok(()),
            Some(other) => Err(StepError::refused(
                "drop.others",
                format!(
                    "shard {shard}: migration {other} is about {} too; nothing is deleted",
                    self.keys
                ),
                "its rows are kept; look again with `shardwright cleanup` once it has ended",
            )),
        }
    }

    /// The predicate of a table's moving rows.
    pub(crate) fn predicate(&self, table: &MovingTable) -> String {
        table.predicate(self.keys, "")
    }

    /// For messages.
    pub(crate) fn what(&self, table: &MovingTable) -> String {
        format!(
            "shard {}: deleting moved rows of {}",
            self.shard.name, table.table
        )
    }
}
