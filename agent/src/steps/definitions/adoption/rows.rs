//! Copies the rows of a new partition in the transaction that publishes it.
//!
//! After a flip only the stream brings rows to the other shard, and it sends what was committed after the partition had
//! been published. The transaction that publishes it excludes its writers, so it sees every row that was committed
//! before.
//!
//! Order:
//! 1. The owner: lock the partition, add it to the publication.
//! 2. The other shard: remove moving rows that an interrupted attempt has left, copy the rows, commit.
//! 3. The owner: commit. If this fails, the publication lacks the partition, and the next attempt begins with 1.

use std::time::Duration;

use connect::Connected;
use plans::failure::StepCode;
use plans::table::MovingTable;

use super::Adoption;
use crate::error::{StepError, WithIntent};
use crate::postgres::{catalog, copy_stream};
use crate::shard::publication::{self, AddedTable};
use crate::shard::{adopted_storage, epoch, register, user_code};

/// Maximum size of a partition whose rows are copied while its writers wait, with its TOAST table: 16 MiB.
const MAX_BYTES: i64 = 16 << 20;
/// The time limit for the transaction during which they wait.
const LIMIT: Duration = Duration::from_secs(5);
/// The same limit on the server, in case the agent does not answer any more.
const SERVER_LIMITS: &str =
    "set local statement_timeout = '5s'; set local idle_in_transaction_session_timeout = '5s'";
/// How long the other shard waits for a lock meanwhile.
const LOCK_TIMEOUT: &str = "set local lock_timeout = '300ms'";

impl Adoption<'_> {
    /// Adds the partition to the publication, and copies its moving rows to the other shard in the same transaction.
    ///
    /// # Errors
    /// `schema.drift` if the partition is too large for this; those of [`publication::begin_to_add_table`].
    pub(super) async fn publish_with_rows(
        &self,
        table: &MovingTable,
        added: &AddedTable<'_>,
    ) -> Result<(), StepError> {
        let (owner, other) = self.context.owner_and_other(self.way.direction)?;
        let mut owner = owner.lookup_session("adopt").await?;
        refuse_large(&owner, table).await?;
        let mut other = other.replica_session("adopt").await?;
        let (token, direction) = (self.token(), self.way.direction);
        let is_published =
            publication::begin_to_add_table(&owner, &token, direction, added).await?;
        let what = format!("shard {}: publishing {}", owner.name(), table.table);
        // An earlier attempt has committed 3, so the stream has sent changes of the partition since.
        if !is_published {
            let copied = tokio::time::timeout(LIMIT, self.copy_rows(table, &mut owner, &mut other));
            copied.await.unwrap_or_else(|_| {
                Err(StepError::not_yet(
                    StepCode::SchemaChanged,
                    format!("{what}: its rows were not copied within {LIMIT:?}; its writers have waited so long"),
                ))
            })?;
            fail_point::hit("adoption.copied").await?;
        }
        epoch::commit(&owner, &what).await
    }

    async fn copy_rows(
        &self,
        table: &MovingTable,
        owner: &mut Connected,
        other: &mut Connected,
    ) -> Result<(), StepError> {
        let one = std::slice::from_ref(table);
        let predicate = self.context.predicate(table, "t");
        let what = format!("shard {}: copying {}", other.name(), table.table);
        owner.batch_execute(SERVER_LIMITS).await.at(&what)?;
        // Rows may have come between the first look and the lock.
        refuse_large(owner, table).await?;
        user_code::prove(owner, one).await?;
        epoch::begin_with_statements(other, &self.token(), LOCK_TIMEOUT).await?;
        register::prove_not_owner(other, &self.token(), self.way.direction).await?;
        // The commit of an earlier attempt may still be on its way: its rows must be visible to the statement that
        // removes them.
        let name = table.table.sql();
        let lock = format!("lock table only {name} in share row exclusive mode");
        other.batch_execute(&lock).await.at(&what)?;
        user_code::prove(other, one).await?;
        let remove = format!("delete from only {name} t where {predicate}");
        other.batch_execute(&remove).await.at(&what)?;
        copy_stream::copy_rows(owner, other, table, &predicate, |_, _| async {}).await?;
        let storage = catalog::storage(owner, one.iter()).await?;
        adopted_storage::record(other, &self.token(), self.way.direction, &storage).await?;
        epoch::commit(other, &what).await
    }
}

/// Refuses a partition whose rows take too long to copy while its writers wait.
async fn refuse_large(owner: &Connected, table: &MovingTable) -> Result<(), StepError> {
    let shard = owner.name();
    let read = "select pg_catalog.pg_table_size(pg_catalog.to_regclass($1))";
    let row = owner.query_one(read, &[&table.table.sql()]).await;
    let what = format!("shard {shard}: measuring {}", table.table);
    let bytes: Option<i64> = row.at(what)?.get(0);
    if bytes.is_none_or(|bytes| bytes <= MAX_BYTES) {
        return Ok(());
    }
    Err(StepError::refused(
        StepCode::SchemaDrift,
        format!(
            "shard {shard}: the new table {} has {} MiB; after the flip the agent adopts partitions and tables of at most {} MiB, because their writers wait while it copies the rows",
            table.table,
            bytes.unwrap_or_default() >> 20,
            MAX_BYTES >> 20
        ),
        "`finish` the migration; a rollback or another cutover is possible only without this table",
    ))
}
