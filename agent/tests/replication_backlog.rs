//! A backlog is read by SQL, once and in order, and a walsender goes on behind it.
//!
//! Servers of their own: what is a backlog depends on all that is written to a log.

use agent::postgres::lsn::Lsn;
use agent::postgres::pgoutput::{Change, Tuple, TupleValue};
use agent::postgres::replication::{ChangeStream, StreamEvent, StreamStart};
use connect::{Connected, Dsn};

use crate::replication::{confirmed, next, released, slot};
use crate::shard::{Shard, until};

const SCHEMA: &str = "\
    create table public.t (k bigint primary key, v text, big text); \
    alter table public.t alter column v set storage plain, alter column big set storage external; \
    create publication moving for table public.t";

/// Transactions of a backlog.
const TRANSACTIONS: i64 = 60;
/// Among the first the stream goes over to what is read by SQL; behind them is more than is read ahead.
const FIRST: i64 = 10;
const ROWS: i64 = 500;
/// Bytes of a row: half a MiB of the log for a transaction.
const NARROW: u32 = 1000;

async fn write(sql: &Connected, first: i64) {
    for transaction in first..first + TRANSACTIONS {
        let from = transaction * ROWS;
        let insert = format!(
            "insert into public.t select k, repeat('x', {NARROW}) from generate_series({from}, {}) k",
            from + ROWS - 1
        );
        sql.batch_execute(&insert).await.expect("written");
    }
}

async fn end_of_log(sql: &Connected) -> Lsn {
    let read = "select pg_current_wal_flush_lsn()";
    sql.query_one(read, &[]).await.expect("read").get(0)
}

/// Temporary copies of a slot, and whether a walsender has the slot itself.
async fn readers(sql: &Connected) -> (i64, bool) {
    let read = "select count(*) filter (where temporary), bool_or(active and not temporary) \
                from pg_replication_slots where database = current_database()";
    let row = sql.query_one(read, &[]).await.expect("read");
    (row.get(0), row.get(1))
}

fn key(row: &Tuple) -> i64 {
    let TupleValue::Text(text) = &row.0[0] else {
        panic!("{row:?}")
    };
    let text = str::from_utf8(text).expect("text");
    text.parse().expect("a number")
}

/// The keys of the next transaction's rows, and its end.
async fn keys(stream: &mut ChangeStream) -> (Vec<i64>, Lsn) {
    let (rows, end) = rows(stream).await;
    (rows.iter().map(key).collect(), end)
}

/// The next transaction's rows, and its end.
async fn rows(stream: &mut ChangeStream) -> (Vec<Tuple>, Lsn) {
    let mut rows = Vec::new();
    loop {
        match next(stream).await {
            Change::Insert { new, .. } => rows.push(new),
            Change::Commit(commit) => return (rows, commit.end_lsn),
            Change::Begin(_) | Change::Relation(_) => {}
            other @ (Change::Origin { .. }
            | Change::Type(_)
            | Change::Update { .. }
            | Change::Delete { .. }
            | Change::Truncate { .. }
            | Change::Message(_)) => panic!("{other:?}"),
        }
    }
}

fn rows_of(transaction: i64) -> Vec<i64> {
    (transaction * ROWS..(transaction + 1) * ROWS).collect()
}

async fn backlog(shard: &Shard, dsn: &Dsn, name: &str) -> (Connected, StreamStart, ChangeStream) {
    let sql = shard.session().await;
    sql.batch_execute(SCHEMA).await.expect("schema");
    let from = slot(dsn, name).await;
    write(&sql, 0).await;
    let mut stream = ChangeStream::open(dsn, "test/backlog", &from)
        .await
        .expect("streaming");
    stream.wrote(end_of_log(&sql).await);
    (sql, from, stream)
}

