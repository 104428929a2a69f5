//! The setting `synchronous_standby_names`: the original value returns, whichever process removes the agent's name.

use connect::Connected;
use plans::fleet::ShardRef;
use plans::id::AttemptNo;
use plans::inspection::inventory::{InventoryTask, Object, ObjectKind};
use plans::inspection::sweep::{SweepInput, SweepTask, decide_sweeps};
use plans::inspection::{Inspected, Inspection};
use plans::names::Direction;
use plans::sql::quote_literal;

use super::super::bench::{Bench, ITEM, code};
use super::super::shard::until;
use super::process::{AgentProcess, program};
use super::{FAR, setting, until_degraded};
use crate::inspect;
use crate::shard::dual_write::{self, OwnershipProof};
use crate::shard::epoch;
use crate::stream::ApplyStream;
use crate::stream::dual_write::DualWrite;

/// Opens a session that changes the setting as the agent does.
async fn changing(bench: &Bench) -> connect::Connected {
    let session = bench.ours(&bench.source).await;
    dual_write::prepare_session(&session)
        .await
        .expect("prepared");
    session
}

async fn set(session: &Connected, value: &str) {
    let value = quote_literal(value);
    let sql = format!("alter system set synchronous_standby_names = {value}");
    session.batch_execute(&sql).await.expect("set");
    session
        .batch_execute("select pg_reload_conf()")
        .await
        .expect("reloaded");
}

async fn until_set(bench: &Bench, value: &str) {
    until("the server has it", || async {
        setting(&bench.source).await == value
    })
    .await;
}

#[tokio::test]
async fn the_names_of_real_standbys_are_put_back_as_they_were() {
    let bench = Bench::each_alone("dwnames", ITEM).await;
    let session = changing(&bench).await;
    let mut second = bench.token.clone();
    second.migration = "dwsecond".into();
    epoch::enrol(&session, &second, "source", "m")
        .await
        .expect("enrolled");
    let name = |token: &epoch::EpochToken| token.migration.application_name("dual-write/1");
    let (a, b) = (name(&bench.token), name(&second));
    for value in [
        "",
        "s1",
        "FIRST 1 (s1)",
        "any 1 (s1, \"it's 2\")",
        "2 (s1, S2, *)",
    ] {
        set(&session, value).await;
        until_set(&bench, value).await;
        for first_out in [&bench.token, &second] {
            let last_out = if first_out.migration == second.migration {
                &bench.token
            } else {
                &second
            };
            dual_write::add_name(&session, &bench.token, &a)
                .await
                .expect("put in");
            dual_write::add_name(&session, &second, &b)
                .await
                .expect("put in");
            let both = setting(&bench.source).await;
            assert!(both.contains(&a) && both.contains(&b), "{both}");
            for out in [first_out, last_out] {
                let was = dual_write::remove_names(&session, out, OwnershipProof::Owner).await;
                assert!(was.expect("taken out"));
            }
            assert_eq!(setting(&bench.source).await, value);
        }
    }
    set(&session, "").await;
    let read = "select count(*) from shardwright.dual_write";
    let left: i64 = session.query_one(read, &[]).await.expect("read").get(0);
    assert_eq!(left, 0);
}

#[tokio::test]
async fn a_setting_of_the_configuration_file_is_in_force_again_afterwards() {
    let bench = Bench::each_alone("dwfile", ITEM).await;
    let session = changing(&bench).await;
    let name = bench.token.migration.application_name("dual-write/1");
    dual_write::add_name(&session, &bench.token, &name)
        .await
        .expect("put in");
    dual_write::remove_names(&session, &bench.token, OwnershipProof::Owner)
        .await
        .expect("taken out");
    let read = "select count(*) from pg_file_settings where name = 'synchronous_standby_names' and sourcefile ~ 'auto.conf$'";
    let left: i64 = session.query_one(read, &[]).await.expect("read").get(0);
    assert_eq!(left, 0);
}

