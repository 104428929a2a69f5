//! A move of whole tables creates its part of the schema, and nothing else.

use std::collections::BTreeSet;

use connect::Connected;
use plans::table::{MovingTable, TableKey, TableName};

use super::bench::Bench;
use super::schema::restore;
use crate::error::StepError;
use crate::postgres::pg_dump::{DumpedSchema, RestoreSection};
use crate::schema::compare::compare;
use crate::schema::scope::SchemaScope;
use crate::schema::{self, write};
use crate::shard::created;

/// Two tenants and what they share. The names that begin with `left` must stay.
const SOURCE: &str = "
    create type public.shared as enum ('x');
    create table public.kind (id int primary key);
    create table public.left_log (id serial primary key);
    create view public.left_view as select l.id from public.left_log l;
    create view public.left_above as select id from public.left_view;
    create function public.left_body() returns bigint begin atomic select count(*) from public.left_log; end;
    create function public.left_argument(public.left_log) returns int language sql as 'select 1';
    create sequence public.shared_number;
    create function public.stamp() returns trigger language plpgsql as 'begin return new; end';
    create schema one;
    create domain one.amount as int check (value > 0);
    create type one.pair as (a int, b public.shared);
    create table one.base (
      id bigint generated always as identity primary key, kind int references public.kind, p one.pair, v one.amount,
      n bigint default nextval('public.shared_number'), how public.shared, total int generated always as (1) stored);
    create table one.part (at date, id bigint, base bigint references one.base, primary key (at, id)) partition by range (at);
    create table one.part_old partition of one.part for values from (minvalue) to ('2026-01-01');
    create table one.part_new partition of one.part default;
    create index part_base on one.part (base);
    create trigger stamp before insert on one.base for each row execute function public.stamp();
    create view one.seen as select b.id from one.base b join public.kind k on k.id = b.kind;
    create view one.above as select id from one.seen;
    create materialized view one.kept as select id from one.above;
    create view one.left_wide as select b.id from one.base b, public.left_log;
    create function one.body() returns bigint begin atomic select count(*) from one.base; end;
    create statistics one.together on id, kind from one.base;
    alter table one.base enable row level security;
    create policy own on one.base using (id > 0);
    comment on column one.base.v is 'a value';
    grant select on one.base to public;
    create schema left_two;
    create table left_two.base (id bigint primary key);
    create type left_two.own as (a int);
    create view left_two.seen as select * from left_two.base;
    create function public.left_of_two(left_two.own) returns int language sql as 'select 1';
    create function public.left_array(left_two.own[]) returns int language sql as 'select 1';
    create type public.left_pair as (a left_two.own, b int);
    create type public.left_list as (a left_two.own[]);
    alter default privileges in schema left_two grant select on tables to public;
    create function left_two.cast_own(left_two.own) returns text language sql immutable as 'select null::text';
    create cast (left_two.own as text) with function left_two.cast_own(left_two.own)";

fn scope() -> SchemaScope {
    let tables = ["one.base", "one.part_old", "one.part_new"].map(|name| {
        let key = TableKey::Schema("one".to_owned());
        let mut table = MovingTable::bare(TableName::parse(name), key);
        if name != "one.base" {
            table.partition_of = Some(TableName::parse("one.part"));
        }
        table
    });
    let names = |name: &str| BTreeSet::from([TableName::parse(name)]);
    SchemaScope::of(&tables, &names("kind"), &names("left_log")).expect("whole tables")
}

const ALL: [RestoreSection; 3] = [
    RestoreSection::Pre,
    RestoreSection::Key,
    RestoreSection::Post,
];

/// Relations, routines, types and schemas by name, without what each server creates by itself.
async fn objects(session: &Connected) -> Vec<String> {
    let read = "
        select concat_ws(' ', o.type, o.identity) from (
          select tableoid as class, oid from pg_class where relkind in ('r', 'p', 'v', 'm', 'S')
          union all select tableoid, oid from pg_proc
          union all select tableoid, oid from pg_type t where typtype in ('e', 'd')
          union all select tableoid, oid from pg_class where relkind = 'c'
          union all select tableoid, oid from pg_namespace where nspname !~ '^pg_') c
        cross join lateral pg_identify_object(c.class, c.oid, 0) o
        where c.oid >= 16384 and coalesce(o.schema, '') !~ '^(pg_|shardwright)' and o.identity <> 'shardwright' order by 1";
    let rows = session.query(read, &[]).await.expect("objects");
    rows.iter().map(|row| row.get(0)).collect()
}

const MOVED: [&str; 16] = [
    "composite type one.pair",
    "function one.body()",
    "function public.stamp()",
    "materialized view one.kept",
    "schema one",
    "sequence one.base_id_seq",
    "sequence public.shared_number",
    "table one.base",
    "table one.part",
    "table one.part_new",
    "table one.part_old",
    "table public.kind",
    "type one.amount",
    "type public.shared",
    "view one.above",
    "view one.seen",
];

