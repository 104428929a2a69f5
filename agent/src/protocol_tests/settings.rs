//! Settings of a role or a database affect neither what the agents read and write, nor the programs that they start.

use connect::Connected;

use super::bench::Bench;
use super::shard::Shard;
use super::verify::case::{AWKWARD, VerifyCase, rows};
use crate::postgres::replication::ReplicationSession;
use crate::schema;

/// Defaults of the database. The first half changes the meaning of texts and statements, the second half the behaviour
/// of the server.
const HOSTILE: [(&str, &str); 44] = [
    ("standard_conforming_strings", "off"),
    ("backslash_quote", "on"),
    ("escape_string_warning", "on"),
    ("transform_null_equals", "on"),
    ("quote_all_identifiers", "on"),
    ("exit_on_error", "on"),
    ("datestyle", "German, DMY"),
    ("intervalstyle", "sql_standard"),
    ("timezone", "Asia/Kathmandu"),
    ("extra_float_digits", "-15"),
    ("bytea_output", "escape"),
    ("lc_monetary", "POSIX"),
    ("lc_numeric", "POSIX"),
    ("lc_time", "POSIX"),
    ("xmloption", "document"),
    ("xmlbinary", "hex"),
    ("array_nulls", "off"),
    ("search_path", "nowhere, public"),
    ("default_tablespace", "pg_default"),
    ("row_security", "on"),
    ("client_encoding", "LATIN1"),
    ("default_text_search_config", "pg_catalog.simple"),
    ("default_transaction_isolation", "serializable"),
    ("default_transaction_read_only", "on"),
    ("default_transaction_deferrable", "on"),
    ("synchronous_commit", "off"),
    ("statement_timeout", "2s"),
    ("lock_timeout", "1s"),
    ("idle_in_transaction_session_timeout", "100ms"),
    ("idle_session_timeout", "500ms"),
    ("jit", "on"),
    ("check_function_bodies", "off"),
    ("client_min_messages", "error"),
    ("constraint_exclusion", "on"),
    ("default_statistics_target", "1"),
    ("gin_fuzzy_search_limit", "1"),
    ("enable_indexscan", "off"),
    ("enable_tidscan", "off"),
    ("enable_nestloop", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("enable_seqscan", "off"),
    ("plan_cache_mode", "force_custom_plan"),
    ("join_collapse_limit", "1"),
];

/// Sets half of the settings on the database, and the other half on the role in this database.
async fn make_hostile(shard: &Shard) {
    let session = shard.session().await;
    let names =
        "select pg_catalog.quote_ident(current_database()), pg_catalog.quote_ident(current_user)";
    let row = session.query_one(names, &[]).await.expect("names");
    let (database, role): (String, String) = (row.get(0), row.get(1));
    for (nth, (name, value)) in HOSTILE.iter().enumerate() {
        let whose = match nth % 2 {
            0 => format!("database {database}"),
            _ => format!("role {role} in database {database}"),
        };
        // A search path is a list of names. A single literal would be one name.
        let value = match *name {
            "search_path" => (*value).to_owned(),
            _ => format!("'{value}'"),
        };
        let set = format!("alter {whose} set {name} = {value}");
        session.batch_execute(&set).await.expect(name);
    }
}

const PATHS: &str = r"
    create table public.other (id int primary key, path text default 'C:\temp\new', code text check (code ~ '^\d+$'));
    create domain public.phone as text check (value ~ '^\d+$');
    create view public.vw as select id, path ~ '^\d+\s' as num, replace(path, '\n', '|') as r from public.other;
    create function public.f(x text default 'a\tb') returns text language sql as $$ select $1 $$;
    create table public.at (id int primary key, since timestamptz default '2024-02-01 10:00+00', took interval default '1 mon 2 days',
      raw bytea default '\x5c00ff', ratio float8 default 0.1, price money default '12.5')";

/// Returns all definitions whose text depends on settings.
async fn definitions(session: &Connected) -> Vec<String> {
    let read = "
        select pg_get_viewdef('public.vw'::regclass)
        union all select pg_get_constraintdef(oid) from pg_constraint where connamespace = 'public'::regnamespace
        union all select pg_get_expr(adbin, adrelid) from pg_attrdef
        union all select pg_get_function_arguments('public.f'::regproc)
        order by 1";
    let rows = session.query(read, &[]).await.expect("definitions");
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn a_schema_means_the_same_whatever_the_databases_set_by_default() {
    let bench = Bench::new("hostile_schema", "").await;
    let source = bench.ours(&bench.source).await;
    source.batch_execute(PATHS).await.expect("a schema");
    let wanted = definitions(&source).await;
    assert!(wanted.len() > 8, "{wanted:?}");
    make_hostile(&bench.source).await;
    make_hostile(&bench.target).await;
    let shard = bench.shard(&bench.source, bench.token.epoch);
    let (source, target) = (
        bench.ours(&bench.source).await,
        bench.ours(&bench.target).await,
    );
    let dumped = schema::read(&shard, 15).await.expect("read");
    let written = schema::write(&source, 15).await.expect("written");
    for (how, schema) in [("pg_dump", dumped), ("the catalog", written)] {
        target.batch_execute("begin").await.expect("begun");
        for entry in &schema.entries {
            let done = target.batch_execute(&entry.sql()).await;
            done.expect(&entry.label);
        }
        assert_eq!(definitions(&target).await, wanted, "by {how}");
        target.batch_execute("rollback").await.expect("undone");
    }
}

#[tokio::test]
async fn rows_are_captured_applied_and_compared_whatever_the_databases_set_by_default() {
    let bench = Bench::new("hostile_rows", AWKWARD).await;
    make_hostile(&bench.source).await;
    make_hostile(&bench.target).await;
    let pinned = bench.ours(&bench.source).await;
    let case = VerifyCase::of(bench, "", "").await;
    pinned.batch_execute(&rows("g")).await.expect("rows");
    case.drain().await;
    let change = "update public.awkward set num = num + 1, ts = ts where id % 2 = 0; delete from public.awkward where id % 7 = 0";
    pinned.batch_execute(change).await.expect("changed");
    case.drain().await;
    case.verify(1).await.expect("equal");
    assert!(case.bench.assert_equal().await > 50);
}

#[tokio::test]
async fn a_session_of_the_replication_protocol_has_the_settings_of_every_session() {
    let bench = Bench::new("hostile_walsender", "").await;
    make_hostile(&bench.source).await;
    let ordinary = bench.ours(&bench.source).await;
    let opened = ReplicationSession::open(&bench.source.dsn(), "test/settings").await;
    let mut walsender = opened.expect("opened");
    for name in connect::PINNED.map(|(name, _)| name) {
        let wanted = ordinary.query_one(&format!("show {name}"), &[]).await;
        let wanted: String = wanted.expect(name).get(0);
        // The first is a path without names, the second contains an empty name, which no schema has.
        let wanted = if wanted == "\"\"" { "" } else { &wanted };
        assert_eq!(walsender.setting(name).await, wanted, "{name}");
    }
    assert_eq!(walsender.setting("idle_session_timeout").await, "0");
}