#[tokio::test]
async fn an_older_owner_changes_nothing_and_a_newer_one_mends_before_its_first_commit() {
    let bench = Bench::each_alone("dwepoch", ITEM).await;
    let session = changing(&bench).await;
    let name = bench.token.migration.application_name("dual-write/1");
    dual_write::add_name(&session, &bench.token, &name)
        .await
        .expect("put in");
    let newer = bench.token_of(2);
    assert!(
        dual_write::remove_names(&session, &newer, OwnershipProof::Owner)
            .await
            .is_err()
    );
    // No process confirms commits: without this statement the take-over would wait without a limit.
    let out = dual_write::remove_names(&session, &newer, OwnershipProof::TakeOver).await;
    assert!(out.expect("taken out"));
    let plain = bench.ours(&bench.source).await;
    epoch::take_over(&plain, &newer).await.expect("taken");

    let late = changing(&bench).await;
    let put = dual_write::add_name(&late, &bench.token, &name).await;
    assert_eq!(code(put), "epoch.stale");
    let name = newer.migration.application_name("dual-write/2");
    dual_write::add_name(&late, &newer, &name)
        .await
        .expect("put in");
    for proof in [OwnershipProof::Owner, OwnershipProof::TakeOver] {
        let out = dual_write::remove_names(&late, &bench.token, proof).await;
        assert_eq!(code(out), "epoch.stale");
    }
    dual_write::remove_names(&late, &newer, OwnershipProof::Owner)
        .await
        .expect("taken out");
}

#[tokio::test]
async fn a_name_is_taken_out_although_a_commit_of_ours_that_waits_for_it_holds_the_migration_alone()
{
    let bench = Bench::each_alone("dwalone", ITEM).await;
    let session = changing(&bench).await;
    let name = bench.token.migration.application_name("dual-write/1");
    dual_write::add_name(&session, &bench.token, &name)
        .await
        .expect("put in");
    let flip = bench.ours(&bench.source).await;
    epoch::begin_attempt(&flip, &bench.token, AttemptNo(1))
        .await
        .expect("begun");
    let committing = epoch::commit(&flip, "committing");
    let taking_out = async {
        let here = bench.source.session().await;
        until("the commit waits for a stream that is gone", || async {
            let read = "select count(*) = 1 from pg_stat_activity where wait_event = 'SyncRep'";
            here.query_one(read, &[]).await.expect("read").get(0)
        })
        .await;
        dual_write::remove_names(&session, &bench.token, OwnershipProof::Owner).await
    };
    // Only the removal of the name ends the wait of the commit.
    let ((), out) = tokio::try_join!(committing, taking_out).expect("taken out and committed");
    assert!(out);
    assert_eq!(setting(&bench.source).await, "");
}

#[tokio::test]
async fn a_name_that_nobody_looks_after_is_swept_although_every_commit_waits_for_it() {
    let bench = Bench::each_alone("dwsweep", ITEM).await;
    let session = changing(&bench).await;
    let name = bench.token.migration.application_name("dual-write/1");
    dual_write::add_name(&session, &bench.token, &name)
        .await
        .expect("put in");
    session.close().await;
    let shard = ShardRef {
        name: "s".into(),
        number: 1,
        dsn: bench.source.dsn_text(),
        identity: None,
    };
    // The closed session counts as a session of the migration until its server process has ended.
    until("only the name is left", || async {
        let here = bench.source.session().await;
        let read =
            "select count(*) = 0 from pg_stat_activity where application_name like 'shardwright/%'";
        here.query_one(read, &[]).await.expect("read").get(0)
    })
    .await;
    let task = InventoryTask {
        shard: shard.clone(),
    };
    let found = inspect::run(&Inspection::Inventory(task), &std::env::temp_dir()).await;
    let Inspected::Inventory(seen) = found.expect("seen") else {
        panic!("not what was asked for");
    };
    let named = |object: &&Object| object.kind == ObjectKind::StandbyName;
    let found = seen.objects.iter().find(named);
    assert_eq!(found.map(|object| &object.name), Some(&name));
    let sweeps = decide_sweeps(&SweepInput::default(), &[*seen]).remove(0).1;
    let task = SweepTask { shard, sweeps };
    let swept = inspect::run(&Inspection::Sweep(Box::new(task)), &std::env::temp_dir()).await;
    swept.expect("swept");
    assert_eq!(setting(&bench.source).await, "");
}

