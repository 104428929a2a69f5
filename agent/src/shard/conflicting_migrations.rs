//! Other migrations that are known on a shard: those that are about the same keys, and the word that somebody came.

use connect::Connected;
use plans::id::{MapName, MigrationId};
use plans::inspection::inventory::About;
use plans::key_set::KeySet;
use plans::sql::quote_literal;
use tokio_postgres::error::SqlState;

use super::created;
use super::epoch::{self, EpochToken};
use crate::error::{StepError, WithIntent};

/// Another migration of this map with some of these keys, whatever its part here; `besides` do not count.
///
/// One that does not say what it is about has done nothing here yet: it says so before anything else.
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
    let gone = |error: &tokio_postgres::Error| error.code() == Some(&SqlState::UNDEFINED_TABLE);
    let rows = match found {
        // The last one that was there has ended since somebody looked, and has taken our schema along.
        Err(error) if gone(&error) => return Ok(None),
        found => found.at(format_args!("shard {shard}: looking for other migrations"))?,
    };
    let others = rows.iter().map(|row| {
        let about = serde_json::from_value::<About>(row.get(1));
        (MigrationId(row.get(0)), about.ok())
    });
    // What cannot be read may be about the same keys.
    let mut same = others.filter(|(id, about)| {
        let overlaps = |about: &About| about.keys.overlaps(keys);
        !except.contains(id) && about.as_ref().is_none_or(overlaps)
    });
    Ok(same.next().map(|(id, _)| id))
}

/// The tables that others created here are not theirs alone from now on: what they brought is taken back row by row.
pub(crate) async fn keep_tables_of_others(
    client: &Connected,
    token: &EpochToken,
) -> Result<(), StepError> {
    let shard = client.name();
    let of_others = format!("migration <> {}", quote_literal(token.migration.as_str()));
    let sql = created::delete_records_sql(&of_others);
    epoch::execute(client, token, &sql).await.at(format_args!(
        "shard {shard}: keeping the tables that others created"
    ))
}
