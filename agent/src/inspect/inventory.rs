//! Lists all objects of Shardwright on one shard, in one read-only snapshot.
//!
//! An object belongs to Shardwright if both its name and its form match: a logical slot of pgoutput in this database, a
//! publication of some tables that the agent's role owns, a trigger that calls a function in the schema `shardwright`,
//! or a schema that contains Shardwright's table of migrations.

use connect::Connected;
use plans::fleet::ShardRef;
use plans::id::{MapName, MigrationId};
use plans::inspection::inventory::{
    About, DatabaseFigures, Inventory, InventoryTask, Object, ObjectKind, ObjectOwner,
    ObservedMove, ReleasedKeys, ReleasedMove, Similar,
};
use plans::key_set::KeySet;
use plans::names::{
    LOAD_PREFIX, REPLICATION_PREFIX, SCHEMA, TRIGGER_PREFIX, released_keys_trigger,
};
use plans::sql::quote_ident;
use tokio_postgres::Row;

use crate::error::{StepError, WithIntent};
use crate::shard::identity;

mod activity;
mod objects;

pub(super) async fn run(task: &InventoryTask) -> Result<Inventory, StepError> {
    // The session accepts any database. The controller compares the reported identity with the registered one.
    let any_database = ShardRef {
        identity: None,
        ..task.shard.clone()
    };
    let client = super::session(&any_database, "inventory").await?;
    let shard = task.shard.name.as_str();
    let action = format!("shard {shard}: listing the objects of Shardwright");
    let server = identity::read(&client).await.at(&action)?;
    let flushed = flushed_bytes(&client).await.at(&action)?;
    // The size of a database with very many files can take too long; everything else is read without it.
    let figures = figures(&client).await.ok();
    // Its values are for people; a probe succeeds without them.
    let activity = activity::read(&client).await.ok().map(Box::new);
    // The value of a sequence is not part of a snapshot; everything else is read in one.
    client
        .batch_execute("begin isolation level repeatable read read only")
        .await
        .at(&action)?;
    let (objects, similar) = objects::find_objects(&client).await.at(&action)?;
    let mut inventory = Inventory {
        shard: task.shard.name.clone(),
        server,
        flushed,
        figures,
        activity,
        objects,
        similar,
        moves: Vec::new(),
        released_keys: Vec::new(),
        released_moves: Vec::new(),
    };
    if has_sidecar_tables(&client).await.at(&action)? {
        inventory.moves = read_migrations(&client, &action).await?;
        inventory.released_keys = read_released_keys(&client, &action).await?;
        inventory.released_moves = read_released_moves(&client, &action).await?;
    }
    let _ = client.batch_execute("rollback").await;
    Ok(inventory)
}

/// Returns the version and the size of the database.
async fn figures(client: &Connected) -> Result<DatabaseFigures, tokio_postgres::Error> {
    let sql = "select pg_catalog.split_part(pg_catalog.current_setting('server_version'), ' ', 1),
                      pg_catalog.pg_database_size(pg_catalog.current_database())";
    let row = client.query_one(sql, &[]).await?;
    Ok(DatabaseFigures {
        version: row.get(0),
        bytes: u64::try_from(row.get::<_, i64>(1)).unwrap_or_default(),
    })
}

/// Returns the position up to which the server has flushed its log, in bytes; on a standby, up to which it has replayed
/// the log.
pub(super) async fn flushed_bytes(client: &Connected) -> Result<u64, tokio_postgres::Error> {
    let sql = "select (case when pg_catalog.pg_is_in_recovery() then pg_catalog.pg_last_wal_replay_lsn()
                            else pg_catalog.pg_current_wal_flush_lsn() end - '0/0'::pg_lsn)::bigint";
    let bytes: i64 = client.query_one(sql, &[]).await?.get(0);
    Ok(u64::try_from(bytes).unwrap_or(0))
}

/// Returns true if the schema `shardwright` contains the tables and columns that this module reads.
async fn has_sidecar_tables(client: &Connected) -> Result<bool, tokio_postgres::Error> {
    let row = client
        .query_one(
            "select count(*) = 2 from pg_catalog.pg_attribute
             where not attisdropped
               and (attrelid, attname) in ((pg_catalog.to_regclass('shardwright.move'), 'owns'),
                                           (pg_catalog.to_regclass('shardwright.given'), 'shard'))",
            &[],
        )
        .await?;
    Ok(row.get(0))
}

