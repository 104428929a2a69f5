//! The catalog writer returns the same schema as pg_dump, and reports what it does not support by name.

use cluster::Binaries;
use connect::Connected;
use plans::id::MigrationId;

use super::schema::drop_created;
use super::shard::Shard;
use crate::postgres::pg_dump::{DumpSource, DumpedSchema, RestoreSection, SchemaEntry};
use crate::schema::compare::compare;
use crate::schema::{dump, refreshes, write};

const RICH: &str = include_str!("rich.sql");

/// Objects that only servers of this or a later version have.
const LATER: [(i32, &str); 3] = [
    (
        16,
        "create collation shop.ruled (provider = icu, locale = 'und', rules = '&a < g')",
    ),
    (
        17,
        "create collation shop.built (provider = builtin, locale = 'C.UTF-8'); \
         create table shop.counted (id bigint generated always as identity, at int) partition by range (at); \
         create table shop.counted_1 partition of shop.counted for values from (0) to (10); \
         grant maintain on shop.counted to writer_reads; \
         alter default privileges in schema other grant select, maintain on tables to writer_reads; \
         revoke maintain on shop.kind from writer_writes",
    ),
    (
        18,
        "create table shop.newest (id int, a int, twice int generated always as (a * 2) virtual, \
           v int constraint v_is_set not null, w int not null no inherit); \
         alter table shop.newest add constraint later_set not null a not valid; \
         create table shop.booked (id int, during tstzrange, primary key (id, during without overlaps)); \
         create table shop.paid_for (id int, during tstzrange, \
           foreign key (id, period during) references shop.booked (id, period during)); \
         alter table shop.paid_for add constraint told check (id > 0) not enforced; \
         alter table shop.newest add constraint hoped foreign key (a) references shop.kind not enforced",
    ),
];

/// Creates all objects that the server supports. Returns its major version.
async fn make(session: &Connected) -> i32 {
    // A tablespace cannot be created in a transaction.
    for sql in [
        "set allow_in_place_tablespaces = on",
        "create tablespace \"Writer Fast\" location ''",
        RICH,
    ] {
        session.batch_execute(sql).await.expect("a rich schema");
    }
    let version = "select current_setting('server_version_num')::int / 10000";
    let row = session.query_one(version, &[]).await.expect("a version");
    let major = row.get(0);
    for (since, ddl) in LATER {
        if since <= major {
            let path = format!("set search_path = public, other; {ddl}; set search_path = ''");
            session.batch_execute(&path).await.expect("what is newer");
        }
    }
    major
}

/// Creates an empty database on the same server as `shard`.
async fn beside(shard: &Shard, name: &str) -> Shard {
    Shard::on(shard.cluster.clone(), name).await
}

/// The id of the migration that creates the objects of these tests.
fn migration() -> MigrationId {
    MigrationId::from("writer")
}

/// Creates all objects of a schema as a migration does.
async fn restore(session: &Connected, schema: &DumpedSchema) {
    let sections = [
        RestoreSection::Pre,
        RestoreSection::Key,
        RestoreSection::Post,
    ];
    super::schema::restore(session, schema, &sections, &migration()).await;
}

/// Reads the schema of a database by pg_dump.
async fn dumped(shard: &Shard, tools: &Binaries, target: u32) -> DumpedSchema {
    let client = shard.session().await;
    let dsn = shard.dsn();
    let dumped = DumpSource {
        left_schemas: &[],
        dsn: &dsn,
        client: &client,
        shard: "s",
    };
    dump(dumped, tools, target).await.expect("dumped")
}

/// An entry without the OID of its object, which differs between databases.
type ExpectedEntry = (RestoreSection, bool, String, Vec<String>);

fn told(schema: &DumpedSchema) -> Vec<ExpectedEntry> {
    let told = |e: &SchemaEntry| (e.section, e.parallel, e.label.clone(), e.statements.clone());
    schema.entries.iter().map(told).collect()
}

fn assert_equal(ours: &DumpedSchema, theirs: &DumpedSchema) {
    let (ours, theirs) = (told(ours), told(theirs));
    for (name, one, other) in [("ours", &ours, &theirs), ("theirs", &theirs, &ours)] {
        for (.., label, statements) in one.iter().filter(|e| !other.contains(e)) {
            eprintln!("only {name}: {label}\n{}\n", statements.join("\n"));
        }
    }
    let labels =
        |told: &[ExpectedEntry]| -> Vec<String> { told.iter().map(|e| e.2.clone()).collect() };
    assert_eq!(labels(&ours), labels(&theirs));
    assert_eq!(ours, theirs);
}

/// Checks that the comparison finds no difference. The copy may be the work of pg_dump or of the writer.
async fn assert_same(source: &Connected, target: &Connected) {
    let compared = compare(source, target, None).await.expect("the same");
    assert!(compared.objects > 300, "{compared:?}");
    let left_out = compared.left_out.join(", ");
    assert!(left_out.contains("publication everything"), "{left_out}");
}

