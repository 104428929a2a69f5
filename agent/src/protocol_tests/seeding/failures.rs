//! What fails before and in the promotion, and what the next agent does.

use plans::id::Epoch;
use plans::step::StepKind;
use plans::wire::Outcome;

use super::{SeedBench, code, state};
use crate::protocol_tests::recovery::Play;
use crate::protocol_tests::shard::until;
use crate::shard::epoch;
use crate::shard::identity;
use crate::shard::register::Register;
use crate::shard::seed;
use crate::steps;

#[tokio::test]
async fn the_next_agent_releases_a_source_that_no_promotion_needs() {
    let mut seed = SeedBench::new("seededreleased").await;
    seed.open_capture().await;
    let context = seed.context(StepKind::Promote).await;
    let ours = seed.bench.ours(&seed.bench.source).await;
    seed.bind().await;
    assert_eq!(seed.register(&seed.bench.source).await, Register::Bound(1));
    steps::unbind_unless_requested(&context)
        .await
        .expect("released");
    assert_eq!(seed.register(&seed.bench.source).await, Register::Open);
    let record = seed::read(&ours, &seed.bench.token).await.expect("read");
    assert_eq!(record, None);
    // An agent that died between the two writes of a release left the register bound and no record.
    seed.bind().await;
    seed::delete(&ours, &seed.bench.token)
        .await
        .expect("deleted");
    steps::unbind_unless_requested(&context)
        .await
        .expect("released");
    assert_eq!(seed.register(&seed.bench.source).await, Register::Open);
    seed.run(StepKind::Promote).await.expect("promoted");
}

#[tokio::test]
async fn a_requested_promotion_keeps_the_source_bound_and_is_completed_by_the_next_agent() {
    let mut seed = SeedBench::new("seededrequested").await;
    seed.open_capture().await;
    let context = seed.context(StepKind::Promote).await;
    let record = seed.request().await;
    steps::unbind_unless_requested(&context)
        .await
        .expect("kept");
    assert_eq!(seed.register(&seed.bench.source).await, Register::Bound(1));
    let standby = seed.bench.target.session().await;
    until("the standby has the record", || async {
        let found = seed::read(&standby, &seed.bench.token).await.expect("read");
        found.is_some_and(|found| found.id == record.id)
    })
    .await;
    // The request takes effect after the agent that made it has ended.
    seed.promote_by_hand().await;
    let promoted = seed.run(StepKind::Promote).await.expect("completed");
    assert_eq!(promoted["target"]["id"], record.id.to_string());
    assert_eq!(seed.register(&seed.bench.source).await, Register::Open);
    assert_eq!(seed.register(&seed.bench.target).await, Register::Closed);
}

#[tokio::test]
async fn a_take_over_needs_no_session_on_a_server_that_was_promoted_meanwhile() {
    let mut seed = SeedBench::new("seededtakeover").await;
    seed.open_capture().await;
    let standby = seed.bench.target.session().await;
    let registered = identity::read(&standby).await.expect("read");
    assert!(registered.standby);
    let context = seed.context(StepKind::Promote).await;
    let mut dispatch = (*context.dispatch).clone();
    dispatch.target.identity = Some(registered);
    seed.run(StepKind::Promote).await.expect("promoted");
    // The controller has not heard of it. The next agent takes the migration over with the identity of the standby.
    dispatch.epoch = Epoch(2);
    let mut play = Play::start(dispatch).await;
    let outcome = play.outcome().await;
    assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
}

#[tokio::test]
async fn a_failover_of_a_bound_source_closes_it_until_the_next_agent() {
    let mut seed = SeedBench::new("seededfailover").await;
    seed.open_capture().await;
    seed.request().await;
    let standby = seed.bench.target.session().await;
    until("the standby has the record", || async {
        let found = seed::read(&standby, &seed.bench.token).await.expect("read");
        found.is_some_and(|found| found.requested)
    })
    .await;
    // Another standby takes the place of the source: here, the only one.
    seed.promote_by_hand().await;
    seed.bench.source = seed.bench.target.clone();
    let app = seed.bench.source.session().await;
    let insert = "insert into public.item values (50, 10, 'after the failover')";
    assert_eq!(state(app.batch_execute(insert).await), "SM002");
    let mut context = seed.context(StepKind::Promote).await;
    let mut dispatch = (*context.dispatch).clone();
    dispatch.target = dispatch.source.clone();
    context.dispatch = std::sync::Arc::new(dispatch);
    steps::unbind_unless_requested(&context)
        .await
        .expect("bound anew");
    assert_eq!(seed.register(&seed.bench.source).await, Register::Bound(2));
    app.batch_execute(insert)
        .await
        .expect("the new primary takes writes");
}

