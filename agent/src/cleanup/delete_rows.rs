//! Deletes rows of keys that a shard does not own. The agent deletes in throttled batches of blocks. Each batch proves
//! the epoch, and checks again that the shard refuses writes to these keys (I8).
//!
//! - The rows of the moving keys are deleted while the register is closed.
//! - The surplus rows of a seeded target are deleted while the guard of released keys covers their keys. The moving keys
//!   are never among these.

use std::time::Duration;

use connect::Connected;
use plans::failure::StepCode;
use plans::id::{MapName, MapVersion, MigrationId};
use plans::key_set::KeySet;
use plans::names::Direction;
use plans::sql::quote_literal;
use plans::table::{MovingTable, ThroughTable};

use crate::error::{StepError, WithIntent};
use crate::postgres::copy_stream::BlockRange;
use crate::shard::database::Shard;
use crate::shard::epoch::{self, EpochToken};
use crate::shard::identity::{self, TimelineRule};
use crate::shard::register::{self, Register};
use crate::shard::{conflicting_migrations, parents, released_keys, user_code};
use crate::throttle::MigrationThrottle;

/// Blocks in one batch: 16 MiB of heap.
const BATCH_BLOCKS: i64 = 2048;

/// Settings of a session that removes what an aborted migration wrote. The session does not wait long for a lock that
/// another session holds, and its commits do not wait for a standby.
pub(crate) const SHORT_WAITS: &str = "set lock_timeout = '5s'; set synchronous_commit = local";

/// A function that is called with a table and the number of rows that were deleted from it.
pub(crate) type DeletionCallback<'a> = Box<dyn Fn(&MovingTable, i64) + Send + Sync + 'a>;

/// A deletion of rows: the shard, and the conditions that must hold on it.
pub(crate) struct RowDeletion<'a> {
    pub(crate) shard: &'a Shard,
    pub(crate) token: EpochToken,
    pub(crate) map: &'a MapName,
    pub(crate) keys: &'a KeySet,
    pub(crate) closed: ClosedProof<'a>,
    /// The shortest pause between two batches.
    pub(crate) pause: Duration,
    /// The throttle of the migration.
    pub(crate) throttle: &'a MigrationThrottle,
    /// Called after each batch.
    pub(crate) on_batch: DeletionCallback<'a>,
}

/// The condition that each deleting transaction checks: by which record the shard is closed for the keys whose rows are
/// deleted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ClosedProof<'a> {
    /// No further condition: the migration has not ended, and the control store has recorded that this shard does not
    /// own the keys.
    Live,
    /// The shard has recorded the flip that created this map version.
    Notified(MapVersion),
    /// The migration was abandoned: the shard has recorded no flip, and no migration other than these abandoned ones
    /// moves or has moved some of the keys.
    Abandoned(&'a [MigrationId]),
    /// The rows are the surplus rows of a seeded target. The target has recorded the flip that created this map version,
    /// its register is open, and its guard of released keys refuses writes to the keys of the rows.
    Surplus(MapVersion),
    /// The rows are those of a partition that the owner of the keys does not have any more. The shard is the one to which
    /// changes go in this direction.
    Follower(Direction),
}

impl ClosedProof<'_> {
    /// Returns which timelines of the server are accepted. On a promoted standby that no operator has accepted, the
    /// agent deletes neither the rows of the old owner nor those of an abandoned migration.
    fn accepted_timelines(self) -> TimelineRule {
        match self {
            Self::Notified(_) | Self::Abandoned(_) | Self::Surplus(_) => TimelineRule::Same,
            Self::Live | Self::Follower(_) => TimelineRule::NotEarlier,
        }
    }

    /// Returns true if the rows are those of the source, from which the keys moved away, and false if they are on the
    /// target.
    fn is_at_source(self) -> bool {
        match self {
            Self::Notified(_) => true,
            Self::Follower(direction) => direction == Direction::Reverse,
            Self::Live | Self::Abandoned(_) | Self::Surplus(_) => false,
        }
    }

    /// Returns whether the deletion is the cleanup of a migration that did not complete. Such a cleanup must end: it
    /// leaves rows that another session keeps locked. The other deletions wait for such locks.
    fn must_end(self) -> bool {
        match self {
            Self::Live | Self::Abandoned(_) => true,
            Self::Notified(_) | Self::Surplus(_) | Self::Follower(_) => false,
        }
    }

    /// Returns which rows are deleted, for messages.
    pub(crate) fn rows(self) -> &'static str {
        match self {
            Self::Live | Self::Notified(_) | Self::Abandoned(_) => "moved rows",
            Self::Surplus(_) => "surplus rows",
            Self::Follower(_) => "rows of a retired partition",
        }
    }

    /// Returns whether the register of the migration and its record of the flip are as expected.
    fn accepts(self, register: Register, flipped: Option<MapVersion>) -> bool {
        match self {
            Self::Live | Self::Follower(_) => register == Register::Closed,
            Self::Notified(version) => register == Register::Closed && flipped == Some(version),
            Self::Abandoned(_) => register == Register::Closed && flipped.is_none(),
            Self::Surplus(version) => register == Register::Open && flipped == Some(version),
        }
    }
}

