//! Features of later PostgreSQL versions. A test that needs a newer server than the given one passes without a check;
//! `scripts/test-matrix` runs the tests with every version.

use std::sync::Arc;

use cluster::{Binaries, Cluster, Options, Shutdown};
use connect::{Connected, Dsn, Session};
use plans::id::MigrationId;
use plans::names::Direction;
use plans::survey::Survey;

use super::bench::{Bench, ITEM};
use super::schema::{drop_created, restore};
use super::shard::{Shard as Database, until};
use super::survey::task;
use crate::inspect::survey;
use crate::postgres::pg_dump::{DumpSource, RestoreSection};
use crate::postgres::replication::{
    ChangeStream, ReplicationError, ReplicationSession, SlotOptions, StreamStart,
};
use crate::postgres::standbys::uses_synchronized_slots;
use crate::schema::{dump, write};

const FORWARD: Direction = Direction::Forward;

/// With the option `origin 'none'`, pgoutput does not send transactions that were replicated from another server, and
/// they would be lost. The agent does not set this option on any version.
#[tokio::test]
async fn a_transaction_that_came_from_elsewhere_is_captured() {
    let bench = Bench::new("otherversions", ITEM).await;
    bench.capture(FORWARD).await;
    let app = bench.source.session().await;
    let peeked = "select pg_create_logical_replication_slot('elsewhere_control', 'pgoutput')";
    app.batch_execute(peeked).await.expect("a slot");
    let elsewhere = "select pg_replication_origin_create('elsewhere'); \
                     select pg_replication_origin_session_setup('elsewhere')";
    app.batch_execute(elsewhere).await.expect("an origin");
    app.batch_execute("insert into public.item values (100, 1, 'from elsewhere')")
        .await
        .expect("written");
    let done = "select pg_replication_origin_session_reset(); \
                select pg_replication_origin_drop('elsewhere')";
    app.batch_execute(done).await.expect("dropped");

    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    assert_eq!(bench.assert_equal().await, 1);

    let publication = bench.token.migration.publication(FORWARD);
    let inserts = async |more: &str| -> i64 {
        let read = format!(
            "select count(*) from pg_logical_slot_peek_binary_changes('elsewhere_control', null, null, \
             'proto_version', '1', 'publication_names', '{publication}'{more}) where get_byte(data, 0) = ascii('I')"
        );
        app.query_one(&read, &[]).await.expect("peeked").get(0)
    };
    assert_eq!(inserts("").await, 1);
    if bench.source.cluster.binaries().major() >= 16 {
        assert_eq!(inserts(", 'origin', 'none'").await, 0);
    }
    app.batch_execute("select pg_drop_replication_slot('elsewhere_control')")
        .await
        .expect("dropped");
}

/// Creates a primary with a slot that a standby synchronizes, as an operator sets it up, and the standby.
async fn with_standby() -> (Database, Cluster) {
    let primary = Database::with_settings("keeps", &[]).await;
    let sql = primary.session().await;
    sql.batch_execute("select pg_create_physical_replication_slot('keeper', true)")
        .await
        .expect("a slot");
    sql.batch_execute("alter system set synchronized_standby_slots = 'keeper'")
        .await
        .expect("set");
    sql.close().await;
    let cluster = Arc::clone(&primary.cluster);
    let make = move || {
        let options = Options::temporary("keeper")
            .setting("fsync", "off")
            .setting("max_wal_senders", "100")
            .setting("hot_standby_feedback", "on")
            .setting("synchronized_standby_slots", "")
            .setting("primary_slot_name", "keeper")
            .binaries(cluster.binaries().clone());
        cluster.stop(Shutdown::Fast).expect("stopped");
        let standby = cluster.standby_by_files("keeper", options).expect("copied");
        cluster.start().expect("started");
        standby.start().expect("started");
        standby
    };
    let standby = tokio::task::spawn_blocking(make).await.expect("made");
    (primary, standby)
}

async fn connected(standby: &Cluster) -> Connected {
    let dsn = Dsn::parse(&standby.dsn("keeps", "postgres")).expect("a connection string");
    connect::connect(&dsn, &Session::named("test"))
        .await
        .expect("connected")
}

