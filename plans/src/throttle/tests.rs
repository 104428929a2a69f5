//! Tests of the governor with a simulated application, and with invalid input.

use super::*;
use crate::request::Options;
use proptest::prelude::*;

const SET_POINT: u32 = 25;
const TICK_MS: i64 = 250;

fn millis(number: u32) -> Millis {
    Millis::new(f64::from(number)).unwrap()
}

/// Noise from -1 to 1 that is the same in every run.
struct TestNoise(u64);

impl TestNoise {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let high = u32::try_from(self.0 >> 32).unwrap();
        f64::from(high) / f64::from(u32::MAX) * 2.0 - 1.0
    }
}

/// An application whose p99 grows with its load and with the throttle ratio of the copy. It reports once a second the
/// value of one second ago, with noise of up to a quarter.
struct SimulatedApplication {
    governor: ThrottleGovernor,
    noise: TestNoise,
    now_ms: i64,
    ratio: f64,
    previous_ratio: f64,
    reading: Option<LatencyReading>,
}

impl SimulatedApplication {
    fn new() -> Self {
        Self {
            governor: ThrottleGovernor::default(),
            noise: TestNoise(7),
            now_ms: 0,
            ratio: 1.0,
            previous_ratio: 1.0,
            reading: None,
        }
    }

    /// Runs for `seconds` at `load`. Returns the true p99 and the ratio of each second.
    fn run(&mut self, load: f64, seconds: i64) -> Vec<(f64, f64)> {
        let limits = Throttle {
            latency_ms: Some(millis(SET_POINT)),
            ..Throttle::default()
        };
        let mut ratios = Vec::new();
        for tick in 0..seconds * 1000 / TICK_MS {
            if tick % 4 == 0 {
                let p99 = |ratio: f64| 5.0 / (1.0 - load) * (1.0 + 12.0 * ratio * load);
                let noisy = p99(self.previous_ratio) * (1.0 + 0.25 * self.noise.next());
                self.reading = Some(LatencyReading {
                    p99_ms: noisy,
                    at_ms: self.now_ms,
                });
                ratios.push((p99(self.ratio), self.ratio));
                self.previous_ratio = self.ratio;
            }
            let signals = HealthSignals {
                application: self.reading,
                ..HealthSignals::default()
            };
            self.ratio = self.governor.observe(&limits, &signals, self.now_ms).ratio;
            self.now_ms += TICK_MS;
        }
        ratios
    }
}

#[test]
fn the_applications_p99_is_held_at_its_set_point_through_steps_of_its_load() {
    let mut application = SimulatedApplication::new();
    for load in [0.3, 0.7, 0.3] {
        let settled = &application.run(load, 70)[10..];
        let count = f64::from(u32::try_from(settled.len()).unwrap());
        let mean = settled.iter().map(|(p99, _)| p99).sum::<f64>() / count;
        let deviation = mean / f64::from(SET_POINT) - 1.0;
        assert!(deviation.abs() < 0.2, "load {load}: mean p99 {mean:.1} ms");
        let ratios = settled[10..].iter().map(|(_, ratio)| *ratio);
        let (low, high) = ratios.fold((f64::MAX, 0.0_f64), |(low, high), ratio| {
            (low.min(ratio), high.max(ratio))
        });
        // An unstable loop oscillates between both ends. Noise alone changes the ratio by less than a half.
        assert!(high / low < 2.0, "load {load}: ratio from {low} to {high}");
    }
}

#[test]
fn queuing_requests_reduce_the_ratio_within_two_reports() {
    let mut application = SimulatedApplication::new();
    application.run(0.3, 70);
    let before = application.ratio;
    let limits = Throttle {
        latency_ms: Some(millis(SET_POINT)),
        ..Throttle::default()
    };
    for _ in 0..2 {
        application.now_ms += 1000;
        let signals = HealthSignals {
            application: Some(LatencyReading {
                p99_ms: 20.0 * f64::from(SET_POINT),
                at_ms: application.now_ms,
            }),
            ..HealthSignals::default()
        };
        let verdict = application
            .governor
            .observe(&limits, &signals, application.now_ms);
        application.ratio = verdict.ratio;
    }
    assert!(
        application.ratio <= (before / 10.0).max(MIN_RATIO),
        "from {before} to {}",
        application.ratio
    );
}