impl RowDeletion<'_> {
    /// Deletes the rows of one table, and returns how many.
    pub(crate) async fn delete_rows_of(&self, table: &MovingTable) -> Result<i64, StepError> {
        self.delete_by_batches(table, None).await
    }

    /// Deletes the rows of a dependent table whose parents do not exist, and returns how many.
    ///
    /// # Errors
    /// `schema.drift` if these can be rows of the shard itself.
    pub(crate) async fn delete_rows_without_parents(
        &self,
        table: &MovingTable,
        through: &ThroughTable,
    ) -> Result<i64, StepError> {
        let condition = through.lacks_parent(&table.table.sql());
        self.delete_by_batches(table, Some(&condition)).await
    }

    /// Deletes the rows with a condition, or else those that `closed` describes.
    async fn delete_by_batches(
        &self,
        table: &MovingTable,
        condition: Option<&str>,
    ) -> Result<i64, StepError> {
        let session = self.shard.replica_session("drop").await?;
        if self.closed.must_end() {
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
        let work = self.throttle.begin_work();
        let mut deleted = 0;
        let mut from = 0;
        while from <= blocks {
            let to = (from + BATCH_BLOCKS <= blocks).then_some(from + BATCH_BLOCKS);
            let range = BlockRange { from, to };
            deleted += self
                .delete_batch(&session, table, &range, condition)
                .await?;
            (self.on_batch)(table, deleted);
            from += BATCH_BLOCKS;
            if from <= blocks {
                work.finish_piece(0).await;
                tokio::time::sleep(self.pause).await;
            }
        }
        Ok(deleted)
    }

    /// Deletes the rows in a range of blocks, in one transaction.
    async fn delete_batch(
        &self,
        session: &Connected,
        table: &MovingTable,
        range: &BlockRange,
        condition: Option<&str>,
    ) -> Result<i64, StepError> {
        let what = self.what(table);
        self.begin_closed(session).await?;
        let tables = std::slice::from_ref(table);
        user_code::prove(session, tables).await?;
        if condition.is_some() {
            parents::prove(session, tables, &self.token.migration).await?;
        }
        let condition = match self.closed {
            _ if let Some(condition) = condition => condition.to_owned(),
            ClosedProof::Surplus(_) => self.surplus_predicate(session, table).await?,
            ClosedProof::Live
            | ClosedProof::Notified(_)
            | ClosedProof::Abandoned(_)
            | ClosedProof::Follower(_) => self.predicate(table),
        };
        let sql = format!(
            "delete from only {} where {} and {condition}",
            table.table.sql(),
            range.condition(),
        );
        let rows = session.execute(&sql, &[]).await.at(&what)?;
        match self.closed {
            ClosedProof::Surplus(_) => fail_point::hit("drop_surplus.batch_deleted").await?,
            ClosedProof::Live
            | ClosedProof::Notified(_)
            | ClosedProof::Abandoned(_)
            | ClosedProof::Follower(_) => {
                fail_point::hit("drop_old.batch_deleted").await?;
            }
        }
        epoch::commit(session, &what).await?;
        Ok(i64::try_from(rows).unwrap_or(i64::MAX))
    }

    /// Opens a transaction, proves the epoch in it, and checks in it that the shard is closed for the keys.
    pub(crate) async fn begin_closed(&self, session: &Connected) -> Result<(), StepError> {
        epoch::begin(session, &self.token).await?;
        let closed = self.check_closed(session).await;
        if closed.is_err() {
            epoch::rollback(session).await;
        }
        closed
    }

    /// Checks, in the caller's transaction, the database, the role of the shard in the migration, the register and the
    /// condition `closed`.
    async fn check_closed(&self, session: &Connected) -> Result<(), StepError> {
        let shard = &self.shard.name;
        let what = format!("shard {shard}: proving which database it is");
        let timelines = self.closed.accepted_timelines();
        let proof = identity::proof_sql(timelines);
        let proven = session.batch_execute(&proof).await.at(&what);
        proven.map_err(|error| match timelines {
            TimelineRule::Same => with_acceptance_hint(error, shard),
            TimelineRule::NotEarlier => error,
        })?;
        let what = format!("shard {shard}: reading the register");
        let shard_state = register::read(session, &self.token, &what).await?;
        if shard_state.is_source != self.closed.is_at_source() {
            return Err(register::wrong_role_error(
                shard,
                &self.token,
                shard_state.is_source,
            ));
        }
        if !self
            .closed
            .accepts(shard_state.register, shard_state.flipped)
        {
            let expected = match self.closed {
                ClosedProof::Surplus(_) => "open",
                ClosedProof::Live
                | ClosedProof::Notified(_)
                | ClosedProof::Abandoned(_)
                | ClosedProof::Follower(_) => "closed",
            };
            return Err(StepError::refused(
                StepCode::DropOpen,
                format!(
                    "shard {shard}: its register is not {expected}, or its record of the flip is not the expected one; nothing is deleted"
                ),
                "find out which session changed the register; the shard still has the rows",
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
                StepCode::DropOthers,
                format!(
                    "shard {shard}: migration {other} also moves some of the keys {}; nothing is deleted",
                    self.keys
                ),
                "the shard still has the rows; run `shardwright cleanup` again when that migration has ended",
            )),
        }
    }

    /// Returns the predicate of a table's surplus rows, in the caller's transaction: the shard has released their keys,
    /// and the keys do not move.
    ///
    /// The shard's record stays locked until the transaction ends. So another migration cannot return keys to the shard,
    /// and copy their rows, between this query and the deletion.
    async fn surplus_predicate(
        &self,
        session: &Connected,
        table: &MovingTable,
    ) -> Result<String, StepError> {
        let what = self.what(table);
        let row = session
            .query_opt(
                "select keys from shardwright.away where map = $1 for share",
                &[&self.map.0],
            )
            .await
            .at(&what)?;
        let released = row
            .map(|row| released_keys::parse_keys(row.get(0), &what))
            .transpose()?;
        match released {
            Some(released) if !released.overlaps(self.keys) => Ok(format!(
                "not {} and {}",
                self.predicate(table),
                table.predicate(&released, "")
            )),
            released => Err(StepError::refused(
                StepCode::DropOpen,
                match released {
                    Some(_) => format!(
                        "{what}: the released keys of map {} contain some of the moving keys {}; nothing is deleted",
                        self.map, self.keys
                    ),
                    None => format!(
                        "{what}: the shard has no record of released keys of map {}, so no guard refuses writes to surplus rows; nothing is deleted",
                        self.map
                    ),
                },
                "find out which session changed schema shardwright; the shard still has the rows",
            )),
        }
    }

    /// Returns the predicate of a table's moving rows, on a target also of rows whose parents are not copied yet.
    pub(crate) fn predicate(&self, table: &MovingTable) -> String {
        let moving = match self.closed.is_at_source() {
            true => table.predicate(self.keys, ""),
            false => table.copy_predicate(self.keys, "", &self.token.migration),
        };
        if !table.retired {
            return moving;
        }
        // Without the guard's own trigger, a table with the name of a retired partition is another one.
        format!(
            "{moving} and exists (select from pg_catalog.pg_trigger t
                                  where t.tgrelid = pg_catalog.to_regclass({}) and t.tgname = {})",
            quote_literal(&table.table.sql()),
            quote_literal(&self.token.migration.trigger("truncate")),
        )
    }

    /// Returns the description of the action, for messages.
    pub(crate) fn what(&self, table: &MovingTable) -> String {
        format!(
            "shard {}: deleting {} of {}",
            self.shard.name,
            self.closed.rows(),
            table.table
        )
    }
}

/// Adds to the error of another database that an operator can accept a promoted standby.
fn with_acceptance_hint(error: StepError, shard: &str) -> StepError {
    let StepError::Failed(mut failure) = error else {
        return error;
    };
    if failure.has_code(StepCode::ShardOtherDatabase) {
        failure.hint = Some(format!(
            "after a failover, `shardwright reconcile --accept {shard}` states that this is the right server; otherwise correct the connection string"
        ));
    }
    StepError::Failed(failure)
}
