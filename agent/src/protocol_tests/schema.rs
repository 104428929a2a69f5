//! A schema is created entry by entry, and dropped again by the recorded statements.

use connect::Connected;
use plans::id::MigrationId;

use super::bench::{Bench, tables};
use crate::postgres::catalog;
use crate::postgres::pg_dump::{DumpedSchema, RestoreSection};
use crate::schema;
use crate::schema::foreign_keys::{KEY_LABEL, VALIDATION_LABEL};
use crate::shard::guard::ddl_guard;
use crate::shard::{created, sidecar_schema};

pub(super) const SHOP: &str = "\
    create schema shop; \
    create type shop.state as enum ('new', 'paid'); \
    create domain shop.amount as numeric(12, 2) check (value >= 0); \
    create type shop.address as (street text, town text); \
    create function shop.touch() returns trigger language plpgsql as \
      $$ begin new.touched := now(); return new; end $$; \
    create sequence shop.loose; \
    create table shop.customer ( \
      tenant_id bigint not null, id bigint generated always as identity, name text not null, \
      home shop.address, upper_name text generated always as (upper(name)) stored, \
      touched timestamptz default now(), primary key (tenant_id, id)); \
    create table shop.\"Order Line\" ( \
      tenant_id bigint, id bigint, customer bigint, state shop.state default 'new', price shop.amount, \
      \"select\" text collate \"C\", primary key (tenant_id, id), unique (tenant_id, \"select\"), \
      constraint to_customer foreign key (tenant_id, customer) references shop.customer, \
      check (price < 1000000)); \
    create index by_state on shop.\"Order Line\" (state, price desc) where state = 'new'; \
    create index by_lower on shop.customer (lower(name)); \
    create trigger touch before update on shop.customer for each row execute function shop.touch(); \
    create view shop.paid as select * from shop.\"Order Line\" where state = 'paid'; \
    create materialized view shop.totals as select tenant_id, sum(price) from shop.\"Order Line\" group by 1; \
    alter table shop.customer enable row level security; \
    create policy own on shop.customer using (tenant_id = current_setting('app.tenant')::bigint); \
    create statistics shop.together on tenant_id, customer from shop.\"Order Line\"; \
    comment on table shop.customer is 'who; buys -- things'; \
    comment on column shop.customer.name is 'it''s \\ a name'; \
    grant select on shop.customer to public; grant usage on schema shop to public; \
    create table shop.tag (id bigint primary key, tenant_id bigint not null, label text not null, unique (tenant_id, label)); \
    alter table shop.tag replica identity using index tag_tenant_id_label_key; \
    create table shop.track (tenant_id bigint not null, at timestamptz); \
    alter table shop.track replica identity full; \
    create table public.note (tenant_id bigint primary key, \"text\" text default 'a;b'); \
    create publication everything for all tables";

/// Returns all objects of the user's schemas, by kind and name.
async fn objects(session: &Connected) -> Vec<String> {
    let read = "\
        select pg_catalog.pg_describe_object(classid, objid, 0) from ( \
          select 'pg_class'::regclass as classid, oid as objid, relnamespace as space from pg_class where relkind <> 't' \
          union all select 'pg_type'::regclass, oid, typnamespace from pg_type \
          union all select 'pg_proc'::regclass, oid, pronamespace from pg_proc \
          union all select 'pg_constraint'::regclass, oid, connamespace from pg_constraint \
          union all select 'pg_statistic_ext'::regclass, oid, stxnamespace from pg_statistic_ext) o \
        join pg_namespace n on n.oid = o.space \
        where n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright') \
        union all select 'schema ' || nspname || coalesce(nspacl::text, '') from pg_namespace where nspname !~ '^pg_' and nspname <> 'shardwright' \
        union all select 'trigger ' || pg_get_triggerdef(oid) || tgenabled::text from pg_trigger where not tgisinternal \
        union all select 'policy ' || polname || pg_get_expr(polqual, polrelid) from pg_policy \
        union all select 'comment ' || d.description from pg_description d join pg_class c on c.oid = d.objoid \
          join pg_namespace n on n.oid = c.relnamespace where n.nspname in ('shop', 'public') \
        union all select 'grant ' || relname || relacl::text || relrowsecurity::text from pg_class c \
          join pg_namespace n on n.oid = c.relnamespace where n.nspname in ('shop', 'public') and relacl is not null \
        union all select 'publication ' || pubname from pg_publication where pubname = 'never' \
        order by 1";
    let rows = session.query(read, &[]).await.expect("objects");
    rows.iter().map(|row| row.get(0)).collect()
}

