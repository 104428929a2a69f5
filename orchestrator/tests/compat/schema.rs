//! The schema only gains: what the newest release reads and writes is there, so that its controllers go on over it.

use super::recorded::newest;
use crate::fixture::Database;
use orchestrator::store::pg::PgStore;
use sqlx::{Connection, PgConnection};
use std::collections::BTreeMap;

/// Columns of tables and views with their types, functions with their results: name to what it is.
const OBJECTS: &str = "select 'column ' || c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod)
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = 'shardwright'::regnamespace and c.relkind in ('r', 'p', 'v') and a.attnum > 0 and not a.attisdropped
    union all select 'function ' || p.oid::regprocedure::text, pg_get_function_result(p.oid)
    from pg_proc p where p.pronamespace = 'shardwright'::regnamespace";
/// What refuses a row that was fine: columns that must be given, constraints, unique indexes.
const DEMANDS: &str = "select c.relname, 'column ' || a.attname || ' must be given'
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = 'shardwright'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
        and a.attnotnull and not a.atthasdef and a.attidentity = ''
    union all select c.relname, 'constraint ' || pg_get_constraintdef(k.oid)
    from pg_constraint k join pg_class c on c.oid = k.conrelid
    where k.connamespace = 'shardwright'::regnamespace and k.contype <> 'n'
    union all select c.relname, 'index ' || regexp_replace(pg_get_indexdef(i.indexrelid), ' INDEX \\S+ ', ' INDEX ')
    from pg_index i join pg_class c on c.oid = i.indrelid
    where c.relnamespace = 'shardwright'::regnamespace and i.indisunique";

/// Columns and functions that the newest release does not use any more: they may go now.
const GIVEN_UP: [&str; 0] = [];

struct Schema {
    objects: BTreeMap<String, String>,
    demands: Vec<(String, String)>,
}

async fn schema(session: &mut PgConnection) -> Schema {
    let objects: Vec<(String, String)> = sqlx::query_as(OBJECTS)
        .fetch_all(&mut *session)
        .await
        .unwrap();
    Schema {
        objects: objects.into_iter().collect(),
        demands: sqlx::query_as(DEMANDS).fetch_all(session).await.unwrap(),
    }
}

/// What programs for `old` could not do with `new`.
fn taken(old: &Schema, new: &Schema) -> Vec<String> {
    let mut found = Vec::new();
    for (name, what) in &old.objects {
        if new.objects.get(name) != Some(what) && !GIVEN_UP.contains(&name.as_str()) {
            found.push(format!(
                "{name} was {what}, and is {:?}",
                new.objects.get(name)
            ));
        }
    }
    for demand in &new.demands {
        let (table, what) = demand;
        let known = |name: &String| name.starts_with(&format!("column {table}."));
        if old.objects.keys().any(known) && !old.demands.contains(demand) {
            found.push(format!("table {table}: {what}"));
        }
    }
    found
}

#[tokio::test]
async fn files_since_the_newest_release_only_add() {
    let database = newest().restored().await;
    let mut session = PgConnection::connect(&database.address()).await.unwrap();
    let old = schema(&mut session).await;
    assert!(old.objects.len() > 100 && old.demands.len() > 100);
    drop(PgStore::open(&database.dsn).await.unwrap());
    let taken = taken(&old, &schema(&mut session).await);
    assert!(taken.is_empty(), "{}", taken.join("\n"));
}

#[tokio::test]
async fn what_is_taken_away_or_demanded_is_found() {
    let database = Database::new().await;
    drop(database.store().await);
    let mut session = PgConnection::connect(&database.address()).await.unwrap();
    let old = schema(&mut session).await;
    for (change, finds) in [
        (
            "alter table shardwright.agent add note text, add n integer not null default 1",
            0,
        ),
        ("create table shardwright.more (id bigint primary key)", 0),
        (
            "alter table shardwright.cleanup_record rename column policy to rule",
            2,
        ),
        (
            "alter table shardwright.audit alter column actor type varchar",
            1,
        ),
        ("alter table shardwright.event add must text not null", 1),
        (
            "alter table shardwright.agent add constraint short check (length(name) < 9)",
            1,
        ),
        ("create unique index on shardwright.shard (dsn)", 1),
        ("drop function shardwright.refuse_change() cascade", 1),
    ] {
        let mut changing = session.begin().await.unwrap();
        sqlx::raw_sql(change).execute(&mut *changing).await.unwrap();
        let found = taken(&old, &schema(&mut changing).await);
        assert_eq!(found.len(), finds, "{change}: {found:?}");
        changing.rollback().await.unwrap();
    }
}