#[tokio::test]
async fn the_rights_that_it_takes_are_named_one_by_one() {
    let bench = Bench::each_alone("dwrights", ITEM).await;
    let admin = bench.source.session().await;
    admin
        .batch_execute("create role plain login password 'p'")
        .await
        .expect("a role");
    let dsn = bench.source.dsn_as("plain", "p");
    let plain = connect::connect(&dsn, &connect::Session::named("test"))
        .await
        .expect("connected");
    let found = dual_write::find_obstacles(&plain).await.expect("asked");
    assert_eq!(found.len(), 3, "{found:?}");
    for (_, remedy) in found {
        admin
            .batch_execute(&remedy)
            .await
            .expect("the remedy is a statement");
    }
    assert_eq!(dual_write::find_obstacles(&plain).await.expect("asked"), []);
}

/// Returns whether a name of the agent is in the file that a reload or restart reads.
fn is_written(bench: &Bench) -> bool {
    let file = bench.source.cluster.data().join("postgresql.auto.conf");
    let text = std::fs::read_to_string(file).expect("read");
    text.contains("shardwright/")
}

#[tokio::test]
async fn a_name_that_was_written_by_an_owner_who_died_before_the_reload_is_taken_out() {
    let bench = Bench::each_alone("dwunseen", ITEM).await;
    let session = changing(&bench).await;
    let (id, name) = (
        &bench.token.migration,
        bench.token.migration.application_name("dual-write/1"),
    );
    session
        .batch_execute(&format!(
            "insert into shardwright.dual_write values ('{id}', '')"
        ))
        .await
        .expect("recorded");
    session
        .batch_execute(&format!(
            "alter system set synchronous_standby_names = 'FIRST 1 (\"{name}\")'"
        ))
        .await
        .expect("written");
    assert_eq!(setting(&bench.source).await, "", "not in force");
    assert!(is_written(&bench));
    let newer = bench.token_of(2);
    let out = dual_write::remove_names(&session, &newer, OwnershipProof::TakeOver).await;
    assert!(out.expect("taken out"));
    assert!(!is_written(&bench));
    let again = dual_write::remove_names(&session, &newer, OwnershipProof::TakeOver).await;
    assert!(!again.expect("asked"));
}

/// Makes reloads fail on the source. The returned function undoes this.
fn refuse_reloads(bench: &Bench) -> impl FnOnce() {
    let file = bench.source.cluster.data().join("postgresql.conf");
    let good = std::fs::read_to_string(&file).expect("read");
    std::fs::write(&file, format!("{good}\nthis is no setting\n")).expect("broken");
    move || std::fs::write(&file, good).expect("mended")
}

#[tokio::test]
async fn a_name_that_the_server_refused_to_take_over_is_not_left_in_its_files() {
    let bench = Bench::each_alone("dwrefused", ITEM).await;
    bench.capture(Direction::Forward).await;
    let mend = refuse_reloads(&bench);
    let mut spec = bench.spec(Direction::Forward).await;
    spec.dual_write = Some(DualWrite {
        limit: FAR,
        watchdog: program("watchdog_process"),
    });
    let stream = ApplyStream::start(spec, false, true);
    until("it is written", || async { is_written(&bench) }).await;
    let why = until_degraded(&stream).await;
    assert_eq!(
        why,
        "the stream's name is not in force in synchronous_standby_names"
    );
    until("it is not written", || async { !is_written(&bench) }).await;
    stream.stop().await;
    mend();
    assert!(!is_written(&bench));
}

#[tokio::test]
async fn a_name_that_is_written_and_not_in_force_when_the_agent_is_killed_is_taken_out_by_the_watchdog()
 {
    let bench = Bench::each_alone("dwforlorn", ITEM).await;
    bench.capture(Direction::Forward).await;
    let mend = refuse_reloads(&bench);
    let agent = AgentProcess::start(&bench, FAR);
    until("it is written", || async { is_written(&bench) }).await;
    agent.signal("KILL");
    until("it is not written", || async { !is_written(&bench) }).await;
    mend();
}