/// Creates the objects of some sections as a migration does, each section in one transaction.
pub(super) async fn restore(
    session: &Connected,
    schema: &DumpedSchema,
    sections: &[RestoreSection],
    migration: &MigrationId,
) {
    sidecar_schema::create(session).await.expect("our schema");
    for section in sections {
        session.batch_execute("begin").await.expect("begun");
        for entry in schema.entries.iter().filter(|e| e.section == *section) {
            let restore = format!("set local check_function_bodies = off; {}", entry.sql());
            let done = session.batch_execute(&restore).await;
            done.unwrap_or_else(|e| panic!("{}: {e:?}\n{restore}", entry.label));
        }
        created::record(session, migration).await.expect("recorded");
        session.batch_execute("commit").await.expect("committed");
    }
}

/// Drops the created objects, twice.
pub(super) async fn drop_created(session: &Connected, migration: &MigrationId) {
    let drops = async || {
        created::drop_statements(session, migration)
            .await
            .expect("read")
    };
    let some = drops().await.expect("an order");
    assert!(!some.is_empty());
    for drop in &some {
        let done = session.batch_execute(drop).await;
        done.unwrap_or_else(|e| panic!("{drop}: {e:?}"));
    }
    assert_eq!(drops().await, Some(Vec::new()));
}

#[tokio::test]
async fn of_indexes_that_are_built_side_by_side_the_largest_comes_first() {
    let bench = Bench::new("largest", "").await;
    let source = bench.source.session().await;
    let tables = "set search_path = public; create table a (id int primary key, v text); create index a_v on a (v); \
                  create table \"B 1\" (id int primary key); create table c (id int primary key, v text); \
                  create index c_v on c (v); \
                  insert into c select n, md5(n::text) from generate_series(1, 3000) n";
    source.batch_execute(tables).await.expect("tables");
    let shard = bench.shard(&bench.source, bench.token.epoch);
    let dumped = schema::read(&shard, 15).await.expect("read");
    let of = |section| {
        let entries = dumped.entries.iter().filter(move |e| e.section == section);
        entries.map(|e| e.label.as_str()).collect::<Vec<_>>()
    };
    let keys = of(RestoreSection::Key);
    assert_eq!(keys.len(), 3, "{keys:?}");
    assert_eq!(keys[0], "CONSTRAINT public c c_pkey");
    assert_eq!(
        of(RestoreSection::Post),
        ["INDEX public c_v", "INDEX public a_v"]
    );
}