#[tokio::test]
async fn the_writer_and_pg_dump_make_the_same_database() {
    let source = Shard::new("writer_s").await;
    let session = source.session().await;
    let major = make(&session).await;
    let version = u32::try_from(major).expect("a version");
    let written = write(&session, version).await.expect("written");
    // A role without privileges on the tables reads the same schema.
    session
        .batch_execute("set role pg_monitor")
        .await
        .expect("set");
    assert_equal(&write(&session, version).await.expect("written"), &written);
    session.batch_execute("reset role").await.expect("reset");
    let ours = beside(&source, "writer_ours").await;
    let on_ours = ours.session().await;
    restore(&on_ours, &written).await;
    let again = write(&on_ours, version).await.expect("written again");
    assert_equal(&again, &written);

    assert_same(&session, &on_ours).await;

    let tools = Binaries::for_dump(version);
    if let Ok(tools) = &tools {
        let whole = dumped(&source, tools, version).await;
        let theirs = beside(&source, "writer_theirs").await;
        let on_theirs = theirs.session().await;
        let set = "set check_function_bodies = off";
        on_theirs.batch_execute(set).await.expect("set");
        restore(&on_theirs, &whole).await;
        let from_ours = dumped(&ours, tools, version).await;
        assert_equal(&from_ours, &dumped(&theirs, tools, version).await);
        assert_equal(&from_ours, &whole);
        let by_theirs = write(&on_theirs, version).await;
        assert_equal(&by_theirs.expect("written"), &written);
        assert_same(&session, &on_theirs).await;
    }
    assert!(tools.is_ok() || major > 15, "{tools:?}");

    for entry in refreshes(&session).await.expect("read") {
        on_ours.batch_execute(&entry.sql()).await.expect("rows");
    }
    drop_created(&on_ours, &migration()).await;
    let left = write(&on_ours, version).await.expect("an empty one");
    // Privileges on objects of the server, and default privileges, may have existed before.
    let created = left.entries.iter().map(|e| e.label.as_str());
    let created = created.filter(|label| !label.contains("ACL - ") && *label != "SCHEMA - public");
    let created: Vec<_> = created.collect();
    assert!(created.is_empty(), "{created:?}");
}

/// Returns the schema that the writer reads from a database with these objects, or its error.
async fn written(name: &str, ddl: &str) -> Result<DumpedSchema, String> {
    let shard = Shard::new(name).await;
    let session = shard.session().await;
    session.batch_execute(ddl).await.expect("made");
    let schema = write(&session, 15).await;
    schema.map_err(|error| error.to_string())
}

#[tokio::test]
async fn what_the_writer_has_no_words_for_is_named() {
    let refused = written(
        "writer_no",
        "create extension citext schema public; \
         create aggregate public.total (int) (sfunc = int4pl, stype = int); \
         create operator public.=== (function = int4eq, leftarg = int, rightarg = int); \
         create table public.t (a int); create table public.heir () inherits (public.t); \
         create text search configuration public.words (copy = simple); \
         create foreign data wrapper far; create server away foreign data wrapper far; \
         create foreign table public.there (a int) server away; \
         create user mapping for pg_monitor server away; \
         create cast (int as public.citext) with inout; \
         create type public.shell",
    );
    let refused = refused.await.expect_err("refused");
    for name in [
        "function public.total(integer)",
        "operator public.===(integer,integer)",
        "table public.heir (it inherits)",
        "text search configuration public.words",
        "foreign-data wrapper far",
        "server away",
        "foreign table public.there",
        "user mapping for pg_monitor on server away",
        "cast from integer to public.citext",
        "type public.shell (a base type)",
    ] {
        assert!(refused.contains(name), "{name}: {refused}");
    }
    assert!(!refused.contains("citext_"), "{refused}");
}

#[tokio::test]
async fn objects_that_need_each_other_are_refused_by_name() {
    let refused = written(
        "writer_cycle",
        "create function public.twice(int) returns int immutable language sql return $1 * 2; \
         create table public.t (a int, b int generated always as (public.twice(a)) stored); \
         create or replace function public.twice(int) returns int immutable language sql \
           begin atomic select count(*)::int * 2 from public.t; end",
    );
    match refused.await {
        Err(refused) => {
            for name in ["TABLE public t", "ROUTINE public twice"] {
                assert!(refused.contains(name), "{name}: {refused}");
            }
        }
        Ok(schema) => panic!("{:?}", schema.entries),
    }
}

#[tokio::test]
async fn what_needs_a_key_comes_after_it_and_ours_never() {
    let schema = written(
        "writer_late",
        "create table public.t (id int primary key, name text, state text); \
         create view public.counted as select id, name, count(*) from public.t group by id; \
         create index by_name on public.t (name); \
         create schema shardwright; comment on schema shardwright is 'ours'; create table shardwright.move (a int); \
         create function shardwright.guard() returns trigger language plpgsql as 'begin return new; end'; \
         create trigger shardwright_guard_x before insert on public.t for each row execute function shardwright.guard(); \
         create function shardwright.ddl() returns event_trigger language plpgsql as 'begin end'; \
         create event trigger shardwright_ddl_x_end on ddl_command_end execute function shardwright.ddl(); \
         comment on event trigger shardwright_ddl_x_end is 'shardwright'; \
         comment on trigger shardwright_guard_x on public.t is 'shardwright'",
    );
    let schema = schema.await.expect("written");
    let places: Vec<_> = schema
        .entries
        .iter()
        .map(|e| (e.section, e.parallel, e.label.as_str()))
        .collect();
    assert_eq!(
        places,
        [
            (RestoreSection::Pre, false, "TABLE public t"),
            (RestoreSection::Key, true, "CONSTRAINT public t t_pkey"),
            (RestoreSection::Post, false, "VIEW public counted"),
            (RestoreSection::Post, true, "INDEX public by_name"),
        ]
    );
    let mut texts = schema.entries.iter().map(SchemaEntry::sql);
    assert!(!texts.any(|text| text.contains("shardwright")));
}
