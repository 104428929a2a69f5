//! The checker finds writes that a standby accepts after a promotion without guards.

use super::{Fleet, dsn};
use demo::workload::{
    StandbyWriter, StandbyWriterSettings, TenantChoice, TenantMix, WriteJudge, WriteVerdict,
};
use futures::FutureExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Waits until `count` is at least `goal`.
async fn until(count: &AtomicU64, goal: u64) {
    let reached = async {
        while count.load(Ordering::Relaxed) < goal {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let reached = tokio::time::timeout(Duration::from_secs(60), reached).await;
    reached.expect("in time");
}

/// Returns a judge that always gives this verdict, and the number of its judgements.
fn judge(verdict: WriteVerdict) -> (WriteJudge, Arc<AtomicU64>) {
    let judged = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&judged);
    let judge: WriteJudge = Arc::new(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        async move { verdict }.boxed()
    });
    (judge, judged)
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_that_a_promoted_standby_accepts_are_found_unless_it_owns_the_keys() {
    let fleet = Fleet::start("standby").await;
    let options = cluster::Options::temporary("ledger-standby-copy").setting("fsync", "off");
    let standby = fleet.clusters[0].standby_with_slot("copy", "copy", options);
    let standby = standby.unwrap();
    standby.start().unwrap();
    let start = |judge| {
        let settings = StandbyWriterSettings {
            shard: "b".into(),
            dsn: dsn(&standby, "app"),
            mix: Arc::new(TenantMix {
                moving: (fleet.shop.first_upper_tenant()..=fleet.shop.tenants).collect(),
                staying: (1..fleet.shop.first_upper_tenant()).collect(),
                share: 0.5,
                choice: TenantChoice::Skewed,
            }),
            shop: fleet.shop,
            judge,
        };
        StandbyWriter::start(settings, &fleet.ledger)
    };
    let (violates, judged) = judge(WriteVerdict::Violation);
    let writer = start(violates);
    tokio::time::sleep(Duration::from_millis(300)).await;
    writer.stop().await.unwrap();
    assert_eq!(
        judged.load(Ordering::Relaxed),
        0,
        "a standby takes no writes"
    );
    let checked = fleet.check(true).await;
    assert!(checked.is_clean(), "{checked:?}");
    assert!(checked.standby.read_only > 10, "{checked:?}");

    standby.promote().unwrap();
    let (owns, allowed) = judge(WriteVerdict::Owner);
    let writer = start(owns);
    until(&allowed, 5).await;
    writer.stop().await.unwrap();
    let checked = fleet.check(true).await;
    assert!(checked.is_clean(), "{checked:?}");

    let (violates, judged) = judge(WriteVerdict::Violation);
    let writer = start(violates);
    until(&judged, 5).await;
    writer.stop().await.unwrap();
    let checked = fleet.check(true).await;
    assert!(checked.standby.accepted >= 5, "{checked:?}");
    assert!(!checked.is_clean(), "{checked:?}");
}
