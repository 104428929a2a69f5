//! Other migrations on a shard: it finds those that move some of the same keys, and ends their sole use of the tables
//! that they created.

use connect::Connected;
use plans::id::{MapName, MigrationId};
use plans::inspection::inventory::About;
use plans::key_set::KeySet;
use plans::sql::quote_literal;
use tokio_postgres::error::SqlState;

use super::created;
use super::epoch::{self, EpochToken};
use crate::error::{StepError, WithIntent};

/// Returns another migration of this map that moves some of these keys, whether this shard is its source or its target.
/// It ignores the migrations in `except`.
///
/// A migration that has not recorded its move has done nothing here yet: it records its move first.
pub(crate) async fn find_with_same_keys(
    client: &Connected,
    own: &MigrationId,
    map: &MapName,
    keys: &KeySet,
    except: &[MigrationId],
) -> Result<Option<MigrationId>, StepError> {
    let shard = client.name();
    let found = client
        .query(
            "select migration, about from shardwright.move
             where migration <> $1 and map = $2 and about is not null order by migration",
            &[&own.0, &map.0],
        )
        .await;
    let is_schema_missing =
        |error: &tokio_postgres::Error| error.code() == Some(&SqlState::UNDEFINED_TABLE);
    let rows = match found {
        // The last migration has ended since the caller's check, and has dropped the schema.
        Err(error) if is_schema_missing(&error) => return Ok(None),
        found => found.at(format_args!(
            "shard {shard}: searching for other migrations"
        ))?,
    };
    let others = rows.iter().map(|row| {
        let about = serde_json::from_value::<About>(row.get(1));
        (MigrationId(row.get(0)), about.ok())
    });
    // A record that cannot be parsed may be about the same keys.
    let mut same = others.filter(|(id, about)| {
        let overlaps = |about: &About| about.keys.overlaps(keys);
        !except.contains(id) && about.as_ref().is_none_or(overlaps)
    });
    Ok(same.next().map(|(id, _)| id))
}

/// Deletes the records of the tables that other migrations created, because the tables now serve this migration too.
/// The cleanup of the other migrations then deletes their rows, and does not drop the tables.
pub(crate) async fn keep_tables_of_others(
    client: &Connected,
    token: &EpochToken,
) -> Result<(), StepError> {
    let shard = client.name();
    let of_others = format!("migration <> {}", quote_literal(token.migration.as_str()));
    let sql = created::delete_records_sql(&of_others);
    epoch::execute(client, token, &sql).await.at(format_args!(
        "shard {shard}: keeping the tables that other migrations created"
    ))
}
