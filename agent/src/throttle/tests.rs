//! Tests of the throttle.

use std::sync::atomic::AtomicU32;

use super::*;

fn limits(edit: impl FnOnce(&mut MigrationLimits)) -> MigrationLimits {
    let mut limits = MigrationLimits::default();
    edit(&mut limits);
    limits
}

fn limits_with_rate(bytes: u64) -> MigrationLimits {
    limits(|limits| limits.throttle.rate_bytes_s = Some(bytes))
}

/// A time limit that is much longer than each of these tests takes.
const LONG: Duration = Duration::from_secs(20);

async fn within_test_limit<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, what).await.expect("in time")
}

/// Executes `pieces` pieces of work of `bytes` bytes each.
async fn finish_pieces(throttle: &MigrationThrottle, pieces: u32, bytes: u64) {
    let work = throttle.begin_work();
    for _ in 0..pieces {
        work.finish_piece(bytes).await;
    }
}

#[tokio::test]
async fn without_limits_nothing_waits() {
    within_test_limit(finish_pieces(&MigrationThrottle::default(), 1000, 1 << 30)).await;
}

#[tokio::test]
async fn two_streams_share_one_rate() {
    let throttle = MigrationThrottle::default();
    throttle.set_limits(&limits_with_rate(1_000_000));
    let began = Instant::now();
    tokio::join!(
        finish_pieces(&throttle, 20, 10_000),
        finish_pieces(&throttle, 20, 10_000)
    );
    // The bytes of a tenth of a second may be used in advance.
    assert!(began.elapsed() >= Duration::from_millis(290));
    assert!(throttle.rate_bound.load(Ordering::Relaxed));
}

#[tokio::test]
async fn a_rest_is_in_proportion_to_the_work_before_it() {
    let throttle = MigrationThrottle::default();
    throttle.set_ratio(0.25);
    let (work, began) = (throttle.begin_work(), Instant::now());
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        work.finish_piece(0).await;
    }
    assert!(began.elapsed() >= Duration::from_millis(190));
}

/// Returns the maximum number of `streams` that worked at the same time.
async fn max_concurrent_streams(throttle: &MigrationThrottle, streams: u32) -> u32 {
    let (working, max_working) = (AtomicU32::new(0), AtomicU32::new(0));
    let stream = async || {
        let work = throttle.begin_stream_work().await;
        for _ in 0..5 {
            max_working.fetch_max(working.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(1)).await;
            working.fetch_sub(1, Ordering::SeqCst);
            work.finish_piece(0).await;
        }
    };
    within_test_limit(futures::future::join_all((0..streams).map(|_| stream()))).await;
    max_working.load(Ordering::SeqCst)
}

#[tokio::test]
async fn a_small_ratio_lets_fewer_streams_work_at_a_time_and_all_of_them_proceed() {
    let throttle = MigrationThrottle::default();
    throttle.set_limits(&limits(|limits| limits.streams = 8));
    assert_eq!(max_concurrent_streams(&throttle, 8).await, 8);
    for (ratio, wanted) in [(0.25, 2), (0.1, 1), (0.5, 4), (1.0, 8)] {
        throttle.set_ratio(ratio);
        assert_eq!(
            max_concurrent_streams(&throttle, 8).await,
            wanted,
            "{ratio}"
        );
    }
}

#[test]
fn the_ratios_of_concurrent_streams_add_up_to_the_ratio_of_all() {
    for (streams, ratio) in [
        (8, 0.3),
        (8, 0.02),
        (2, 0.7),
        (3, 0.5),
        (16, 0.99),
        (4, 1.0),
    ] {
        let limits = limits(|limits| limits.streams = streams);
        let state = ThrottleState { limits, ratio };
        let sum = f64::from(state.max_working_streams().min(streams)) * state.work_ratio(true);
        assert!((sum - ratio * f64::from(streams)).abs() < 1e-9);
        assert!((state.work_ratio(false) - ratio).abs() < 1e-9);
    }
}

