//! Objects whose names contain quotes, statements and comments are created and dropped, by pg_dump and by the catalog
//! writer. No name is executed as SQL.

use connect::Connected;
use plans::id::MigrationId;
use plans::sql::{quote_ident, quote_literal};

use super::bench::Bench;
use super::schema::{drop_created, restore};
use crate::postgres::pg_dump::RestoreSection;
use crate::schema;
use crate::shard::created;

const ALL: [RestoreSection; 3] = [
    RestoreSection::Pre,
    RestoreSection::Key,
    RestoreSection::Post,
];

const NAMES: [&str; 9] = [
    "z\ny",
    ";select evil.pwn(); --",
    "z\n-- Name: t; Type: TABLE; Schema: names; Owner: -\n--",
    "z\n--\n-- PostgreSQL database dump complete\n--\n",
    "z\nDROP TABLE names.plain;",
    "a\"\"; select evil.pwn(); --",
    "c\r\tb\\",
    "$$;select evil.pwn();$$",
    "%I ${file:/etc/passwd} 🐘\u{202e}",
];

/// Returns DDL for a table, type, routine, view, sequence and schema of each name, and for all objects that a table can
/// have.
fn objects() -> String {
    let mut sql = String::from(
        "create schema evil; create function evil.pwn() returns text language plpgsql as \
           $$ begin perform pg_create_physical_replication_slot('pwned_' || pg_backend_pid()); return 'x'; end $$; \
         create schema names; create schema indexes;",
    );
    for (nth, name) in NAMES.iter().enumerate() {
        let (ident, text) = (quote_ident(name), quote_literal(name));
        sql += &format!(
            "create schema {ident};
             create type {ident}.{ident} as enum ({text});
             create domain names.{ident} as text check (value <> {text});
             create function {ident}.{ident}() returns trigger language plpgsql as 'begin return new; end';
             create sequence {ident}.\"s{nth}\";
             create table {ident}.{ident}1 (id bigint, {ident} text default {text}, kind {ident}.{ident} default {text},
               constraint {ident} primary key (id), constraint c{nth} check ({ident} <> 'x' or id > 0));
             create trigger {ident} before update on {ident}.{ident}1 for each row execute function {ident}.{ident}();
             create policy {ident} on {ident}.{ident}1 using (true);
             create rule {ident} as on delete to {ident}.{ident}1 where old.id = -1 do instead nothing;
             create statistics indexes.{ident} on id, kind from {ident}.{ident}1;
             create view {ident}.v{nth} as select {ident} from {ident}.{ident}1;
             comment on table {ident}.{ident}1 is {text}; comment on column {ident}.{ident}1.{ident} is {text};",
        )
        .replace("\"1", &format!("{nth}\""));
    }
    sql
}

async fn count(session: &Connected, of: &str) -> i64 {
    let sql = format!("select count(*) from {of}");
    session.query_one(&sql, &[]).await.expect("counted").get(0)
}

#[tokio::test]
async fn whatever_objects_are_called_they_are_made_and_dropped_by_their_names() {
    let bench = Bench::new("hostile_names", "").await;
    let (source, target) = (
        bench.ours(&bench.source).await,
        bench.ours(&bench.target).await,
    );
    source.batch_execute(&objects()).await.expect("objects");
    let users = "pg_class c join pg_namespace n on n.oid = c.relnamespace where n.oid >= 16384 and n.nspname <> 'shardwright' and n.nspname !~ '^pg_'";
    let there = count(&source, users).await;
    let shard = bench.shard(&bench.source, bench.token.epoch);
    let dumped = schema::read(&shard, 15).await.expect("read");
    let written = schema::write(&source, 15).await.expect("written");
    let migration = MigrationId::from("names");
    for schema in [dumped, written] {
        restore(&target, &schema, &ALL, &migration).await;
        assert_eq!(count(&target, users).await, there);
        drop_created(&target, &migration).await;
        assert_eq!(count(&target, users).await, 0);
    }
    let slots = "pg_replication_slots where slot_name ~ '^pwned'";
    assert_eq!(count(&source, slots).await, 0);
}

#[tokio::test]
async fn what_others_made_is_not_dropped_whatever_it_is_called() {
    let bench = Bench::new("anew", "").await;
    let target = bench.ours(&bench.target).await;
    target
        .batch_execute("create extension citext schema public; create table public.before (id int)")
        .await
        .expect("before");
    let migration = MigrationId::from("anew");
    target
        .batch_execute(
            "begin; create extension if not exists citext schema public; create table public.ours (id int); create table public.renamed (id int); \
             create table public.replaced (id int)",
        )
        .await
        .expect("created");
    created::record(&target, &migration)
        .await
        .expect("recorded");
    target
        .batch_execute(
            "commit; alter table public.renamed rename to kept; drop table public.replaced; \
             create table public.replaced (id int, theirs text)",
        )
        .await
        .expect("changed");
    let drops = created::drop_statements(&target, &migration)
        .await
        .expect("read");
    assert_eq!(drops, Some(vec!["drop table public.ours".to_owned()]));
}
