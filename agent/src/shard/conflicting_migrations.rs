//! Other migrations on a shard: it finds those that move some of the same keys, and records that another one can use what
//! they created.

use connect::Connected;
use plans::id::{MapName, MigrationId};
use plans::inspection::inventory::About;
use plans::key_set::KeySet;
use plans::table::{MovingTable, TableKey};
use serde_json::Value;
use tokio_postgres::error::SqlState;

use super::created::{self, UnsharedObjects};
use super::epoch::{self, EpochToken};
use crate::error::{StepError, WithIntent};

/// The key of the lock on shared objects.
pub(crate) const SHARED_OBJECTS: &str = "pg_catalog.hashtextextended('shardwright:create', 0)";

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
    let others = rows
        .iter()
        .map(|row| (MigrationId(row.get(0)), about_of(row.get(1))));
    // A record that cannot be parsed may be about the same keys.
    let mut same = others.filter(|(id, about)| {
        let overlaps = |about: &About| about.keys.overlaps(keys);
        !except.contains(id) && about.as_ref().is_none_or(overlaps)
    });
    Ok(same.next().map(|(id, _)| id))
}

/// Records that this migration can use what other migrations created on this shard. Their cleanup then deletes their
/// rows, and does not drop the tables.
///
/// A migration of other whole tables keeps what depends on its tables and schemas: this one cannot use it.
pub(crate) async fn share_objects_of_others(
    client: &Connected,
    token: &EpochToken,
    tables: &[MovingTable],
) -> Result<(), StepError> {
    let what = format!(
        "shard {}: recording that this migration uses what others created",
        client.name()
    );
    let read = "select migration, about from shardwright.move m
                where migration <> $1 and exists (select from shardwright.created c where c.migration = m.migration)";
    let rows = client.query(read, &[&token.migration.0]).await.at(&what)?;
    let mut shares = Vec::new();
    for row in &rows {
        let about = about_of(row.get(1));
        let others = about.filter(|about| about.moves_other_whole_tables(tables));
        let own = others.map(|about| about.tables).unwrap_or_default();
        let moving = || own.iter().filter(|table| !table.is_reference());
        shares.push(created::share_sql(&UnsharedObjects {
            migration: row.get(0),
            tables: moving().map(|table| table.top().sql()).collect(),
            schemas: moving().filter_map(|table| schema_of(&table.key)).collect(),
        }));
    }
    if shares.is_empty() {
        return Ok(());
    }
    epoch::execute(client, token, &shares.join(";\n"))
        .await
        .at(what)
}

/// Waits until no other migration creates or drops shared objects on the shard: two moves of whole tables to one shard could
/// create the same object, or one could drop what the other one is about to use. The lock ends with the session.
pub(crate) async fn lock_shared_objects(client: &Connected) -> Result<(), StepError> {
    let lock = format!("select pg_catalog.pg_advisory_lock({SHARED_OBJECTS})");
    let locked = client.batch_execute(&lock).await;
    locked.at(format_args!(
        "shard {}: waiting until no other migration creates objects",
        client.name()
    ))
}

/// Returns the schema that is the key of a table.
fn schema_of(key: &TableKey) -> Option<&str> {
    if let TableKey::Schema(name) = key {
        return Some(name);
    }
    None
}

/// Returns the record of a move; `None` if it is missing or cannot be parsed.
pub(crate) fn about_of(recorded: Option<Value>) -> Option<About> {
    recorded.and_then(|about| serde_json::from_value(about).ok())
}
