//! Slots, snapshots and streams as they should be.

use agent::postgres::lsn::Lsn;
use agent::postgres::pgoutput::{Change, LogicalMessage, OldRow, Tuple, TupleValue};
use agent::postgres::replication::{
    ChangeStream, ReplicationSession, SlotOptions, StreamEvent, StreamStart, SystemIdentity,
};
use connect::{Connected, Dsn};

use crate::shard::{LIMIT, Shard, until};

const SCHEMA: &str = "\
    create table public.t (k bigint primary key, v text, big text); \
    alter table public.t alter column big set storage external; \
    create publication moving for table public.t where (k >= 10)";

/// A lasting slot, and where and how to read from it.
pub(crate) async fn slot(dsn: &Dsn, name: &str) -> StreamStart {
    let mut session = ReplicationSession::open(dsn, "test/slot")
        .await
        .expect("opened");
    let system = session.identify_system().await.expect("identified");
    let options = SlotOptions {
        temporary: false,
        export: false,
        failover: false,
    };
    let made = session.create_slot(name, options).await.expect("created");
    assert_eq!(made.snapshot, None);
    start(name, made.consistent_point, system)
}

pub(crate) fn start(name: &str, start: Lsn, system: SystemIdentity) -> StreamStart {
    StreamStart {
        slot: name.to_owned(),
        publication: "moving".to_owned(),
        start,
        system,
        format: plans::table::Format::Text,
        trims: false,
    }
}

pub(crate) async fn next(stream: &mut ChangeStream) -> Change {
    let next = async {
        loop {
            if let StreamEvent::Change { change, .. } = stream.next().await.expect("an event") {
                return change;
            }
        }
    };
    tokio::time::timeout(LIMIT, next)
        .await
        .expect("a change in time")
}

/// The changes of the next transaction without its frame, and the end of its commit.
async fn transaction(stream: &mut ChangeStream) -> (Vec<Change>, Lsn) {
    let Change::Begin(begin) = next(stream).await else {
        panic!("a begin")
    };
    let mut changes = Vec::new();
    loop {
        let change = next(stream).await;
        if let Change::Commit(commit) = change {
            assert_eq!(commit.commit_lsn, begin.final_lsn);
            assert_eq!(commit.commit_time_us, begin.commit_time_us);
            assert!(commit.end_lsn > commit.commit_lsn);
            return (changes, commit.end_lsn);
        }
        if !matches!(change, Change::Relation(_)) {
            changes.push(change);
        }
    }
}

/// A row change in words.
fn told(change: &Change) -> String {
    if let Change::Insert { new, .. } = change {
        return format!("insert {}", texts(new).join(" "));
    }
    if let Change::Update { old, new, .. } = change {
        let new = texts(new).join(" ");
        return match old {
            OldRow::Absent => format!("update {new}"),
            OldRow::Key(old) | OldRow::Full(old) => format!("update {} to {new}", texts(old)[0]),
        };
    }
    let Change::Delete {
        old: OldRow::Key(old),
        ..
    } = change
    else {
        panic!("{change:?}")
    };
    format!("delete {}", texts(old)[0])
}

fn texts(tuple: &Tuple) -> Vec<String> {
    let text = |value: &TupleValue| match value {
        TupleValue::Text(bytes) => String::from_utf8(bytes.to_vec()).expect("text"),
        TupleValue::Null
        | TupleValue::UnchangedToast
        | TupleValue::LeftOut
        | TupleValue::Binary(_) => {
            format!("{value:?}")
        }
    };
    tuple.0.iter().map(text).collect()
}

pub(crate) async fn confirmed(session: &Connected, slot: &str) -> Lsn {
    let read = "select confirmed_flush_lsn from pg_replication_slots where slot_name = $1";
    session
        .query_one(read, &[&slot])
        .await
        .expect("one slot")
        .get(0)
}