#[test]
fn without_noise_the_ratio_becomes_stable() {
    let mut application = SimulatedApplication::new();
    application.noise = TestNoise(0);
    let limits = Throttle {
        latency_ms: Some(millis(SET_POINT)),
        ..Throttle::default()
    };
    let mut ratios = Vec::new();
    let mut ratio = 1.0_f64;
    for second in 0..60 {
        let signals = HealthSignals {
            application: Some(LatencyReading {
                p99_ms: 10.0 * (1.0 + 6.0 * ratio),
                at_ms: second * 1000,
            }),
            ..HealthSignals::default()
        };
        ratio = application
            .governor
            .observe(&limits, &signals, second * 1000)
            .ratio;
        ratios.push(ratio);
    }
    let (last, before) = (ratios[59], ratios[40]);
    assert!((last - 0.25).abs() < 0.01, "{last}");
    assert!((last - before).abs() < 0.01, "{before} then {last}");
}

fn with_replica_lag(lag_s: f64) -> HealthSignals {
    HealthSignals {
        shards: vec![ShardLoad {
            shard: "s1".to_owned(),
            replicas: vec![ReplicaLag {
                name: "r1".to_owned(),
                lag_s,
            }],
            active: Some(3),
            waiting: Some(0),
            commit_ms: Some(2.0),
            ..ShardLoad::default()
        }],
        ..HealthSignals::default()
    }
}

#[test]
fn a_signal_above_its_limit_reduces_the_ratio_at_once_and_it_recovers_slowly() {
    let (mut governor, limits) = (ThrottleGovernor::default(), Throttle::default());
    let cut = governor.observe(&limits, &with_replica_lag(12.0), 0);
    assert_eq!(
        cut.slowed().unwrap().sentence(),
        "slowed to 60 %: replica r1 of s1 is 12 s behind, limit 10 s"
    );
    let soon = governor.observe(&limits, &with_replica_lag(12.0), 250);
    assert!(
        (soon.ratio - cut.ratio).abs() < 1e-9,
        "one reduction per second"
    );
    let again = governor.observe(&limits, &with_replica_lag(12.0), 1000);
    assert!((again.ratio - 0.36).abs() < 1e-9);
    let back = governor.observe(&limits, &with_replica_lag(0.0), 2000);
    assert!(back.ratio > again.ratio && back.ratio < again.ratio + 0.05);
    assert_eq!(
        back.reason.unwrap(),
        "speeding up again after: replica r1 of s1 is 12 s behind, limit 10 s"
    );
    let mut last = back.ratio;
    for second in 3..30 {
        last = governor
            .observe(&limits, &with_replica_lag(0.0), second * 1000)
            .ratio;
    }
    assert!((last - 1.0).abs() < 1e-9);
}

#[test]
fn a_limit_that_is_off_does_not_slow() {
    let mut limits = Throttle::default();
    limits.shards.replica_lag_s = None;
    let verdict = ThrottleGovernor::default().observe(&limits, &with_replica_lag(1e9), 0);
    assert_eq!(verdict, ThrottleVerdict::default());
}

#[test]
fn the_limit_with_the_lowest_ratio_applies_and_is_reported() {
    let limits = Throttle {
        latency_ms: Some(millis(25)),
        ..Throttle::default()
    };
    let mut governor = ThrottleGovernor::default();
    let mut signals = with_replica_lag(12.0);
    signals.application = Some(LatencyReading {
        p99_ms: 31.0,
        at_ms: 0,
    });
    let verdict = governor.observe(&limits, &signals, 0);
    assert_eq!(
        verdict.reason.unwrap(),
        "application p99 31 ms, set point 25 ms"
    );
    let finer = Throttle {
        latency_ms: Some(Millis::new(30.5).unwrap()),
        ..Throttle::default()
    };
    signals.shards.clear();
    let verdict = ThrottleGovernor::default().observe(&finer, &signals, 0);
    assert_eq!(
        verdict.reason.unwrap(),
        "application p99 31.0 ms, set point 30.5 ms"
    );
}

#[test]
fn an_old_latency_report_is_ignored_and_the_reason_says_so() {
    let limits = Throttle {
        latency_ms: Some(millis(25)),
        ..Throttle::default()
    };
    let signals = HealthSignals {
        application: Some(LatencyReading {
            p99_ms: 400.0,
            at_ms: 0,
        }),
        ..HealthSignals::default()
    };
    let mut governor = ThrottleGovernor::default();
    assert!(governor.observe(&limits, &signals, 0).ratio < 1.0);
    let late = governor
        .observe(&limits, &signals, 15_000)
        .slowed()
        .unwrap();
    assert_eq!(
        late.sentence(),
        "the application's p99 is 15 s old, set point 25 ms is not held"
    );
}

