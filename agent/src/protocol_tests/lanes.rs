//! Two sessions apply a backlog together. If one of them fails between their commits, each change is still applied once
//! (ADR 39).

use plans::id::AttemptNo;
use std::sync::Arc;
use std::time::Duration;

use connect::Connected;
use plans::names::Direction;
use plans::request::Options;
use plans::step::StepKind;
use plans::wire::Dispatch;

use super::apply::halted;
use super::bench::{Bench, pid, until_old};
use super::interrupted::after_preflight;
use super::shard::until;
use super::spool::Folder;
use crate::migration::context::StepContext;
use crate::postgres::lsn::Lsn;
use crate::shard::epoch;
use crate::stream::ApplyStream;

const FORWARD: Direction = Direction::Forward;
/// The time in which a test looks for what is true only while a session waits in a shared batch.
const SHARED_WAIT: Duration = Duration::from_millis(400);

/// Tables whose rows have a large value, rows without one, and rows that are changed one by one in a binary stream.
const TABLES: &str = "
    create table public.item (tenant_id bigint, id bigint, v text, big text, primary key (tenant_id, id));
    alter table public.item alter column big set storage external;
    create table public.note (tenant_id bigint, id bigint, v text, primary key (tenant_id, id));
    create table public.list (tenant_id bigint, id bigint, v bigint[], primary key (tenant_id, id))";

/// More than six thousand changes, ten per transaction: inserts, updates and deletes of the same rows. `moves` percent
/// of the transactions move a row to another key, which the sessions cannot share.
const WORK: &str = "
    create procedure public.work(seed float, moves int) language plpgsql as $$
    declare owner bigint; number bigint;
    begin
      perform setseed(seed);
      for t in 1..900 loop
        for n in 1..10 loop
          owner := 100 + (random() * 3)::int; number := (random() * 300)::int;
          case (random() * 4)::int
            when 0, 1 then insert into public.item values (owner, number, 'n', repeat(md5(n::text), 100)) on conflict do nothing;
            when 2 then update public.item set v = v || n where (tenant_id, id) = (owner, number);
            when 3 then delete from public.item where (tenant_id, id) = (owner, number);
            else insert into public.note values (owner, number, n) on conflict (tenant_id, id) do update set v = note.v || n;
          end case;
        end loop;
        insert into public.list values (owner, number, array[t]) on conflict (tenant_id, id) do update set v = list.v || t::bigint;
        if random() * 100 < moves then
          update public.note set id = 1000 + t, tenant_id = 199 where (tenant_id, id) = (owner, number);
        end if;
        commit;
      end loop;
    end $$";

/// On the target, commits of the first session fail as `public.fails` requests: of each three commits, the first
/// `most`.
const FAILS: &str = "
    create table public.fails (most int); insert into public.fails values (0); create sequence public.commits;
    create function public.fail() returns trigger language plpgsql as $$
      begin
        if nextval('public.commits') % 3 < (select most from public.fails) then
          raise exception using errcode = '40001', message = 'not this time';
        end if;
        return null;
      end $$;
    create constraint trigger fails after insert or update on shardwright.progress deferrable initially deferred
      for each row when (new.direction = 'forward') execute function public.fail();
    alter table shardwright.progress enable always trigger fails";

/// Creates a move whose changes wait for the stream.
async fn captured(name: &str) -> (Bench, connect::Connected, connect::Connected) {
    let bench = Bench::new(name, TABLES).await;
    bench.capture(FORWARD).await;
    let (app, there) = (bench.source.session().await, bench.target.session().await);
    app.batch_execute(WORK).await.expect("work");
    there.batch_execute(FAILS).await.expect("a trigger");
    (bench, app, there)
}

async fn fails(there: &Connected, most: i32) {
    let set = "update public.fails set most = $1";
    there.execute(set, &[&most]).await.expect("set");
}

/// Writes changes and waits until they are old enough to be a backlog.
async fn work(app: &Connected, seed: f64, moves: i32) {
    let call = format!("call public.work({seed}, {moves})");
    app.batch_execute(&call).await.expect("worked");
    until_old().await;
}

/// Returns the positions of both sessions: that of the progress row, and that of the second session.
async fn lanes(there: &Connected) -> (Lsn, Lsn) {
    let read = "select coalesce(max(lsn) filter (where direction = 'forward'), '0/0'),
                       coalesce(max(lsn) filter (where direction <> 'forward'), '0/0') from shardwright.progress";
    let row = there.query_one(read, &[]).await.expect("read");
    (row.get(0), row.get(1))
}

async fn until_second_is_ahead(there: &Connected) {
    until("the second session is ahead", || async {
        let (first, second) = lanes(there).await;
        second > first
    })
    .await;
}

async fn drained(bench: &Bench, stream: &ApplyStream) {
    bench.drain(stream).await.expect("drained");
    assert!(bench.assert_equal().await > 100);
}

