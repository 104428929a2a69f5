//! Tables on shards that agents of earlier releases created: this version adds what it needs, and goes on.

use std::path::{Path, PathBuf};

use connect::Connected;
use plans::id::{Epoch, MapVersion, MigrationId};

use super::shard::Shard as Database;
use crate::shard::epoch::{self, EpochToken};
use crate::shard::sidecar_schema;

/// The tables of each release: `tests/compat/RELEASE/shard.sql`.
fn releases() -> Vec<PathBuf> {
    let compat = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/compat");
    let entries = std::fs::read_dir(compat).expect("read");
    let files = entries.map(|entry| entry.expect("read").path().join("shard.sql"));
    let mut found: Vec<PathBuf> = files.filter(|file| file.exists()).collect();
    found.sort();
    assert!(!found.is_empty(), "no release was recorded");
    found
}

/// A database with the tables of a release.
async fn restored(release: &Path, number: usize, name: &str) -> (Database, Connected) {
    let database = Database::new(&format!("{name}_{number}")).await;
    let session = database.session().await;
    let sql = std::fs::read_to_string(release).expect("read");
    session.batch_execute(&sql).await.expect("created");
    (database, session)
}

/// Each column and each constraint of schema shardwright, by name.
async fn definitions(session: &Connected) -> Vec<String> {
    let sql = "
        select pg_catalog.format('column %s.%s %s %s %s %s', c.relname, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
                                 a.attnotnull, a.attidentity, pg_catalog.pg_get_expr(d.adbin, d.adrelid))
          from pg_catalog.pg_class c
          join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
          left join pg_catalog.pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
         where c.relnamespace = 'shardwright'::pg_catalog.regnamespace and c.relkind = 'r'
        union all
        select pg_catalog.format('constraint of %s: %s', conrelid::pg_catalog.regclass, pg_catalog.pg_get_constraintdef(oid))
          from pg_catalog.pg_constraint
         where connamespace = 'shardwright'::pg_catalog.regnamespace
         order by 1";
    let rows = session.query(sql, &[]).await.expect("read");
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn tables_of_every_release_become_those_of_this_version() {
    let database = Database::new("older_fresh").await;
    let fresh = database.session().await;
    sidecar_schema::create(&fresh).await.expect("created");
    let expected = definitions(&fresh).await;
    for (number, release) in releases().iter().enumerate() {
        let (_database, session) = restored(release, number, "older").await;
        sidecar_schema::create(&session).await.expect("created");
        assert_eq!(definitions(&session).await, expected, "{release:?}");
    }
}

#[tokio::test]
async fn a_migration_that_a_release_began_is_taken_over_and_removed() {
    for (number, release) in releases().iter().enumerate() {
        let (_database, session) = restored(release, number, "older_move").await;
        let enrol = "insert into shardwright.move (migration, role, epoch, map, map_version) values ('m1', 'target', 1, 'm', 1)";
        session.batch_execute(enrol).await.expect("enrolled");
        let token = EpochToken {
            migration: MigrationId::from("m1"),
            epoch: Epoch(2),
            until: MapVersion(1),
        };
        epoch::take_over(&session, &token)
            .await
            .expect("taken over");
        let earlier = EpochToken {
            epoch: Epoch(1),
            ..token.clone()
        };
        let refused = sidecar_schema::add_missing_tables(&session, &earlier).await;
        refused.expect_err("an earlier owner adds nothing");
        let added = sidecar_schema::add_missing_tables(&session, &token).await;
        added.expect("added");
        let removed = sidecar_schema::remove_migration(&session, &token).await;
        removed.expect("removed");
        let left = "select pg_catalog.to_regnamespace('shardwright') is not null";
        let left: bool = session.query_one(left, &[]).await.expect("read").get(0);
        assert!(!left, "{release:?}: the schema is left");
    }
}