#[test]
fn until_the_first_report_the_ratio_is_small_but_not_for_ever() {
    let limits = Throttle {
        latency_ms: Some(millis(25)),
        ..Throttle::default()
    };
    let mut governor = ThrottleGovernor::default();
    let mut observe_at = |now_ms| governor.observe(&limits, &HealthSignals::default(), now_ms);
    let first = observe_at(7_000);
    assert!(first.ratio < 0.2);
    assert_eq!(
        first.reason.unwrap(),
        "waiting for the application's first p99, set point 25 ms"
    );
    assert!(observe_at(16_999).ratio < 0.2);
    let late = observe_at(17_000);
    assert!((late.ratio - 1.0).abs() < 1e-9);
    assert_eq!(
        late.reason.unwrap(),
        "the application reports no p99, set point 25 ms is not held"
    );
}

#[test]
fn hours_are_the_first_reason_and_then_a_rate_that_limits() {
    let mut limits = Throttle {
        rate_bytes_s: Some(20 << 20),
        hours: Some(Hours::parse("22:00-06:00").unwrap()),
        ..Throttle::default()
    };
    let signals = HealthSignals {
        rate_bound: true,
        ..HealthSignals::default()
    };
    let noon = 12 * 3_600_000;
    let verdict = ThrottleGovernor::default().observe(&limits, &signals, noon);
    assert_eq!(verdict.reason.unwrap(), "outside 22:00-06:00");
    limits.hours = None;
    let verdict = ThrottleGovernor::default().observe(&limits, &signals, noon);
    assert_eq!(
        verdict.reason.unwrap(),
        "rate limited to 20.0 MiB/s by hand"
    );
}

#[test]
fn hours_may_include_midnight_and_have_an_offset() {
    let at = |hours: i64, minutes: i64| (hours * 60 + minutes) * 60_000;
    let night = Hours::parse("22:00-06:00").unwrap();
    assert!(night.contains(at(23, 59)) && night.contains(at(5, 59)));
    assert!(!night.contains(at(6, 0)) && !night.contains(at(21, 59)));
    let summer = Hours::parse("22:00-06:00 +02:00").unwrap();
    assert!(summer.contains(at(20, 0)) && !summer.contains(at(4, 0)));
    assert_eq!(summer.to_string(), "22:00-06:00+02:00");
    assert_eq!(night.next(at(12, 30) + 7), at(22, 0));
    assert_eq!(summer.next(at(12, 30)), at(20, 0));
    let west = Hours::parse("01:00-02:00-05:30").unwrap();
    assert!(west.contains(at(6, 30)) && !west.contains(at(7, 30)));
    assert_eq!(west.to_string(), "01:00-02:00-05:30");
}

#[test]
fn a_text_that_is_no_period_is_refused_with_the_expected_form() {
    for text in [
        "",
        "22-06",
        "24:00-06:00",
        "22:60-06:00",
        "22:00-06:00 CET",
        "2200-0600",
        "22:00–06:00",
    ] {
        let refused = Hours::parse(text).unwrap_err();
        assert!(refused.contains("HH:MM-HH:MM"), "{refused}");
    }
    assert!(Hours::parse("06:00-06:00").is_err());
}

#[test]
fn a_limit_is_set_by_its_name_and_removed_by_off() {
    let options = Options::default();
    let mut limits = options.limits();
    let mut set = |setting: Setting, value| setting.set(&mut limits, value, options.copy_streams);
    set(Setting::Rate, "20MB/s").unwrap();
    set(Setting::Streams, "6").unwrap();
    set(Setting::Latency, "25 ms").unwrap();
    set(Setting::Hours, "22:00-06:00").unwrap();
    set(Setting::LockWaits, "off").unwrap();
    let refused = set(Setting::Rate, "fast").unwrap_err().to_string();
    assert_eq!(
        refused,
        "rate cannot be set to \"fast\": bytes a second, 1 KiB or more, for example 20MB/s or 512KiB/s, or off"
    );
    assert!(set(Setting::Streams, "17").is_err());
    assert_eq!(
        (limits.streams, limits.throttle.rate_bytes_s),
        (6, Some(20_000_000))
    );
    assert_eq!(limits.throttle.latency_ms, Some(millis(25)));
    let mut set = |value| Setting::Latency.set(&mut limits, value, options.copy_streams);
    for wrong in ["0", "0.04", "60001", "-1", "nan", "soon", ""] {
        let refused = set(wrong).unwrap_err().to_string();
        assert!(refused.ends_with("from 0.1 to 60000, or off"), "{refused}");
    }
    set("2.5ms").unwrap();
    assert_eq!(limits.throttle.latency_ms, Some(Millis::new(2.5).unwrap()));
    assert_eq!(limits.throttle.shards.lock_waits, None);
    for setting in Setting::ALL {
        setting
            .set(&mut limits, "off", options.copy_streams)
            .unwrap();
    }
    assert_eq!(limits.streams, options.copy_streams);
    assert_eq!(limits.throttle.hours, None);
}