/// Creates the part on the target, and compares it.
async fn create(bench: &Bench, source: &Connected, target: &Connected, schema: &DumpedSchema) {
    let migration = &bench.token.migration;
    restore(target, schema, &ALL, migration).await;
    assert_eq!(objects(target).await, MOVED);
    let created = created::names(target, migration).await.expect("names");
    let compared = compare(source, target, Some(&created))
        .await
        .expect("the same");
    assert!(compared.objects > 50, "{compared:?}");
}

#[tokio::test]
async fn whole_tables_take_their_part_of_the_schema_along() {
    let bench = Bench::new("scope", "").await;
    let (source, target) = (
        bench.ours(&bench.source).await,
        bench.ours(&bench.target).await,
    );
    source.batch_execute(SOURCE).await.expect("a schema");
    let shard = bench.shard(&bench.source, bench.token.epoch);
    let scope = scope();
    let left = scope.left_schemas(&source).await.expect("read");
    assert_eq!(left, ["left_two"]);
    let moved = schema::read_for_move(&shard, &target, Some(&scope), None).await;
    create(&bench, &source, &target, &moved.expect("read").schema).await;

    // What exists on the target already is not created again, unless the migration has created it.
    let again = schema::read_for_move(&shard, &target, Some(&scope), None).await;
    let again = again.expect("read").schema.entries;
    let labels: Vec<&str> = again.iter().map(|entry| entry.label.as_str()).collect();
    assert!(
        labels
            .iter()
            .all(|label| label.contains("PROCEDURAL") || label.contains("DEFAULT ACL")),
        "{labels:?}"
    );
    let own = Some(&bench.token.migration);
    let own = schema::read_for_move(&shard, &target, Some(&scope), own).await;
    assert!(own.expect("read").schema.entries.len() > 30);
}

#[tokio::test]
async fn the_writer_takes_the_same_part_of_the_schema() {
    let bench = Bench::new("scope_writer", "").await;
    let (source, target) = (
        bench.ours(&bench.source).await,
        bench.ours(&bench.target).await,
    );
    source.batch_execute(SOURCE).await.expect("a schema");
    let cast = "drop cast (left_two.own as text)";
    source
        .batch_execute(cast)
        .await
        .expect("the writer does not support it");
    let mut written = write(&source, 15).await.expect("written");
    let scope = scope();
    let restricted = scope.restrict(&mut written, &source, &target, None).await;
    restricted.expect("restricted");
    create(&bench, &source, &target, &written).await;
}

#[tokio::test]
async fn a_moving_table_that_needs_what_stays_is_refused() {
    let bench = Bench::new("scope_apart", "").await;
    let source = bench.ours(&bench.source).await;
    source.batch_execute(SOURCE).await.expect("a schema");
    let scope = scope();
    scope.check(&source).await.expect("nothing");
    let cases = [
        (
            "alter table one.base add extra left_two.own",
            "table one.base",
        ),
        (
            "alter table one.base add extra left_two.own[]",
            "table one.base",
        ),
        (
            "alter table one.base add extra public.left_pair",
            "table one.base",
        ),
        (
            "create function left_two.now() returns int language sql as 'select 1';
             alter table one.base alter v set default left_two.now()",
            "default value for one.base.v",
        ),
        (
            "create function left_two.fires() returns trigger language plpgsql as 'begin return new; end';
             create trigger far before insert on one.part for each row execute function left_two.fires()",
            "trigger far on one.part",
        ),
        (
            "create policy far on one.base using (exists (select from left_two.base))",
            "policy far on one.base",
        ),
    ];
    for (change, expected) in cases {
        source.batch_execute("begin").await.expect("begun");
        source.batch_execute(change).await.expect(change);
        match scope.check(&source).await {
            Err(StepError::Failed(failure)) => {
                assert_eq!(failure.code, "schema.apart");
                assert!(
                    failure.message.contains(expected),
                    "{change}: {}",
                    failure.message
                );
            }
            other => panic!("{change}: {other:?}"),
        }
        source.batch_execute("rollback").await.expect("rolled back");
    }
    // A foreign key is not such a part: the survey refuses it, with the table that it refers to.
    let key = "alter table one.base add foreign key (n) references left_two.base";
    source.batch_execute(key).await.expect(key);
    scope.check(&source).await.expect("a foreign key");
}

/// The server names objects by their present state, and reads the catalogs by the snapshot of the query.
#[tokio::test]
async fn an_object_that_is_dropped_during_the_comparison_is_left_out() {
    let bench = Bench::new("scope_dropped", "").await;
    let (source, target) = (
        bench.ours(&bench.source).await,
        bench.ours(&bench.target).await,
    );
    source
        .batch_execute("create collation public.dropped (locale = 'C')")
        .await
        .expect("created");
    source
        .batch_execute("begin isolation level repeatable read; select from pg_catalog.pg_collation")
        .await
        .expect("a snapshot");
    let other = bench.ours(&bench.source).await;
    other
        .batch_execute("drop collation public.dropped")
        .await
        .expect("dropped");
    compare(&source, &target, None).await.expect("the same");
}