async fn read_migrations(client: &Connected, action: &str) -> Result<Vec<ObservedMove>, StepError> {
    let rows = client
        .query(
            "select m.migration, m.role, m.epoch, m.attempt, m.map, m.map_version, m.flipped,
                    m.loaded, m.about,
                    pg_catalog.to_regclass(pg_catalog.format('%I.%I', $1::text, 'own_' || m.migration)) is not null,
                    (select count(*) from pg_catalog.pg_trigger t
                     where not t.tgisinternal and t.tgenabled = 'A'
                       and pg_catalog.starts_with(t.tgname::text, $2 || m.migration || '_')),
                    m.owns
             from shardwright.move m order by m.migration",
            &[&SCHEMA, &TRIGGER_PREFIX],
        )
        .await
        .at(action)?;
    let mut moves = Vec::with_capacity(rows.len());
    for row in rows {
        let migration = MigrationId(row.get(0));
        let register = match row.get(9) {
            true => Some(read_register(client, &migration).await.at(action)?),
            false => None,
        };
        let about: Option<serde_json::Value> = row.get(8);
        moves.push(ObservedMove {
            role: row.get(1),
            epoch: row.get(2),
            attempt: row.get(3),
            map: MapName(row.get(4)),
            map_version: row.get(5),
            flipped: row.get(6),
            register,
            guards: guard_count(&row, 10),
            owns: row.get::<_, Option<bool>>(11).unwrap_or(false),
            copied: row.get(7),
            about: about.and_then(|about| serde_json::from_value::<About>(about).ok()),
            migration,
        });
    }
    Ok(moves)
}

async fn read_register(
    client: &Connected,
    migration: &MigrationId,
) -> Result<i64, tokio_postgres::Error> {
    let name = quote_ident(&migration.register());
    let sql = format!("select last_value from {SCHEMA}.{name}");
    Ok(client.query_one(&sql, &[]).await?.get(0))
}

fn guard_count(row: &Row, index: usize) -> u32 {
    u32::try_from(row.get::<_, i64>(index)).unwrap_or(u32::MAX)
}

async fn read_released_keys(
    client: &Connected,
    action: &str,
) -> Result<Vec<ReleasedKeys>, StepError> {
    let rows = client
        .query(
            "select map, keys, map_version from shardwright.away order by map",
            &[],
        )
        .await
        .at(action)?;
    let mut released_keys = Vec::with_capacity(rows.len());
    for row in rows {
        let map = MapName(row.get(0));
        let trigger_prefix = released_keys_trigger(&map, "");
        let enabled_guards = client
            .query_one(
                "select count(*) from pg_catalog.pg_trigger t where not t.tgisinternal and t.tgenabled = 'A'
                 and pg_catalog.starts_with(t.tgname::text, $1)",
                &[&trigger_prefix],
            )
            .await
            .at(action)?;
        released_keys.push(ReleasedKeys {
            keys: parse_keys(&row, 1, action)?,
            version: row.get(2),
            guards: guard_count(&enabled_guards, 0),
            map,
        });
    }
    Ok(released_keys)
}

async fn read_released_moves(
    client: &Connected,
    action: &str,
) -> Result<Vec<ReleasedMove>, StepError> {
    let rows = client
        .query(
            "select map, version, keys, shard, migration from shardwright.given order by map, version",
            &[],
        )
        .await
        .at(action)?;
    rows.iter()
        .map(|row| {
            Ok(ReleasedMove {
                map: MapName(row.get(0)),
                version: row.get(1),
                keys: parse_keys(row, 2, action)?,
                to: plans::id::ShardName(row.get(3)),
                migration: MigrationId(row.get(4)),
            })
        })
        .collect()
}

fn parse_keys(row: &Row, index: usize, action: &str) -> Result<KeySet, StepError> {
    crate::shard::released_keys::parse_keys(row.get(index), action)
}
