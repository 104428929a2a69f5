//! An abort leaves the source as it was, and the promoted server to its owner without objects of Shardwright.

use connect::Connected;
use plans::step::StepKind;
use serde_json::Value;

use super::{Database, SeedBench, until};
use crate::shard::seed;
use crate::steps;

/// The number of objects of Shardwright in a database.
const OBJECTS: &str = "
    select (select count(*) from pg_namespace where nspname = 'shardwright')
         + (select count(*) from pg_trigger where tgname like 'shardwright%')
         + (select count(*) from pg_publication)
         + (select count(*) from pg_replication_slots where slot_name like 'shardwright%')";

async fn objects(session: &Connected) -> i64 {
    session
        .query_one(OBJECTS, &[])
        .await
        .expect("counted")
        .get(0)
}

/// Checks that a client can write every key, and that no object of Shardwright is left, except the schema with the id
/// of a registered database.
pub(super) async fn assert_clean(database: &Database, schemas: i64) {
    let session = database.session().await;
    assert_eq!(objects(&session).await, schemas);
    for key in [50, 150] {
        let insert = format!("insert into public.item values ({key}, 77777, 'after')");
        session
            .batch_execute(&insert)
            .await
            .expect("no guard is left");
    }
}

fn notes(output: &Value) -> String {
    output["notes"].to_string()
}

#[tokio::test]
async fn an_abort_before_the_promotion_leaves_a_standby() {
    let mut seed = SeedBench::new("seedaborted").await;
    seed.open_capture().await;
    seed.bind().await;
    let output = seed.run(StepKind::Unwind).await.expect("unwound");
    assert_eq!(output["leftovers"], serde_json::json!([]));
    assert_eq!(notes(&output), "null");
    assert_clean(&seed.bench.source, 1).await;
    let standby = seed.bench.target.session().await;
    until("the standby has replayed the removal", || async {
        objects(&standby).await == 1
    })
    .await;
}

#[tokio::test]
async fn an_abort_completes_a_requested_promotion_before_it_releases_the_source() {
    let mut seed = SeedBench::new("seedlate").await;
    seed.open_capture().await;
    seed.request().await;
    let output = seed.run(StepKind::Unwind).await.expect("unwound");
    assert!(notes(&output).contains("was promoted"), "{output}");
    assert_clean(&seed.bench.source, 1).await;
    assert_clean(&seed.bench.target, 0).await;
}

#[tokio::test]
async fn an_abort_after_the_promotion_leaves_a_server_with_all_rows_and_without_objects() {
    let mut seed = SeedBench::new("seedended").await;
    seed.promote().await;
    seed.run(StepKind::CatchUp).await.expect("caught up");
    let output = seed.run(StepKind::Unwind).await.expect("unwound");
    assert_eq!(output["leftovers"], serde_json::json!([]));
    assert!(notes(&output).contains("pg_rewind"), "{output}");
    assert_clean(&seed.bench.source, 1).await;
    assert_clean(&seed.bench.target, 0).await;
    let target = seed.bench.target.session().await;
    let count = "select count(*) from public.item where id < 10";
    let rows: i64 = target.query_one(count, &[]).await.expect("counted").get(0);
    assert_eq!(rows, 900);
}

#[tokio::test]
async fn an_abort_between_promotion_and_conversion_removes_the_copies() {
    let mut seed = SeedBench::new("seedbetween").await;
    seed.open_capture().await;
    let ours = seed.bench.ours(&seed.bench.source).await;
    let slot = "shardwright_standby_between";
    let create = format!("select pg_create_physical_replication_slot('{slot}', true)");
    ours.batch_execute(&create).await.expect("created");
    let context = seed.context(StepKind::Promote).await;
    let bound = steps::bind_source(&context, &ours, Some(slot.to_owned())).await;
    let record = bound.expect("bound");
    seed::set_requested(&ours, &seed.bench.token, true)
        .await
        .expect("recorded");
    let standby = seed.bench.target.session().await;
    until("the standby has the record", || async {
        let found = seed::read(&standby, &seed.bench.token).await.expect("read");
        found.is_some_and(|found| found.id == record.id)
    })
    .await;
    seed.promote_by_hand().await;
    let output = seed.run(StepKind::Unwind).await.expect("unwound");
    assert_eq!(output["leftovers"], serde_json::json!([]));
    assert_clean(&seed.bench.source, 1).await;
    assert_clean(&seed.bench.target, 0).await;
}

#[tokio::test]
async fn an_abort_does_not_touch_a_standby_that_took_the_place_of_the_source() {
    let mut seed = SeedBench::new("seedsuccessor").await;
    seed.open_capture().await;
    let context = seed.context(StepKind::Promote).await;
    let record = seed.request().await;
    let app = seed.bench.source.session().await;
    let released = "insert into shardwright.away values ('other', '{}', 1)";
    app.batch_execute(released).await.expect("planted");
    let standby = seed.bench.target.session().await;
    until("the standby has the record", || async {
        let read = "select count(*) = 1 from shardwright.away";
        let found = seed::read(&standby, &seed.bench.token).await.expect("read");
        found.is_some_and(|found| found.id == record.id)
            && standby.query_one(read, &[]).await.expect("read").get(0)
    })
    .await;
    seed.promote_by_hand().await;
    // Both connection strings lead to the new primary.
    seed.outputs.insert(
        plans::id::StepId::from(StepKind::Preflight.name()),
        serde_json::json!(plans::step::preflight::Preflighted {
            source: context.known_servers().expect("known").0,
            ..Default::default()
        }),
    );
    seed.bench.source = seed.bench.target.clone();
    let output = seed.run(StepKind::Unwind).await.expect("unwound");
    assert!(notes(&output).contains("someone else"), "{output}");
    let kept = "select count(*) from shardwright.away where map = 'other'";
    let kept: i64 = standby.query_one(kept, &[]).await.expect("read").get(0);
    assert_eq!(kept, 1, "the released keys of the shard stay refused");
    let read = "select count(*) from shardwright.database";
    let ids: i64 = standby.query_one(read, &[]).await.expect("read").get(0);
    assert_eq!(ids, 1);
}