/// Waits until the first piece has been read, which is asked for with the transaction that is taken here, and no more of
/// it is read ahead.
async fn first_piece(sql: &Connected, from: &StreamStart, stream: &mut ChangeStream) -> String {
    assert_eq!(keys(stream).await.0, rows_of(0));
    let next = keys(stream);
    let read = "select slot_name::text, confirmed_flush_lsn \
                from pg_replication_slots join pg_stat_activity on pid = active_pid \
                where temporary and database = current_database() and wait_event = 'ClientWrite'";
    let copy = async {
        loop {
            if let Some(row) = sql.query_opt(read, &[]).await.expect("read")
                && row.get::<_, Option<Lsn>>(1) > Some(from.start)
            {
                return row.get(0);
            }
        }
    };
    let ((found, _), copy) = tokio::join!(next, copy);
    assert_eq!(found, rows_of(1));
    copy
}

/// Takes the first transactions, and waits until no walsender has the slot; the end of what was taken. One that is
/// decoding does not notice before it sends that nobody is there any more.
async fn gone_over(sql: &Connected, stream: &mut ChangeStream) -> Lsn {
    let mut taken = Lsn::ZERO;
    for transaction in 2..FIRST {
        let (found, end) = keys(stream).await;
        assert_eq!(found, rows_of(transaction));
        assert_eq!(readers(sql).await.0, 1, "it is being read by SQL");
        taken = end;
    }
    until("the walsender is gone", || async {
        readers(sql).await == (1, false)
    })
    .await;
    taken
}

#[tokio::test]
async fn a_backlog_is_read_once_and_in_order_and_a_walsender_goes_on() {
    let shard = Shard::with_settings("backlog", &[]).await;
    let role = "create role reader login replication password 'reader'";
    let sql = shard.session().await;
    sql.batch_execute(role).await.expect("created");
    let dsn = shard.dsn_as("reader", "reader");
    let (sql, from, mut stream) = backlog(&shard, &dsn, "shardwright_x_fwd").await;
    let copy = first_piece(&sql, &from, &mut stream).await;
    assert!(copy.starts_with("shardwright_x_cmp_"), "{copy}");

    // What comes meanwhile is of the next transactions.
    write(&sql, TRANSACTIONS).await;
    let mut last = gone_over(&sql, &mut stream).await;
    for transaction in FIRST..2 * TRANSACTIONS {
        let (found, end) = keys(&mut stream).await;
        assert_eq!(found, rows_of(transaction));
        assert!(end > last, "{end} behind {last}");
        last = end;
    }
    let confirmed = || confirmed(&sql, &from.slot);
    assert_eq!(confirmed().await, from.start, "nothing was confirmed");
    stream.confirm(last);

    sql.batch_execute("insert into public.t values (-1, 'live')")
        .await
        .expect("written");
    assert_eq!(keys(&mut stream).await.0, [-1]);
    // The backlog may have ended with it; its end comes with the next.
    sql.batch_execute("insert into public.t values (-2, 'live')")
        .await
        .expect("written");
    assert_eq!(keys(&mut stream).await.0, [-2]);
    until("the copy is gone", || async {
        readers(&sql).await == (0, true)
    })
    .await;
    until("it was told", || async { confirmed().await == last }).await;
}

#[tokio::test]
async fn a_row_that_is_larger_than_what_is_read_ahead_arrives() {
    wide("backlog_wide", false).await;
}

#[tokio::test]
async fn a_very_large_value_is_left_out_where_that_is_asked_for() {
    wide("backlog_trimmed", true).await;
}

/// Three very large rows behind a backlog, and one that a walsender sends; their values are there, or left out.
async fn wide(name: &str, trims: bool) {
    let shard = Shard::with_settings(name, &[]).await;
    let (sql, mut from, stream) = backlog(&shard, &shard.dsn(), "backlog_wide_s").await;
    drop(stream);
    from.trims = trims;
    let mut stream = released(&shard.dsn(), &from).await;
    stream.wrote(end_of_log(&sql).await);
    let wide =
        "insert into public.t select -k, '', repeat('x', 12 << 20) from generate_series(1, 3) k";
    sql.batch_execute(wide).await.expect("written");
    first_piece(&sql, &from, &mut stream).await;
    gone_over(&sql, &mut stream).await;
    for transaction in FIRST..TRANSACTIONS {
        assert_eq!(keys(&mut stream).await.0, rows_of(transaction));
    }
    large(&mut stream, &[-1, -2, -3], trims).await;
    sql.batch_execute("insert into public.t values (-4, '', repeat('x', 12 << 20))")
        .await
        .expect("written");
    large(&mut stream, &[-4], trims).await;
}

