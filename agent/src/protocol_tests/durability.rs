//! Commits of the agent's sessions are durable, also if the defaults of the role are not safe (R9).

use super::bench::{Bench, ITEM};
use super::frozen::FrozenProcess;
use crate::shard::register::{self, RegisterSetting};
use plans::id::AttemptNo;

#[tokio::test]
async fn a_register_survives_a_crash_although_the_role_commits_asynchronously() {
    let bench = Bench::slow_log("crash", ITEM).await;
    let session = bench.ours(&bench.source).await;
    session
        .batch_execute(
            "alter role postgres set synchronous_commit = off; \
             create sequence public.naive as bigint minvalue 0 start 0",
        )
        .await
        .expect("the role's default");
    bench.guard(&bench.source, 0).await;
    let _no_flush = FrozenProcess::wal_writer_of(&bench.source).await;

    let naive = bench.source.session().await;
    naive
        .batch_execute("reset synchronous_commit")
        .await
        .expect("reset");
    let show = "show synchronous_commit";
    let default: String = naive.query_one(show, &[]).await.expect("shown").get(0);
    assert_eq!(default, "off");
    let ours = bench.ours(&bench.source).await;
    let set = register::begin_and_set(&ours, &bench.token, AttemptNo(1), RegisterSetting::Closed);
    set.await.expect("sealed and acknowledged");
    let acknowledged = naive
        .query_one("select setval('public.naive', 1)", &[])
        .await;
    acknowledged.expect("acknowledged");

    let cluster = bench.source.cluster.clone();
    let crash = move || {
        cluster.kill().expect("killed");
        cluster.start().expect("recovered");
    };
    tokio::task::spawn_blocking(crash).await.expect("crashed");
    let session = bench.ours(&bench.source).await;
    assert_eq!(bench.register(&session).await, i64::MAX);
    let control = "select last_value from public.naive";
    let control: i64 = session.query_one(control, &[]).await.expect("read").get(0);
    assert_eq!(control, 0, "control: an asynchronous setval is lost");
}