#[tokio::test]
async fn a_standby_that_was_promoted_before_it_had_the_record_is_refused() {
    let mut seed = SeedBench::new("seededearly").await;
    seed.open_capture().await;
    let standby = seed.bench.target.session().await;
    let stop = "alter system set primary_conninfo = ''";
    standby.batch_execute(stop).await.expect("set");
    let reload = "select pg_reload_conf()";
    standby.batch_execute(reload).await.expect("reloaded");
    until("the standby receives no log", || async {
        let read = "select count(*) = 0 from pg_stat_wal_receiver";
        standby.query_one(read, &[]).await.expect("read").get(0)
    })
    .await;
    seed.request().await;
    seed.promote_by_hand().await;
    assert_eq!(code(seed.run(StepKind::Promote).await), "seed.promoted");
}

#[tokio::test]
async fn a_promotion_that_has_ended_can_be_repeated() {
    let mut seed = SeedBench::new("seededagain").await;
    let first = seed.promote().await;
    let again = seed.run(StepKind::Promote).await.expect("repeated");
    assert_eq!(again["target"], serde_json::json!(first.target));
    assert_eq!(again["switch_point"], first.switch_point);
}

#[tokio::test]
async fn a_standby_that_another_migration_promotes_is_refused() {
    let mut seed = SeedBench::new("seededtaken").await;
    seed.open_capture().await;
    let ours = seed.bench.ours(&seed.bench.source).await;
    let other = "insert into shardwright.seed (migration, target, id, timeline)
                 values ('other', 'target', gen_random_uuid(), 1)";
    epoch::execute(&ours, &seed.bench.token, other)
        .await
        .expect("written");
    assert_eq!(code(seed.run(StepKind::Promote).await), "seed.taken");
    assert_eq!(seed.register(&seed.bench.source).await, Register::Open);
}

#[tokio::test]
async fn a_server_that_is_no_standby_of_the_source_is_refused() {
    let mut seed = SeedBench::new("seededother").await;
    seed.open_capture().await;
    seed.bench.target = crate::protocol_tests::shard::Shard::new("seededother_t").await;
    assert_eq!(code(seed.run(StepKind::Promote).await), "seed.standby");
    // The connection string of the source itself, on the source's timeline.
    seed.bench.target = seed.bench.source.clone();
    assert_eq!(code(seed.run(StepKind::Promote).await), "seed.standby");
    assert_eq!(seed.register(&seed.bench.source).await, Register::Open);
}

#[tokio::test]
async fn objects_of_other_migrations_do_not_stay_on_the_target() {
    let mut seed = SeedBench::new("seededobjects").await;
    seed.open_capture().await;
    let app = seed.bench.source.session().await;
    let others = "insert into shardwright.move (migration, role, epoch, map, map_version) values ('other', 'target', 9, 'm', 1);
                  create sequence shardwright.own_other as bigint minvalue 0 start 0;
                  create publication shardwright_other_rev for table public.item;
                  insert into shardwright.given values ('m', 1, '{}', 'x', 'other')";
    app.batch_execute(others).await.expect("planted");
    seed.run(StepKind::Promote).await.expect("promoted");
    let target = seed.bench.target.session().await;
    let left = "select (select count(*) from shardwright.move where migration = 'other')
                  + (select count(*) from pg_class where relname = 'own_other')
                  + (select count(*) from pg_publication) + (select count(*) from shardwright.given)
                  + (select count(*) from pg_replication_slots)";
    let left: i64 = target.query_one(left, &[]).await.expect("counted").get(0);
    assert_eq!(left, 0);
}
