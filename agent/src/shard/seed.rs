//! The record of a seeding, in `shardwright.seed` on the source.
//!
//! The agent writes the record after the clone guard and the bound register. The standby receives all of it in this
//! order, so a standby that has the record has the others too. After the promotion the copy of the record on the target
//! proves that the target refused writes from its first moment: its switch point is behind the record.

use connect::Connected;
use plans::sql::quote_literal;
use uuid::Uuid;

use super::epoch::{self, EpochToken};
use crate::error::{StepError, WithIntent};

/// The record of a seeding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeedRecord {
    /// The name of the target.
    pub(crate) target: String,
    /// A random id. The database of the target receives it after the promotion.
    pub(crate) id: Uuid,
    /// The timeline of the source.
    pub(crate) timeline: i32,
    /// The physical slot on the source from which the standby streams, if it uses one.
    pub(crate) slot: Option<String>,
    /// True if an agent may have requested the promotion. It can take effect at any later time.
    pub(crate) requested: bool,
}

/// Reads the record of the migration, on the source, the standby or the promoted target. Returns `None` if there is none
/// yet.
pub(crate) async fn read(
    client: &Connected,
    token: &EpochToken,
) -> Result<Option<SeedRecord>, StepError> {
    let what = format!("shard {}: reading the record of the seeding", client.name());
    let table = "select pg_catalog.to_regclass('shardwright.seed') is not null";
    let exists: bool = client.query_one(table, &[]).await.at(&what)?.get(0);
    if !exists {
        return Ok(None);
    }
    let row = client
        .query_opt(
            "select target, id, timeline, slot, requested from shardwright.seed where migration = $1",
            &[&token.migration.0],
        )
        .await
        .at(&what)?;
    Ok(row.map(|row| SeedRecord {
        target: row.get(0),
        id: row.get(1),
        timeline: row.get(2),
        slot: row.get(3),
        requested: row.get(4),
    }))
}

/// Returns another migration on this source that seeds the target of this name.
pub(crate) async fn other_migration(
    client: &Connected,
    token: &EpochToken,
    target: &str,
) -> Result<Option<String>, StepError> {
    let row = client
        .query_opt(
            "select migration from shardwright.seed where target = $1 and migration <> $2 limit 1",
            &[&target, &token.migration.0],
        )
        .await
        .at(format_args!(
            "shard {}: reading the records of seedings",
            client.name()
        ))?;
    Ok(row.map(|row| row.get(0)))
}

/// Writes the record on the source, in a transaction that proves the epoch.
pub(crate) async fn write(
    client: &Connected,
    token: &EpochToken,
    record: &SeedRecord,
) -> Result<(), StepError> {
    let slot = record.slot.as_deref().map(quote_literal);
    let sql = format!(
        "delete from shardwright.seed where migration = {migration};
         insert into shardwright.seed (migration, target, id, timeline, slot)
         values ({migration}, {target}, '{id}', {timeline}, {slot})",
        migration = quote_literal(token.migration.as_str()),
        target = quote_literal(&record.target),
        id = record.id,
        timeline = record.timeline,
        slot = slot.as_deref().unwrap_or("null"),
    );
    execute(client, token, &sql).await
}

/// Records on the source whether the promotion may have been requested.
pub(crate) async fn set_requested(
    client: &Connected,
    token: &EpochToken,
    requested: bool,
) -> Result<(), StepError> {
    let migration = quote_literal(token.migration.as_str());
    let sql = format!(
        "update shardwright.seed set requested = {requested} where migration = {migration}"
    );
    execute(client, token, &sql).await
}

/// Deletes the record on the source. The promotion must not have been requested.
pub(crate) async fn delete(client: &Connected, token: &EpochToken) -> Result<(), StepError> {
    let migration = quote_literal(token.migration.as_str());
    let sql =
        format!("delete from shardwright.seed where migration = {migration} and not requested");
    execute(client, token, &sql).await
}

async fn execute(client: &Connected, token: &EpochToken, sql: &str) -> Result<(), StepError> {
    let executed = epoch::execute(client, token, sql).await;
    executed.at(format_args!(
        "shard {}: recording the seeding",
        client.name()
    ))
}