/// The next transaction has these rows; their last values are there, or left out.
async fn large(stream: &mut ChangeStream, expected: &[i64], left_out: bool) {
    let (rows, _) = rows(stream).await;
    assert_eq!(rows.iter().map(key).collect::<Vec<_>>(), expected);
    let is_left_out = |row: &Tuple| row.0[2] == TupleValue::LeftOut;
    assert!(
        rows.iter().all(|row| is_left_out(row) == left_out),
        "{rows:?}"
    );
}

#[tokio::test]
async fn a_walsender_reads_the_backlog_where_a_role_may_not_copy_the_slot() {
    let shard = Shard::new("backlog_refused").await;
    let sql = shard.session().await;
    let role = "create role sender login replication password 'sender'; \
        revoke execute on function pg_copy_logical_replication_slot(name, name, boolean) from public";
    sql.batch_execute(role).await.expect("created");
    let dsn = shard.dsn_as("sender", "sender");
    let (sql, _, mut stream) = backlog(&shard, &dsn, "backlog_refused_s").await;
    for transaction in 0..TRANSACTIONS {
        assert_eq!(keys(&mut stream).await.0, rows_of(transaction));
        assert_eq!(readers(&sql).await, (0, true));
    }
}

#[tokio::test]
async fn a_walsender_reads_the_backlog_where_somebody_waits() {
    let shard = Shard::new("backlog_stays").await;
    let (sql, _, mut stream) = backlog(&shard, &shard.dsn(), "backlog_stays_s").await;
    stream.stay();
    for transaction in 0..TRANSACTIONS {
        assert_eq!(keys(&mut stream).await.0, rows_of(transaction));
        assert_eq!(readers(&sql).await, (0, true));
    }
}

#[tokio::test]
async fn nothing_is_lost_with_the_session_that_reads_a_backlog() {
    let shard = Shard::with_settings("backlog_lost", &[]).await;
    let dsn = shard.dsn();
    let (sql, mut from, mut stream) = backlog(&shard, &dsn, "backlog_lost_s").await;
    first_piece(&sql, &from, &mut stream).await;
    let mut taken = gone_over(&sql, &mut stream).await;
    let mut transaction = FIRST;
    let terminate = "select count(pg_terminate_backend(active_pid)) from pg_replication_slots \
                     where temporary and database = current_database()";
    let ended: i64 = sql.query_one(terminate, &[]).await.expect("ended").get(0);
    assert_eq!(ended, 1);

    // Whole transactions until the session's end is noticed; then from the slot again.
    let mut found = Vec::new();
    while transaction < TRANSACTIONS
        && let Ok(event) = stream.next().await
    {
        let StreamEvent::Change { change, .. } = event else {
            continue;
        };
        if let Change::Insert { new, .. } = &change {
            found.push(key(new));
        }
        if let Change::Commit(commit) = change {
            assert_eq!(std::mem::take(&mut found), rows_of(transaction));
            (transaction, taken) = (transaction + 1, commit.end_lsn);
        }
    }
    drop(stream);
    from.start = taken;
    let mut again = released(&dsn, &from).await;
    for transaction in transaction..TRANSACTIONS {
        assert_eq!(keys(&mut again).await.0, rows_of(transaction));
    }
    sql.batch_execute("insert into public.t values (-1, 'live')")
        .await
        .expect("written");
    assert_eq!(keys(&mut again).await.0, [-1]);
}