#[tokio::test]
async fn the_exported_snapshot_sees_exactly_what_the_slot_does_not_send() {
    let shard = Shard::new("snapshot").await;
    let sql = shard.session().await;
    sql.batch_execute(SCHEMA).await.expect("schema");
    sql.batch_execute("insert into public.t values (10, 'before')")
        .await
        .expect("inserted");

    let dsn = shard.dsn();
    let mut owner = ReplicationSession::open(&dsn, "test/owner")
        .await
        .expect("opened");
    let system = owner.identify_system().await.expect("identified");
    let options = SlotOptions {
        temporary: false,
        export: true,
        failover: false,
    };
    let made = owner
        .create_slot("snapshot_s", options)
        .await
        .expect("created");
    sql.batch_execute("insert into public.t values (11, 'after')")
        .await
        .expect("inserted");

    let import = format!(
        "begin isolation level repeatable read; set transaction snapshot '{}'",
        made.snapshot.expect("a snapshot")
    );
    let reader = shard.session().await;
    reader.batch_execute(&import).await.expect("imported");
    let rows = reader
        .query("select v from public.t", &[])
        .await
        .expect("read");
    assert_eq!(
        rows.iter().map(|row| row.get(0)).collect::<Vec<String>>(),
        ["before"]
    );
    drop(owner);

    let from = start("snapshot_s", made.consistent_point, system);
    let mut stream = ChangeStream::open(&dsn, "test", &from)
        .await
        .expect("streaming");
    let (changes, _) = transaction(&mut stream).await;
    let [Change::Insert { new, .. }] = changes.as_slice() else {
        panic!("{changes:?}")
    };
    assert_eq!(texts(new), ["11", "after", "Null"]);
}

#[tokio::test]
async fn the_row_filter_turns_moves_over_its_border_into_inserts_and_deletes() {
    let shard = Shard::new("row_filter").await;
    let sql = shard.session().await;
    sql.batch_execute(SCHEMA).await.expect("schema");
    let from = slot(&shard.dsn(), "row_filter_s").await;
    let run = "begin; \
        insert into public.t values (1, 'outside'), (10, 'inside'); \
        update public.t set v = 'changed' where k = 10; \
        update public.t set k = 11 where k = 10; \
        update public.t set k = 12 where k = 1; \
        update public.t set k = 2 where k = 11; \
        delete from public.t; commit";
    sql.batch_execute(run).await.expect("run");

    let mut stream = ChangeStream::open(&shard.dsn(), "test", &from)
        .await
        .expect("streaming");
    let (changes, _) = transaction(&mut stream).await;
    let told: Vec<_> = changes.iter().map(told).collect();
    assert_eq!(
        told,
        [
            "insert 10 inside Null",
            "update 10 changed Null",
            "update 10 to 11 changed Null",
            "insert 12 outside Null",
            "delete 11",
            "delete 12",
        ]
    );
}

#[tokio::test]
async fn values_out_of_line_are_sent_only_when_they_change() {
    let shard = Shard::new("toast").await;
    let sql = shard.session().await;
    sql.batch_execute(SCHEMA).await.expect("schema");
    let from = slot(&shard.dsn(), "toast_s").await;
    let big = "insert into public.t values (10, 'a', repeat('0123456789', 1000))";
    sql.batch_execute(big).await.expect("inserted");
    sql.batch_execute("update public.t set v = 'b'")
        .await
        .expect("updated");

    let mut stream = ChangeStream::open(&shard.dsn(), "test", &from)
        .await
        .expect("streaming");
    let (inserted, _) = transaction(&mut stream).await;
    let [Change::Insert { new, .. }] = inserted.as_slice() else {
        panic!("{inserted:?}")
    };
    assert_eq!(texts(new)[2].len(), 10_000);
    let (updated, _) = transaction(&mut stream).await;
    let [
        Change::Update {
            old: OldRow::Absent,
            new,
            ..
        },
    ] = updated.as_slice()
    else {
        panic!("{updated:?}")
    };
    assert_eq!(texts(new), ["10", "b", "UnchangedToast"]);
}

#[tokio::test]
async fn a_message_arrives_in_its_place_within_its_transaction() {
    let shard = Shard::new("message").await;
    let sql = shard.session().await;
    sql.batch_execute(SCHEMA).await.expect("schema");
    let from = slot(&shard.dsn(), "message_s").await;
    let run = "begin; insert into public.t values (10); \
        select pg_logical_emit_message(true, 'shardwright', 'marker ä'); \
        insert into public.t values (11); commit; \
        select pg_logical_emit_message(true, 'shardwright', 'alone')";
    sql.batch_execute(run).await.expect("run");

    let mut stream = ChangeStream::open(&shard.dsn(), "test", &from)
        .await
        .expect("streaming");
    let (changes, _) = transaction(&mut stream).await;
    let [
        Change::Insert { .. },
        Change::Message(marker),
        Change::Insert { .. },
    ] = changes.as_slice()
    else {
        panic!("{changes:?}")
    };
    assert!(marker.transactional && marker.lsn > from.start);
    assert_eq!(
        (marker.prefix.as_str(), &marker.content[..]),
        ("shardwright", "marker ä".as_bytes())
    );
    let (changes, _) = transaction(&mut stream).await;
    let [Change::Message(LogicalMessage { content, .. })] = changes.as_slice() else {
        panic!("{changes:?}")
    };
    assert_eq!(&content[..], b"alone");
}

