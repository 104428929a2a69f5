//! What goes wrong with slots and streams comes back as a typed error.

use std::time::Duration;

use agent::postgres::lsn::Lsn;
use agent::postgres::replication::{
    ChangeStream, ReplicationError, ReplicationSession, SlotOptions, StreamStart,
};
use connect::{Class, Dsn};

use crate::replication::{released, slot, slots};
use crate::shard::{Shard, until};

const SCHEMA: &str = "\
    create table public.t (k bigint primary key); \
    create publication moving for table public.t";

async fn refused(dsn: &Dsn, from: &StreamStart) -> ReplicationError {
    ChangeStream::open(dsn, "test", from)
        .await
        .expect_err("refused")
}

#[tokio::test]
async fn a_slot_in_use_names_its_process() {
    let shard = Shard::new("busy").await;
    let sql = shard.session().await;
    sql.batch_execute(SCHEMA).await.expect("schema");
    let from = slot(&shard.dsn(), "busy_s").await;
    let stream = ChangeStream::open(&shard.dsn(), "test", &from)
        .await
        .expect("streaming");
    let read = "select active_pid from pg_replication_slots where slot_name = 'busy_s'";
    let holder: i32 = sql.query_one(read, &[]).await.expect("a slot").get(0);

    let error = refused(&shard.dsn(), &from).await;
    assert_eq!(error.class(), Class::Transient);
    let ReplicationError::SlotBusy { pid, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(pid, Some(holder));
    drop(stream);
    released(&shard.dsn(), &from).await;
}

#[tokio::test]
async fn a_missing_slot_and_a_wrong_server_are_told_apart() {
    let shard = Shard::new("missing").await;
    let sql = shard.session().await;
    sql.batch_execute(SCHEMA).await.expect("schema");
    let from = slot(&shard.dsn(), "missing_s").await;

    let none = StreamStart {
        slot: "nowhere".to_owned(),
        ..from.clone()
    };
    let error = refused(&shard.dsn(), &none).await;
    assert!(
        matches!(error, ReplicationError::SlotMissing { .. }),
        "{error}"
    );

    let mut other = from.clone();
    other.system.timeline += 1;
    let error = refused(&shard.dsn(), &other).await;
    assert!(
        matches!(error, ReplicationError::SystemChanged { .. }),
        "{error}"
    );

    let odd = StreamStart {
        publication: "a, b".to_owned(),
        ..from
    };
    let error = refused(&shard.dsn(), &odd).await;
    assert!(
        matches!(error, ReplicationError::InvalidName { .. }),
        "{error}"
    );
}

#[tokio::test]
async fn a_start_below_the_confirmed_position_is_a_gap() {
    let shard = Shard::new("gap").await;
    let sql = shard.session().await;
    sql.batch_execute(SCHEMA).await.expect("schema");
    let from = slot(&shard.dsn(), "gap_s").await;
    let start = Lsn(from.start.0 - 1);
    let error = refused(
        &shard.dsn(),
        &StreamStart {
            start,
            ..from.clone()
        },
    )
    .await;
    assert_eq!(error.class(), Class::Permanent);
    let ReplicationError::Gap { confirmed, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(confirmed, from.start);
}

#[tokio::test]
async fn a_publication_that_is_missing_is_named() {
    let shard = Shard::new("unpublished").await;
    let sql = shard.session().await;
    sql.batch_execute(SCHEMA).await.expect("schema");
    let mut from = slot(&shard.dsn(), "unpublished_s").await;
    from.publication = "nobody".to_owned();
    let error = refused(&shard.dsn(), &from).await;
    assert_eq!(error.class(), Class::Permanent);
    let ReplicationError::PublicationMissing { publication, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(publication, "nobody");
}

#[tokio::test]
async fn a_slot_that_the_server_invalidated_is_lost() {
    let settings = [("max_slot_wal_keep_size", "1MB"), ("min_wal_size", "32MB")];
    let shard = Shard::with_settings("lost", &settings).await;
    let sql = shard.session().await;
    sql.batch_execute(SCHEMA).await.expect("schema");
    let from = slot(&shard.dsn(), "lost_s").await;
    for key in 0..4 {
        sql.execute("insert into public.t values ($1)", &[&i64::from(key)])
            .await
            .expect("row");
        sql.batch_execute("select pg_switch_wal()")
            .await
            .expect("switched");
    }
    sql.batch_execute("checkpoint").await.expect("checkpoint");
    let error = refused(&shard.dsn(), &from).await;
    assert!(
        matches!(error, ReplicationError::SlotLost { .. }),
        "{error}"
    );
    assert!(
        error
            .hint()
            .expect("a hint")
            .contains("max_slot_wal_keep_size")
    );
}

#[tokio::test]
async fn an_existing_slot_is_not_made_again() {
    let shard = Shard::new("twice").await;
    slot(&shard.dsn(), "twice_s").await;
    let mut session = ReplicationSession::open(&shard.dsn(), "test")
        .await
        .expect("opened");
    let options = SlotOptions {
        temporary: false,
        export: false,
        failover: false,
    };
    let error = session
        .create_slot("twice_s", options)
        .await
        .expect_err("refused");
    assert!(
        matches!(error, ReplicationError::SlotExists { .. }),
        "{error}"
    );
    session
        .identify_system()
        .await
        .expect("the session goes on");
}

#[tokio::test]
async fn a_slot_creation_that_is_given_up_leaves_no_slot() {
    // A server of its own: the writer would hold up the slots of the other tests.
    let shard = Shard::with_settings("given_up", &[]).await;
    let writer = shard.session().await;
    let open = "begin; select pg_current_xact_id()";
    writer.batch_execute(open).await.expect("a transaction id");

    let sql = shard.session().await;
    let mut session = ReplicationSession::open(&shard.dsn(), "test")
        .await
        .expect("opened");
    let pid = session.backend_pid();
    let waits = || async {
        let read = "select wait_event_type = 'Lock' from pg_stat_activity where pid = $1";
        sql.query_one(read, &[&pid])
            .await
            .expect("it runs")
            .get::<_, Option<bool>>(0)
            == Some(true)
    };
    let options = SlotOptions {
        temporary: false,
        export: true,
        failover: false,
    };
    tokio::select! {
        made = session.create_slot("given_up_s", options) => panic!("{made:?}"),
        () = until("the creation waits for the writer", waits) => {}
    }
    let ended = || async {
        let read = "select count(*) from pg_stat_activity where pid = $1";
        sql.query_one(read, &[&pid])
            .await
            .expect("a count")
            .get::<_, i64>(0)
            == 0
    };
    until("the creation is terminated", ended).await;
    writer.batch_execute("commit").await.expect("committed");
    assert_eq!(slots(&sql, "given_up_s").await, 0);
}

#[tokio::test]
async fn a_wrong_password_is_permanent_and_a_stopped_server_transient() {
    let shard = Shard::with_settings("refusals", &[]).await;
    let wrong = shard.dsn_as("postgres", "wrong");
    let error = ReplicationSession::open(&wrong, "test")
        .await
        .expect_err("refused");
    assert_eq!(error.class(), Class::Permanent, "{error}");

    let sql = shard.session().await;
    sql.batch_execute(SCHEMA).await.expect("schema");
    let from = slot(&shard.dsn(), "refusals_s").await;
    let mut stream = ChangeStream::open(&shard.dsn(), "test", &from)
        .await
        .expect("streaming");
    let cluster = shard.cluster.clone();
    let kill = move || cluster.kill().expect("killed");
    tokio::task::spawn_blocking(kill).await.expect("killed");
    let fails = async {
        loop {
            if let Err(error) = stream.next().await {
                return error;
            }
        }
    };
    let error = tokio::time::timeout(Duration::from_secs(60), fails)
        .await
        .expect("in time");
    assert_eq!(error.class(), Class::Transient, "{error}");
    let error = ReplicationSession::open(&shard.dsn(), "test")
        .await
        .expect_err("refused");
    assert_eq!(error.class(), Class::Transient, "{error}");
}