/// Returns the foreign keys from the catalog.
async fn foreign_keys(session: &Connected) -> Vec<String> {
    let read = "select concat_ws(' ', conrelid::regclass, conname, convalidated, pg_get_constraintdef(oid)) \
                from pg_constraint where contype = 'f' order by 1";
    let rows = session.query(read, &[]).await.expect("foreign keys");
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn foreign_keys_are_validated_behind_all_of_them_and_end_as_they_were() {
    let bench = Bench::new("fkeys", "").await;
    let (source, target) = (
        bench.ours(&bench.source).await,
        bench.ours(&bench.target).await,
    );
    let tables = "set search_path = public; create table \"One; a\" (id int primary key, up int references \"One; a\"); \
                  create table few (id int references \"One; a\" deferrable initially deferred); \
                  create table many (id int constraint \"to; one\" references \"One; a\" on delete cascade); \
                  create table few_keys (id int primary key); create table old (id int); alter table old add constraint never foreign key (id) references few_keys not valid; \
                  create table part (id int references \"One; a\") partition by hash (id); \
                  create table part_0 partition of part for values with (modulus 1, remainder 0); \
                  comment on constraint \"to; one\" on many is 'why; so'; \
                  insert into \"One; a\" select n from generate_series(1, 2000) n; \
                  insert into many select id from \"One; a\", generate_series(1, 3); insert into few values (1); \
                  set search_path = ''";
    source.batch_execute(tables).await.expect("tables");
    let shard = bench.shard(&bench.source, bench.token.epoch);
    let dumped = schema::read(&shard, 15).await.expect("read");
    let written = schema::write(&source, 15).await.expect("written");
    assert!(
        written
            .entries
            .iter()
            .all(|e| !e.label.starts_with(VALIDATION_LABEL))
    );
    let of = |kind: &'static str| {
        let entries = dumped.entries.iter().enumerate();
        entries.filter(move |(_, entry)| entry.label.starts_with(kind))
    };
    let validations: Vec<&str> = of(VALIDATION_LABEL)
        .map(|(_, e)| e.label.as_str())
        .collect();
    assert_eq!(
        validations,
        [
            "FK VALIDATION public many to; one",
            "FK VALIDATION public One; a One; a_up_fkey",
            "FK VALIDATION public few few_id_fkey"
        ]
    );
    assert!(of(KEY_LABEL).all(|(at, _)| of(VALIDATION_LABEL).all(|(validated, _)| at < validated)));
    for entry in &dumped.entries {
        let done = target.batch_execute(&entry.sql()).await;
        done.expect(&entry.label);
    }
    assert_eq!(foreign_keys(&target).await, foreign_keys(&source).await);
}

#[tokio::test]
async fn a_schema_is_restored_entry_by_entry_and_dropped_again() {
    let bench = Bench::new("entries", "").await;
    let (source, target) = (
        bench.ours(&bench.source).await,
        bench.ours(&bench.target).await,
    );
    let empty = objects(&target).await;
    source.batch_execute(SHOP).await.expect("a schema");
    let moving = tables(&source).await;
    let whole = objects(&source).await;
    assert_eq!(moving.len(), 5);
    let wanted = catalog::fingerprint(&source, &moving).await.expect("read");
    let bench = Bench {
        tables: moving.into(),
        ..bench
    };
    bench.guard(&bench.source, 0).await;
    // An earlier move from the same shard leaves these during its hold.
    ddl_guard::create(&source, &bench.token, &bench.tables)
        .await
        .expect("event triggers");
    let name = bench.token.migration.ddl_guard("end");
    let comment = format!("comment on event trigger {name} is 'ours'");
    source.batch_execute(&comment).await.expect("a comment");

    let shard = bench.shard(&bench.source, bench.token.epoch);
    let dumped = schema::read(&shard, 15).await.expect("read");
    let migration = &bench.token.migration;
    let sections = [
        RestoreSection::Pre,
        RestoreSection::Key,
        RestoreSection::Post,
    ];
    restore(&target, &dumped, &sections, migration).await;
    let restored = catalog::fingerprint(&target, &bench.tables).await;
    assert_eq!(restored.expect("read"), wanted);
    assert_eq!(objects(&target).await, whole);
    let index = |label: &str| dumped.entries.iter().find(|e| e.label.starts_with(label));
    assert!(index("INDEX shop by_state").is_some_and(|e| e.parallel));
    let keys = dumped
        .entries
        .iter()
        .filter(|e| e.section == RestoreSection::Key);
    // If another index identifies the rows, the primary key is restored like any other index.
    let keys: Vec<&str> = keys.map(|e| e.label.as_str()).collect();
    assert_eq!(keys.len(), 4, "{keys:?}");
    assert!(
        index("CONSTRAINT shop tag tag_pkey").is_some_and(|e| e.section == RestoreSection::Post)
    );
    let ours = |text: &str| text.contains("shardwright") || text.contains("PUBLICATION");
    assert!(!dumped.entries.iter().any(|e| ours(&e.sql())));

    drop_created(&target, migration).await;
    assert_eq!(objects(&target).await, empty);
}
