//! The storage that a partition had on the owner of the keys when the agent adopted it after a flip.
//!
//! A rollback is refused if a table was rewritten since its rows were compared, or since the flip. For such a partition
//! there is neither: its rows were copied when it was published.

use std::collections::BTreeMap;

use connect::Connected;
use plans::names::Direction;

use super::epoch::EpochToken;
use crate::error::{StepError, WithIntent};

/// Records the storage of partitions, as [`crate::postgres::catalog::storage`] returns it, in the caller's transaction,
/// which copies their rows.
pub(crate) async fn record(
    client: &Connected,
    token: &EpochToken,
    direction: Direction,
    storage: &BTreeMap<String, String>,
) -> Result<(), StepError> {
    let shard = client.name();
    for (relation, storage) in storage {
        client
            .execute(
                "insert into shardwright.adopted_storage (migration, direction, relation, storage) values ($1, $2, $3, $4)
                 on conflict (migration, direction, relation) do update set storage = excluded.storage",
                &[&token.migration.0, &direction.to_string(), relation, storage],
            )
            .await
            .at(format_args!(
                "shard {shard}: recording the storage of {relation}"
            ))?;
    }
    Ok(())
}

/// Reads the recorded storage of the partitions that were adopted while changes went in `direction`.
pub(crate) async fn read(
    client: &Connected,
    token: &EpochToken,
    direction: Direction,
) -> Result<BTreeMap<String, String>, StepError> {
    let shard = client.name();
    let rows = client
        .query(
            "select relation, storage from shardwright.adopted_storage where migration = $1 and direction = $2",
            &[&token.migration.0, &direction.to_string()],
        )
        .await
        .at(format_args!(
            "shard {shard}: reading the storage of adopted partitions"
        ))?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}