#[tokio::test]
async fn the_origin_of_a_replayed_transaction_is_told() {
    let shard = Shard::new("origin").await;
    let sql = shard.session().await;
    sql.batch_execute(SCHEMA).await.expect("schema");
    let from = slot(&shard.dsn(), "origin_s").await;
    let run = "select pg_replication_origin_create('elsewhere'); \
        select pg_replication_origin_session_setup('elsewhere'); \
        begin; select pg_replication_origin_xact_setup('0/AB', now()); \
        insert into public.t values (10); commit";
    for statement in run.split("; ") {
        sql.batch_execute(statement).await.expect(statement);
    }

    let mut stream = ChangeStream::open(&shard.dsn(), "test", &from)
        .await
        .expect("streaming");
    let (changes, _) = transaction(&mut stream).await;
    let [Change::Origin { commit_lsn, name }, Change::Insert { .. }] = changes.as_slice() else {
        panic!("{changes:?}")
    };
    assert_eq!((name.as_str(), *commit_lsn), ("elsewhere", Lsn(0xAB)));
}

#[tokio::test]
async fn only_what_was_confirmed_is_not_sent_again() {
    let shard = Shard::new("confirm").await;
    let sql = shard.session().await;
    sql.batch_execute(SCHEMA).await.expect("schema");
    let dsn = shard.dsn();
    let from = slot(&dsn, "confirm_s").await;
    sql.batch_execute("insert into public.t values (10)")
        .await
        .expect("inserted");
    sql.batch_execute("insert into public.t values (11)")
        .await
        .expect("inserted");

    let mut stream = ChangeStream::open(&dsn, "test", &from)
        .await
        .expect("streaming");
    let (first, end) = transaction(&mut stream).await;
    transaction(&mut stream).await;
    stream.close().await.expect("closed");
    assert_eq!(confirmed(&sql, "confirm_s").await, from.start);

    let again = released(&dsn, &from).await;
    let mut stream = again;
    assert_eq!(transaction(&mut stream).await, (first, end));
    stream.confirm(end);
    until("the slot moved", || async {
        confirmed(&sql, "confirm_s").await == end
    })
    .await;
    let (_, last) = transaction(&mut stream).await;
    stream.confirm(last);
    stream.close().await.expect("closed");
    until("the last report", || async {
        confirmed(&sql, "confirm_s").await == last
    })
    .await;
}

/// Opens as soon as the server has noticed that the reader before is gone.
pub(crate) async fn released(dsn: &Dsn, from: &StreamStart) -> ChangeStream {
    let retry = async {
        loop {
            match ChangeStream::open(dsn, "test", from).await {
                Ok(stream) => return stream,
                Err(error) => assert_eq!(error.class(), connect::Class::Transient, "{error}"),
            }
        }
    };
    tokio::time::timeout(LIMIT, retry)
        .await
        .expect("released in time")
}

#[tokio::test]
async fn a_temporary_slot_goes_with_its_session() {
    let shard = Shard::new("temporary").await;
    let sql = shard.session().await;
    let mut session = ReplicationSession::open(&shard.dsn(), "test")
        .await
        .expect("opened");
    let options = SlotOptions {
        temporary: true,
        export: true,
        failover: false,
    };
    session
        .create_slot("temporary_s", options)
        .await
        .expect("created");
    assert_eq!(slots(&sql, "temporary_s").await, 1);
    drop(session);
    until("the slot is gone", || async {
        slots(&sql, "temporary_s").await == 0
    })
    .await;
}

pub(crate) async fn slots(session: &Connected, slot: &str) -> i64 {
    let count = "select count(*) from pg_replication_slots where slot_name = $1";
    session
        .query_one(count, &[&slot])
        .await
        .expect("a count")
        .get(0)
}

#[tokio::test]
async fn a_role_with_replication_and_nothing_else_suffices() {
    let shard = Shard::new("plain_role").await;
    let sql = shard.session().await;
    sql.batch_execute(SCHEMA).await.expect("schema");
    let role = "create role mover login replication password 'mover'";
    sql.batch_execute(role).await.expect("created");
    let dsn = shard.dsn_as("mover", "mover");
    let from = slot(&dsn, "plain_role_s").await;
    sql.batch_execute("insert into public.t values (10)")
        .await
        .expect("inserted");
    let mut stream = ChangeStream::open(&dsn, "test", &from)
        .await
        .expect("streaming");
    assert_eq!(transaction(&mut stream).await.0.len(), 1);
}