#[tokio::test]
async fn a_backlog_is_applied_by_two_sessions() {
    let (bench, app, there) = captured("lanes").await;
    work(&app, 0.1, 0).await;
    let stream = bench.stream(FORWARD).await;
    drained(&bench, &stream).await;
    let (first, second) = lanes(&there).await;
    assert!(second > Lsn(0) && second <= first, "{second} {first}");
    // Later single changes need no second session, and its position stays the same.
    app.batch_execute("insert into public.note values (150, 1, 'x')")
        .await
        .expect("written");
    drained(&bench, &stream).await;
    assert_eq!(lanes(&there).await.1, second);
}

/// Starts the stream that an agent starts for the step of a request with these options.
async fn dispatched(bench: &Bench, spools: &Folder, options: Options) -> StepContext {
    let mut context = after_preflight(bench, StepKind::CatchUp, spools).await;
    context.dispatch = Arc::new(Dispatch {
        options,
        ..(*context.dispatch).clone()
    });
    context.ensure_stream(FORWARD).await.expect("a stream");
    context
}

#[tokio::test]
async fn one_session_applies_a_backlog_alone_where_the_request_has_it_so() {
    let (bench, app, there) = captured("lanes_alone").await;
    let spools = Folder::new(&bench);
    for (sessions, seed) in [(1, 0.1), (2, 0.2)] {
        work(&app, seed, 0).await;
        let options = Options {
            apply_sessions: sessions,
            ..Options::default()
        };
        let context = dispatched(&bench, &spools, options).await;
        {
            let stream = context.session.stream.lock().await;
            drained(&bench, stream.as_ref().expect("a stream")).await;
        }
        context.session.stop_stream().await;
        let (_, second) = lanes(&there).await;
        assert_eq!(second > Lsn(0), sessions == 2, "{sessions} {second}");
    }
}

/// Writes transactions that insert `rows` rows with this value. A batch contains as many transactions as fit into a
/// piece.
async fn are_shared(name: &str, rows: i64, value: &str) {
    let (bench, app, there) = captured(name).await;
    for tenant in 100..106 {
        let fill = format!(
            "insert into public.note select {tenant}, g, {value} from generate_series(1, {rows}) g"
        );
        app.batch_execute(&fill).await.expect("filled");
    }
    until_old().await;
    fails(&there, 3).await;
    let stream = bench.stream(FORWARD).await;
    until_second_is_ahead(&there).await;
    fails(&there, 0).await;
    drained(&bench, &stream).await;
}

#[tokio::test]
async fn large_transactions_are_shared() {
    are_shared("lanes_many", 20_000, "'x'").await;
}

#[tokio::test]
async fn transactions_of_wide_rows_are_shared() {
    are_shared("lanes_wide", 1_000, "repeat('x', 1024)").await;
}

#[tokio::test]
async fn what_the_second_session_has_committed_is_not_applied_again() {
    let (bench, app, there) = captured("lanes_ahead").await;
    fails(&there, 3).await;
    work(&app, 0.2, 0).await;
    let stream = ApplyStream::start(bench.spec(FORWARD).await, true, true);
    until_second_is_ahead(&there).await;
    // Other sessions can see the rows of the second session, so their keys must already be recorded as dirty.
    let read = "select coalesce(sum(size), 0)::bigint from shardwright.dirty";
    let known: i64 = there.query_one(read, &[]).await.expect("read").get(0);
    assert!(known > 0);
    // Another agent continues from this state.
    stream.stop().await;
    fails(&there, 0).await;
    let stream = bench.stream(FORWARD).await;
    drained(&bench, &stream).await;
    let (first, second) = lanes(&there).await;
    assert!(second <= first);
}

#[tokio::test]
async fn commits_that_fail_between_the_sessions_lose_and_double_nothing() {
    let (bench, app, there) = captured("lanes_fuzz").await;
    let mut shared = std::collections::BTreeSet::new();
    for round in 0..6 {
        fails(&there, round % 3).await;
        // In every second round, some batches contain rows that get other keys.
        let moves = if round % 2 == 0 { 0 } else { 1 };
        work(&app, 0.3 + f64::from(round) / 100.0, moves).await;
        let stream = bench.stream(FORWARD).await;
        drained(&bench, &stream).await;
        stream.stop().await;
        shared.insert(lanes(&there).await.1);
    }
    assert!(shared.len() >= 3, "{shared:?}");
}

