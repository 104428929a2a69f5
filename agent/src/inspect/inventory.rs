//! Everything of ours on one shard, in one read-only snapshot; nothing is changed.
//!
//! Ours is what has our name and our form: a logical slot of pgoutput in this database, a publication of our
//! role, a trigger that calls a function in schema `shardwright`, a schema that holds our table of migrations.

use connect::Connected;
use plans::fleet::ShardRef;
use plans::id::{MapName, MigrationId};
use plans::inspection::inventory::{
    About, Inventory, InventoryTask, Object, ObjectKind, ObservedMove, ReleasedKeys, ReleasedMove,
    Similar, Whose,
};
use plans::key_set::KeySet;
use plans::names::{
    LOAD_PREFIX, REPLICATION_PREFIX, SCHEMA, TRIGGER_PREFIX, released_keys_trigger,
};
use plans::sql::quote_ident;
use tokio_postgres::Row;

use crate::error::{StepError, WithIntent};
use crate::shard::identity;

mod objects;

pub(super) async fn run(task: &InventoryTask) -> Result<Inventory, StepError> {
    // Whatever database answers is reported; the controller compares it with the one that was registered.
    let anything = ShardRef {
        identity: None,
        ..task.shard.clone()
    };
    let client = super::session(&anything, "inventory").await?;
    let shard = task.shard.name.as_str();
    let what = format!("shard {shard}: looking for what is ours");
    let server = identity::read(&client).await.at(&what)?;
    let flushed = flushed(&client).await.at(&what)?;
    // A sequence's value belongs to no snapshot; the rest is read as one moment saw it.
    client
        .batch_execute("begin isolation level repeatable read read only")
        .await
        .at(&what)?;
    let (objects, similar) = objects::find(&client).await.at(&what)?;
    let mut inventory = Inventory {
        shard: task.shard.name.clone(),
        server,
        flushed,
        objects,
        similar,
        moves: Vec::new(),
        released_keys: Vec::new(),
        released_moves: Vec::new(),
    };
    if is_ours(&client).await.at(&what)? {
        inventory.moves = moves(&client, &what).await?;
        inventory.released_keys = away(&client, &what).await?;
        inventory.released_moves = given(&client, &what).await?;
    }
    let _ = client.batch_execute("rollback").await;
    Ok(inventory)
}

/// The end of the log that is on the server's disk, bytes.
pub(super) async fn flushed(client: &Connected) -> Result<u64, tokio_postgres::Error> {
    let sql = "select (pg_catalog.pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint";
    let bytes: i64 = client.query_one(sql, &[]).await?.get(0);
    Ok(u64::try_from(bytes).unwrap_or(0))
}

/// True when schema `shardwright` is there and holds our table of migrations with all that is read here.
async fn is_ours(client: &Connected) -> Result<bool, tokio_postgres::Error> {
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

async fn moves(client: &Connected, what: &str) -> Result<Vec<ObservedMove>, StepError> {
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
        .at(what)?;
    let mut moves = Vec::with_capacity(rows.len());
    for row in rows {
        let migration = MigrationId(row.get(0));
        let register = match row.get(9) {
            true => Some(register(client, &migration).await.at(what)?),
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
            guards: guards(&row, 10),
            owns: row.get::<_, Option<bool>>(11).unwrap_or(false),
            copied: row.get(7),
            about: about.and_then(|about| serde_json::from_value::<About>(about).ok()),
            migration,
        });
    }
    Ok(moves)
}

async fn register(
    client: &Connected,
    migration: &MigrationId,
) -> Result<i64, tokio_postgres::Error> {
    let name = quote_ident(&migration.register());
    let sql = format!("select last_value from {SCHEMA}.{name}");
    Ok(client.query_one(&sql, &[]).await?.get(0))
}

fn guards(row: &Row, index: usize) -> u32 {
    u32::try_from(row.get::<_, i64>(index)).unwrap_or(u32::MAX)
}

async fn away(client: &Connected, what: &str) -> Result<Vec<ReleasedKeys>, StepError> {
    let rows = client
        .query(
            "select map, keys, map_version from shardwright.away order by map",
            &[],
        )
        .await
        .at(what)?;
    let mut away = Vec::with_capacity(rows.len());
    for row in rows {
        let map = MapName(row.get(0));
        let stem = released_keys_trigger(&map, "");
        let standing = client
            .query_one(
                "select count(*) from pg_catalog.pg_trigger t where not t.tgisinternal and t.tgenabled = 'A'
                 and pg_catalog.starts_with(t.tgname::text, $1)",
                &[&stem],
            )
            .await
            .at(what)?;
        away.push(ReleasedKeys {
            keys: keys(&row, 1, what)?,
            version: row.get(2),
            guards: guards(&standing, 0),
            map,
        });
    }
    Ok(away)
}

async fn given(client: &Connected, what: &str) -> Result<Vec<ReleasedMove>, StepError> {
    let rows = client
        .query(
            "select map, version, keys, shard, migration from shardwright.given order by map, version",
            &[],
        )
        .await
        .at(what)?;
    rows.iter()
        .map(|row| {
            Ok(ReleasedMove {
                map: MapName(row.get(0)),
                version: row.get(1),
                keys: keys(row, 2, what)?,
                to: plans::id::ShardName(row.get(3)),
                migration: MigrationId(row.get(4)),
            })
        })
        .collect()
}

fn keys(row: &Row, index: usize, what: &str) -> Result<KeySet, StepError> {
    crate::shard::released_keys::parse_keys(row.get(index), what)
}