#[tokio::test]
async fn surplus_permits_are_removed_on_release_and_can_be_added_again() {
    let permits = StreamPermits::default();
    let acquired = [
        permits.acquire().await,
        permits.acquire().await,
        permits.acquire().await,
    ];
    permits.resize(1);
    let [first, second, last] = acquired;
    drop(first);
    drop(second);
    let none = tokio::time::timeout(Duration::from_millis(20), permits.acquire());
    assert!(
        none.await.is_err(),
        "one of three permits remains, and it is acquired"
    );
    drop(last);
    let one = within_test_limit(permits.acquire()).await;
    permits.resize(2);
    let _both = (one, within_test_limit(permits.acquire()).await);
}

#[tokio::test]
async fn pieces_too_short_to_rest_for_are_added_up() {
    let throttle = MigrationThrottle::default();
    throttle.set_ratio(0.5);
    let (work, began) = (throttle.begin_work(), Instant::now());
    for _ in 0..200 {
        std::thread::sleep(Duration::from_micros(200));
        work.finish_piece(0).await;
    }
    // The rests take as long as the work, except for the last pieces.
    assert!(began.elapsed() >= Duration::from_millis(70));
}

#[tokio::test]
async fn removing_a_limit_ends_a_wait() {
    let throttle = MigrationThrottle::default();
    throttle.set_limits(&limits_with_rate(1024));
    let remove_limit = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        throttle.set_limits(&MigrationLimits::default());
    };
    // The bytes of one hour at this rate.
    within_test_limit(async {
        tokio::join!(finish_pieces(&throttle, 1, 1024 * 3600), remove_limit)
    })
    .await;
}

#[tokio::test]
async fn a_stream_beyond_the_limit_waits_until_more_are_allowed() {
    let throttle = MigrationThrottle::default();
    throttle.set_limits(&limits(|limits| limits.streams = 2));
    within_test_limit(throttle.wait_until_allowed(1)).await;
    let third = tokio::time::timeout(Duration::from_millis(50), throttle.wait_until_allowed(2));
    assert!(third.await.is_err());
    let more = async { throttle.set_limits(&limits(|limits| limits.streams = 3)) };
    within_test_limit(async { tokio::join!(throttle.wait_until_allowed(2), more) }).await;
}

/// Returns hours that begin in 6 and end in 8 hours, so that they never include the current time.
fn hours_without_now() -> Hours {
    let hour = |ms: i64| (now_ms() + ms).div_euclid(3_600_000).rem_euclid(24);
    let (from, to) = (hour(6 * 3_600_000), hour(8 * 3_600_000));
    Hours::parse(&format!("{from:02}:00-{to:02}:00")).expect("hours")
}

#[tokio::test]
async fn outside_of_the_hours_no_work_begins_until_they_are_removed() {
    let throttle = MigrationThrottle::default();
    throttle.set_limits(&limits(|limits| {
        limits.throttle.hours = Some(hours_without_now())
    }));
    assert!(throttle.hours_to_wait_for().is_some());
    let begun = tokio::time::timeout(
        Duration::from_millis(50),
        throttle.wait_for_permitted_hours(),
    );
    assert!(begun.await.is_err());
    let remove_hours = async { throttle.set_limits(&MigrationLimits::default()) };
    tokio::join!(throttle.wait_for_permitted_hours(), remove_hours);
    assert!(throttle.hours_to_wait_for().is_none());
}

#[tokio::test]
async fn work_that_cannot_be_slowed_waits_for_a_ratio_above_the_lowest() {
    let throttle = MigrationThrottle::default();
    throttle.set_ratio(MIN_RATIO);
    let begun = tokio::time::timeout(
        Duration::from_millis(50),
        throttle.wait_until_build_may_start(),
    );
    assert!(begun.await.is_err());
    let raise_ratio = async { throttle.set_ratio(0.1) };
    within_test_limit(async { tokio::join!(throttle.wait_until_build_may_start(), raise_ratio) })
        .await;
}

#[test]
fn the_signal_that_slows_a_migration_is_reported() {
    let throttle = MigrationThrottle::default();
    let load = ShardLoad {
        shard: "s1".to_owned(),
        waiting: Some(30),
        ..ShardLoad::default()
    };
    let slowed = throttle.apply_signals(vec![load]).expect("slowed");
    assert_eq!(
        slowed.sentence(),
        "slowed to 60 %: shard s1 has 30 session(s) that wait for a lock, limit 20"
    );
    assert!(throttle.state.borrow().ratio < 1.0);
}