#[tokio::test]
async fn a_slot_that_a_standby_keeps_outlives_a_promotion_and_the_stream_still_refuses_it() {
    let plain = Database::new("keepsnone").await;
    let session = plain.session().await;
    assert!(!uses_synchronized_slots(&session).await.expect("read"));
    if plain.cluster.binaries().major() < 17 {
        return;
    }
    let (primary, standby) = with_standby().await;
    let sql = primary.session().await;
    sql.batch_execute("create table public.t (k bigint primary key); create publication moving for table public.t")
        .await
        .expect("schema");
    let options = SlotOptions {
        temporary: false,
        export: false,
        failover: uses_synchronized_slots(&sql).await.expect("read"),
    };
    let mut session = ReplicationSession::open(&primary.dsn(), "test")
        .await
        .expect("opened");
    let system = session.identify_system().await.expect("identified");
    let made = session.create_slot("kept", options).await.expect("a slot");

    let there = connected(&standby).await;
    until("the standby has a copy", || async {
        // The copy of a slot becomes persistent only when the position of the slot is at least as recent as the
        // standby's log and oldest transaction.
        let snapshot = "select pg_log_standby_snapshot()";
        sql.batch_execute(snapshot).await.expect("logged");
        let ahead = "select pg_replication_slot_advance('kept', pg_current_wal_lsn())";
        sql.batch_execute(ahead).await.expect("moved along");
        let copy = "select pg_sync_replication_slots()";
        there.batch_execute(copy).await.expect("copied");
        let read = "select count(*) = 1 from pg_replication_slots \
                    where slot_name = 'kept' and failover and synced and not temporary";
        there.query_one(read, &[]).await.expect("read").get(0)
    })
    .await;
    let promoted = tokio::task::spawn_blocking(move || {
        standby.promote().expect("promoted");
        standby
    });
    let promoted = promoted.await.expect("ran");
    let dsn = Dsn::parse(&promoted.dsn("keeps", "postgres")).expect("a connection string");
    let start = StreamStart {
        slot: "kept".to_owned(),
        publication: "moving".to_owned(),
        start: made.consistent_point,
        system,
        format: plans::table::Format::Text,
        trims: false,
    };
    let refused = ChangeStream::open(&dsn, "test", &start).await;
    let refused = refused.expect_err("another timeline");
    assert!(
        matches!(refused, ReplicationError::SystemChanged { .. }),
        "{refused}"
    );
}

/// Creates a database on a server of this version; `None` if the version is not installed.
pub(super) async fn of_version(database: &str, major: u32) -> Option<Database> {
    let binaries = Binaries::find(Some(major)).ok()?;
    let options = Options::temporary(database).setting("fsync", "off");
    let launch = move || Arc::new(Cluster::launch(options.binaries(binaries)).expect("launched"));
    let cluster = tokio::task::spawn_blocking(launch).await.expect("launched");
    Some(Database::on(cluster, database).await)
}

/// Surveys a table between servers of two versions; `None` if one of the versions is not installed.
async fn across(ddl: &str, source: u32, target: u32) -> Option<Survey> {
    let source = of_version("newer_s", source).await?;
    let target = of_version("newer_t", target).await?;
    super::survey::run(&source, ddl).await;
    let task = task(
        &source.dsn_text(),
        &target.dsn_text(),
        &[("public.item", "tenant_id")],
    );
    Some(survey::run(&task).await.expect("surveyed"))
}

#[tokio::test]
async fn what_an_older_target_cannot_have_is_refused_by_name() {
    let ddl = "create table item (tenant_id bigint, id bigint, v text, n bigint generated always as (id * 2) virtual, \
               primary key (tenant_id, id), constraint short check (length(v) < 9) not enforced); \
               alter table item add constraint there not null v not valid; \
               create table beside (id bigint, twice bigint generated always as (id * 2) virtual)";
    let Some(survey) = across(ddl, 18, 15).await else {
        return;
    };
    let found = survey.findings.iter();
    let found = found.filter(|finding| finding.code == "pair.version");
    let objects: Vec<&str> = found.map(|finding| finding.object.as_str()).collect();
    for part in [
        "column n",
        "constraint short",
        "constraint there",
        "beside, column twice",
    ] {
        assert!(
            objects.iter().any(|object| object.ends_with(part)),
            "{part}: {objects:?}"
        );
    }
    assert_eq!(objects.len(), 4, "{objects:?}");
}

#[tokio::test]
async fn grants_that_an_older_target_does_not_know_are_left_out() {
    let Some(source) = of_version("grants_s", 18).await else {
        return;
    };
    let Some(target) = of_version("grants_t", 15).await else {
        return;
    };
    let (here, there) = (source.session().await, target.session().await);
    for session in [&here, &there] {
        let made = session.batch_execute("create role app").await;
        made.expect("a role");
    }
    let granted = "create table public.t (id int); grant all on public.t to app; \
                   grant maintain on public.t to pg_monitor; revoke maintain on public.t from postgres; \
                   alter default privileges grant select, maintain on tables to app; \
                   alter default privileges grant maintain on tables to pg_monitor";
    here.batch_execute(granted).await.expect("granted");
    let mut schemas = vec![write(&here, 15).await.expect("written")];
    if let Ok(tools) = Binaries::for_dump(18) {
        let dsn = source.dsn();
        let dumped = DumpSource {
            left_schemas: &[],
            dsn: &dsn,
            client: &here,
            shard: "s",
        };
        schemas.push(dump(dumped, &tools, 15).await.expect("dumped"));
    }
    for schema in schemas {
        let sections = [
            RestoreSection::Pre,
            RestoreSection::Key,
            RestoreSection::Post,
        ];
        let migration = MigrationId::from("grants");
        restore(&there, &schema, &sections, &migration).await;
        let read = "select relacl::text, defaclacl::text from pg_class, pg_default_acl where pg_class.oid = 'public.t'::regclass";
        let row = there.query_one(read, &[]).await.expect("read");
        let (given, usual): (String, String) = (row.get(0), row.get(1));
        assert_eq!(given, "{postgres=arwdDxt/postgres,app=arwdDxt/postgres}");
        assert_eq!(usual, "{postgres=arwdDxt/postgres,app=r/postgres}");
        drop_created(&there, &migration).await;
    }
}