/// A comparison must not see the rows of one session without those of the other.
#[tokio::test]
async fn a_stream_that_is_parked_has_what_both_sessions_have() {
    let (bench, app, there) = captured("lanes_park").await;
    fails(&there, 3).await;
    work(&app, 0.4, 0).await;
    let stream = bench.stream(FORWARD).await;
    until_second_is_ahead(&there).await;
    let letting = async {
        fails(&there, 0).await;
    };
    let (held, ()) = tokio::join!(stream.pause(), letting);
    let held = held.expect("held");
    let (at, source, _slot) = super::park::point(&bench, 1).await;
    let (parked, ()) = tokio::join!(held.park(at), super::park::mark(&bench));
    parked.expect("parked");
    let target = bench.ours(&bench.target).await;
    assert_eq!(bench.rows(&source).await, bench.rows(&target).await);
}

/// A third session holds a row of one session and waits for a row of the other, so the three wait for each other. No
/// server can detect this deadlock.
#[tokio::test]
async fn sessions_that_wait_for_each_other_through_another_one_continue_alone() {
    let (bench, app, there) = captured("lanes_wait").await;
    let fill = "insert into public.item select 100 + g % 4, g, 'v' from generate_series(1, 400) g";
    app.batch_execute(fill).await.expect("filled");
    let stream = bench.stream(FORWARD).await;
    drained(&bench, &stream).await;
    stream.stop().await;
    // The first session waits for 500 ms at most. On busy cores the second one may need longer for its rows; then they
    // never wait for each other, and a new stream shares its first batch again.
    let mut tries = 0;
    while !share_a_batch_in_a_circle(&bench, &app, &there).await {
        tries += 1;
        assert!(tries < 8, "the sessions never waited for each other");
    }
    assert!(bench.assert_equal().await > 100);
}

/// Lets a new stream share a batch while another session has a row of the first session, and then requests a row of the
/// second one. Returns whether the two sessions and the other one waited in a circle.
async fn share_a_batch_in_a_circle(bench: &Bench, app: &Connected, there: &Connected) -> bool {
    let update = "do $$ begin
        for n in 1..10 loop update public.item set v = v || n; commit; end loop; end $$";
    app.batch_execute(update).await.expect("updated");
    work(app, 0.5, 0).await;
    // One row of the second session, and one of the first.
    let row =
        |id: i64| format!("select from public.item where (tenant_id, id) = (103, {id}) for update");
    let other = bench.target.session().await;
    let hold = format!("begin; {}", row(3));
    other.batch_execute(&hold).await.expect("held");
    let stream = bench.stream(FORWARD).await;
    let holder = pid(&other).await;
    let circle = async {
        let waits = "select 1 from pg_stat_activity where $1 = any(pg_blocking_pids(pid))";
        let mut second_has_its_row = false;
        until("one session waits for the row", || async {
            there
                .query_opt(waits, &[&holder])
                .await
                .expect("read")
                .is_some()
        })
        .await;
        // While the first session waits in the shared batch, or until it has given the batch up.
        let limit = tokio::time::Instant::now() + SHARED_WAIT;
        while !second_has_its_row && tokio::time::Instant::now() < limit {
            let free = there
                .query_opt(&format!("{} skip locked", row(399)), &[])
                .await;
            second_has_its_row = free.expect("read").is_none();
        }
        let done = other.batch_execute(&row(399)).await;
        // The server may choose this transaction as the victim when it sees the first session wait for it.
        let end = if done.is_ok() { "commit" } else { "rollback" };
        other.batch_execute(end).await.expect("ended");
        second_has_its_row
    };
    let (done, was_circular) = tokio::join!(bench.drain(&stream), circle);
    done.expect("drained");
    stream.stop().await;
    was_circular
}

/// A register write waits until no worker is in a transaction. No worker may then wait for one that queues after the
/// register write.
#[tokio::test]
async fn a_register_write_that_waits_for_the_one_session_does_not_stop_the_other() {
    let (bench, app, _there) = captured("lanes_register").await;
    work(&app, 0.6, 0).await;
    let ours = bench.ours(&bench.target).await;
    let stream = bench.stream(FORWARD).await;
    let mut drained = std::pin::pin!(bench.drain(&stream));
    let mut writes = 0;
    loop {
        tokio::select! {
            done = &mut drained => { done.expect("drained"); break }
            begun = epoch::begin_attempt(&ours, &bench.token, AttemptNo(1)) => {
                begun.expect("alone");
                epoch::rollback(&ours).await;
                writes += 1;
            }
        }
    }
    assert!(bench.assert_equal().await > 100);
    assert!(writes > 0);
}

#[tokio::test]
async fn rows_that_were_divided_in_another_way_are_not_gone_on_with() {
    let (bench, app, there) = captured("lanes_other").await;
    let other = "insert into shardwright.progress (migration, direction, lsn)
                 select migration, 'forward, second lane by something else', '7FFFFFFF/0' from shardwright.progress";
    there.batch_execute(other).await.expect("written");
    app.batch_execute("insert into public.note values (150, 1, 'x')")
        .await
        .expect("written");
    let stream = bench.stream(FORWARD).await;
    let (code, _) = halted(&stream).await;
    assert_eq!(code, "stream.division");
}
