//! The throttle by a clock that stands still until somebody waits.

use std::sync::atomic::AtomicU32;

use super::*;

fn limits(edit: impl FnOnce(&mut MigrationLimits)) -> MigrationLimits {
    let mut limits = MigrationLimits::default();
    edit(&mut limits);
    limits
}

fn rate(bytes: u64) -> MigrationLimits {
    limits(|limits| limits.throttle.rate_bytes_s = Some(bytes))
}

/// Far beyond what any of these takes.
const LONG: Duration = Duration::from_secs(20);

async fn in_time<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, what).await.expect("in time")
}

/// Spends `pieces` of so many bytes.
async fn spend(throttle: &MigrationThrottle, pieces: u32, bytes: u64) {
    let turn = throttle.turn();
    for _ in 0..pieces {
        turn.spend(bytes).await;
    }
}

#[tokio::test]
async fn without_limits_nothing_waits() {
    in_time(spend(&MigrationThrottle::default(), 1000, 1 << 30)).await;
}

#[tokio::test]
async fn two_streams_share_one_rate() {
    let throttle = MigrationThrottle::default();
    throttle.limit(&rate(1_000_000));
    let began = Instant::now();
    tokio::join!(spend(&throttle, 20, 10_000), spend(&throttle, 20, 10_000));
    // A tenth of a second's worth may be spent ahead.
    assert!(began.elapsed() >= Duration::from_millis(290));
    assert!(throttle.rate_bound.load(Ordering::Relaxed));
}

#[tokio::test]
async fn a_rest_is_in_proportion_to_the_work_before_it() {
    let throttle = MigrationThrottle::default();
    throttle.share(0.25);
    let (turn, began) = (throttle.turn(), Instant::now());
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        turn.spend(0).await;
    }
    assert!(began.elapsed() >= Duration::from_millis(190));
}

/// How many of `streams` were at work at one time at most, while each did some pieces.
async fn abreast(throttle: &MigrationThrottle, streams: u32) -> u32 {
    let (now, most) = (AtomicU32::new(0), AtomicU32::new(0));
    let stream = async || {
        let turn = throttle.turn_of_stream().await;
        for _ in 0..5 {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(1)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            turn.spend(0).await;
        }
    };
    in_time(futures::future::join_all((0..streams).map(|_| stream()))).await;
    most.load(Ordering::SeqCst)
}

#[tokio::test]
async fn a_small_share_is_spent_by_fewer_streams_and_all_of_them_get_on() {
    let throttle = MigrationThrottle::default();
    throttle.limit(&limits(|limits| limits.streams = 8));
    assert_eq!(abreast(&throttle, 8).await, 8);
    for (share, wanted) in [(0.25, 2), (0.1, 1), (0.5, 4), (1.0, 8)] {
        throttle.share(share);
        assert_eq!(abreast(&throttle, 8).await, wanted, "{share}");
    }
}

#[test]
fn streams_side_by_side_have_the_share_together() {
    for (streams, share) in [
        (8, 0.3),
        (8, 0.02),
        (2, 0.7),
        (3, 0.5),
        (16, 0.99),
        (4, 1.0),
    ] {
        let limits = limits(|limits| limits.streams = streams);
        let state = ThrottleState { limits, share };
        let together = f64::from(state.abreast().min(streams)) * state.duty(true);
        assert!((together - share * f64::from(streams)).abs() < 1e-9);
        assert!((state.duty(false) - share).abs() < 1e-9);
    }
}

#[tokio::test]
async fn places_go_while_they_are_taken_and_come_back() {
    let places = StreamPermits::default();
    let taken = [
        places.take().await,
        places.take().await,
        places.take().await,
    ];
    places.resize(1);
    let [first, second, last] = taken;
    drop(first);
    drop(second);
    let none = tokio::time::timeout(Duration::from_millis(20), places.take());
    assert!(none.await.is_err(), "three were taken, one may be");
    drop(last);
    let one = in_time(places.take()).await;
    places.resize(2);
    let _both = (one, in_time(places.take()).await);
}

#[tokio::test]
async fn pieces_too_short_to_rest_for_are_added_up() {
    let throttle = MigrationThrottle::default();
    throttle.share(0.5);
    let (turn, began) = (throttle.turn(), Instant::now());
    for _ in 0..200 {
        std::thread::sleep(Duration::from_micros(200));
        turn.spend(0).await;
    }
    // As long again as the work, but for the last pieces.
    assert!(began.elapsed() >= Duration::from_millis(70));
}

#[tokio::test]
async fn a_limit_that_goes_ends_a_wait() {
    let throttle = MigrationThrottle::default();
    throttle.limit(&rate(1024));
    let free = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        throttle.limit(&MigrationLimits::default());
    };
    // An hour's worth.
    in_time(async { tokio::join!(spend(&throttle, 1, 1024 * 3600), free) }).await;
}

#[tokio::test]
async fn a_stream_beyond_the_limit_waits_until_more_are_allowed() {
    let throttle = MigrationThrottle::default();
    throttle.limit(&limits(|limits| limits.streams = 2));
    in_time(throttle.allows(1)).await;
    let third = tokio::time::timeout(Duration::from_millis(50), throttle.allows(2));
    assert!(third.await.is_err());
    let more = async { throttle.limit(&limits(|limits| limits.streams = 3)) };
    in_time(async { tokio::join!(throttle.allows(2), more) }).await;
}

/// Hours that begin in some and end in some more hours, so that they are never now.
fn never_now() -> Hours {
    let hour = |ms: i64| (now_ms() + ms).div_euclid(3_600_000).rem_euclid(24);
    let (from, to) = (hour(6 * 3_600_000), hour(8 * 3_600_000));
    Hours::parse(&format!("{from:02}:00-{to:02}:00")).expect("hours")
}

#[tokio::test]
async fn outside_of_hours_nothing_begins_until_they_are_taken_away() {
    let throttle = MigrationThrottle::default();
    throttle.limit(&limits(|limits| limits.throttle.hours = Some(never_now())));
    assert!(throttle.closed().is_some());
    let begun = tokio::time::timeout(Duration::from_millis(50), throttle.until_open());
    assert!(begun.await.is_err());
    let off = async { throttle.limit(&MigrationLimits::default()) };
    tokio::join!(throttle.until_open(), off);
    assert!(throttle.closed().is_none());
}

#[tokio::test]
async fn what_cannot_be_slowed_waits_for_a_share_above_the_least() {
    let throttle = MigrationThrottle::default();
    throttle.share(MIN_RATIO);
    let begun = tokio::time::timeout(Duration::from_millis(50), throttle.until_worth_beginning());
    assert!(begun.await.is_err());
    let back = async { throttle.share(0.1) };
    in_time(async { tokio::join!(throttle.until_worth_beginning(), back) }).await;
}

#[test]
fn what_holds_it_back_is_told() {
    let throttle = MigrationThrottle::default();
    let load = ShardLoad {
        shard: "s1".to_owned(),
        waiting: Some(30),
        ..ShardLoad::default()
    };
    let slowed = throttle.judge(vec![load]).expect("slowed");
    assert_eq!(
        slowed.sentence(),
        "slowed to 60 %: shard s1 has 30 session(s) that wait for a lock, limit 20"
    );
    assert!(throttle.state.borrow().share < 1.0);
}
