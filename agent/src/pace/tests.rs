//! The pace by a clock that stands still until somebody waits.

use super::*;

fn limits(edit: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    edit(&mut limits);
    limits
}

fn rate(bytes: u64) -> Limits {
    limits(|limits| limits.throttle.rate_bytes_s = Some(bytes))
}

/// Far beyond what any of these takes.
const LONG: Duration = Duration::from_secs(20);

async fn in_time<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, what).await.expect("in time")
}

/// Spends `pieces` of so many bytes.
async fn spend(pace: &Pace, pieces: u32, bytes: u64) {
    let turn = pace.turn();
    for _ in 0..pieces {
        turn.spend(bytes).await;
    }
}

#[tokio::test]
async fn without_limits_nothing_waits() {
    in_time(spend(&Pace::default(), 1000, 1 << 30)).await;
}

#[tokio::test]
async fn two_streams_share_one_rate() {
    let pace = Pace::default();
    pace.limit(&rate(1_000_000));
    let began = Instant::now();
    tokio::join!(spend(&pace, 20, 10_000), spend(&pace, 20, 10_000));
    // A tenth of a second's worth may be spent ahead.
    assert!(began.elapsed() >= Duration::from_millis(290));
    assert!(pace.rate_bound.load(Ordering::Relaxed));
}

#[tokio::test]
async fn a_rest_is_in_proportion_to_the_work_before_it() {
    let pace = Pace::default();
    pace.share(0.25);
    let (turn, began) = (pace.turn(), Instant::now());
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        turn.spend(0).await;
    }
    assert!(began.elapsed() >= Duration::from_millis(190));
}

#[tokio::test]
async fn pieces_too_short_to_rest_for_are_added_up() {
    let pace = Pace::default();
    pace.share(0.5);
    let (turn, began) = (pace.turn(), Instant::now());
    for _ in 0..200 {
        std::thread::sleep(Duration::from_micros(200));
        turn.spend(0).await;
    }
    // As long again as the work, but for the last pieces.
    assert!(began.elapsed() >= Duration::from_millis(70));
}

#[tokio::test]
async fn a_limit_that_goes_ends_a_wait() {
    let pace = Pace::default();
    pace.limit(&rate(1024));
    let free = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        pace.limit(&Limits::default());
    };
    // An hour's worth.
    in_time(async { tokio::join!(spend(&pace, 1, 1024 * 3600), free) }).await;
}

#[tokio::test]
async fn a_stream_beyond_the_limit_waits_until_more_are_allowed() {
    let pace = Pace::default();
    pace.limit(&limits(|limits| limits.streams = 2));
    in_time(pace.allows(1)).await;
    let third = tokio::time::timeout(Duration::from_millis(50), pace.allows(2));
    assert!(third.await.is_err());
    let more = async { pace.limit(&limits(|limits| limits.streams = 3)) };
    in_time(async { tokio::join!(pace.allows(2), more) }).await;
}

/// Hours that begin in some and end in some more hours, so that they are never now.
fn never_now() -> Hours {
    let hour = |ms: i64| (now_ms() + ms).div_euclid(3_600_000).rem_euclid(24);
    let (from, to) = (hour(6 * 3_600_000), hour(8 * 3_600_000));
    Hours::parse(&format!("{from:02}:00-{to:02}:00")).expect("hours")
}

#[tokio::test]
async fn outside_of_hours_nothing_begins_until_they_are_taken_away() {
    let pace = Pace::default();
    pace.limit(&limits(|limits| limits.throttle.hours = Some(never_now())));
    assert!(pace.closed().is_some());
    let begun = tokio::time::timeout(Duration::from_millis(50), pace.until_open());
    assert!(begun.await.is_err());
    let off = async { pace.limit(&Limits::default()) };
    tokio::join!(pace.until_open(), off);
    assert!(pace.closed().is_none());
}

#[tokio::test]
async fn what_cannot_be_slowed_waits_for_a_share_above_the_least() {
    let pace = Pace::default();
    pace.share(LEAST_SHARE);
    let begun = tokio::time::timeout(Duration::from_millis(50), pace.until_worth_beginning());
    assert!(begun.await.is_err());
    let back = async { pace.share(0.1) };
    in_time(async { tokio::join!(pace.until_worth_beginning(), back) }).await;
}

#[test]
fn what_holds_it_back_is_told() {
    let pace = Pace::default();
    let load = ShardLoad {
        shard: "s1".to_owned(),
        waiting: Some(30),
        ..ShardLoad::default()
    };
    let slowed = pace.judge(vec![load]).expect("slowed");
    assert_eq!(
        slowed.sentence(),
        "slowed to 60 %: shard s1 has 30 session(s) that wait for a lock, limit 20"
    );
    assert!(pace.state.borrow().share < 1.0);
}