#[test]
fn log_rate_and_checkpoints_are_signals_only_if_they_are_limited() {
    let mut signals = with_replica_lag(0.0);
    signals.shards[0].wal_bytes_s = Some(f64::from(90 << 20));
    signals.shards[0].checkpoint_s = Some(8.0);
    let sentence = |shards: ShardLimits| {
        let limits = Throttle {
            shards,
            ..Throttle::default()
        };
        let verdict = ThrottleGovernor::default().observe(&limits, &signals, 0);
        verdict.slowed().map(|slowed| slowed.sentence())
    };
    assert_eq!(sentence(ShardLimits::default()), None);
    let log = ShardLimits {
        wal_mib_s: Some(60),
        ..ShardLimits::default()
    };
    assert_eq!(
        sentence(log).unwrap(),
        "slowed to 60 %: shard s1 writes 90 MiB/s of log, limit 60 MiB/s"
    );
    let checkpoints = ShardLimits {
        checkpoint_s: Some(30),
        ..ShardLimits::default()
    };
    assert_eq!(
        sentence(checkpoints).unwrap(),
        "slowed to 60 %: a checkpoint of s1 began 8.0 s after the one before, limit 30 s"
    );
    let rare = ShardLimits {
        wal_mib_s: Some(91),
        checkpoint_s: Some(8),
        ..ShardLimits::default()
    };
    assert_eq!(sentence(rare), None);
}

fn any_float() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        Just(f64::NAN),
        Just(f64::INFINITY),
        0.0..1000.0_f64
    ]
}

fn any_signals() -> impl Strategy<Value = (HealthSignals, i64)> {
    let application = proptest::option::of((any_float(), any::<i64>()));
    let load = (
        any_float(),
        any::<Option<u32>>(),
        any::<Option<u32>>(),
        any_float(),
    );
    (application, load, any::<bool>(), any::<i64>()).prop_map(
        |(application, (lag_s, active, waiting, commit), rate_bound, now)| {
            let mut signals = with_replica_lag(lag_s);
            signals.application =
                application.map(|(p99_ms, at_ms)| LatencyReading { p99_ms, at_ms });
            signals.shards[0].active = active;
            signals.shards[0].waiting = waiting;
            signals.shards[0].commit_ms = Some(commit);
            signals.rate_bound = rate_bound;
            (signals, now)
        },
    )
}

proptest! {
    #[test]
    fn for_any_signals_the_ratio_stays_in_its_bounds(
        samples in proptest::collection::vec(any_signals(), 1..40),
        set_point in proptest::option::of(0.1_f64..60_000.0),
    ) {
        let latency_ms = set_point.map(|ms| Millis::new(ms).unwrap());
        let limits = Throttle { latency_ms, ..Throttle::default() };
        let mut governor = ThrottleGovernor::default();
        for (signals, now) in samples {
            let ratio = governor.observe(&limits, &signals, now).ratio;
            prop_assert!((MIN_RATIO..=1.0).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn printed_hours_are_parsed_to_the_same_value(from in 0_i64..1440, to in 0_i64..1440, offset in -840_i64..=840, now in any::<i64>()) {
        prop_assume!(from != to);
        let clock = |minutes: i64| format!("{:02}:{:02}", minutes / 60, minutes % 60);
        let sign = if offset < 0 { '-' } else { '+' };
        let text = format!("{}-{}{sign}{}", clock(from), clock(to), clock(offset.abs()));
        let hours = Hours::parse(&text).unwrap();
        prop_assert_eq!(Hours::parse(&hours.to_string()).unwrap(), hours);
        let now = now / 4;
        prop_assert!(hours.contains(hours.next(now)));
    }
}
