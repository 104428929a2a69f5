//! Keeps the shards' health signals within their limits: if a signal exceeds its limit, the ratio is reduced at once by
//! a factor; otherwise it increases slowly.

use super::governor::{HealthSignals, ShardLoad};
use super::latency::short_number;
use super::{MIN_RATIO, ShardLimits};

/// The factor by which the ratio is reduced when a signal exceeds its limit.
const REDUCTION: f64 = 0.6;
/// The least time between two reductions in milliseconds, because a reduction needs time to have an effect.
const REDUCTION_PAUSE_MS: i64 = 1000;
/// By how much the ratio increases per second.
const INCREASE_PER_S: f64 = 0.03;

/// The state of the loop.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HealthLoop {
    ratio: f64,
    last_reduction_ms: Option<i64>,
    last_call_ms: Option<i64>,
    /// The signal that last exceeded its limit.
    why: String,
}

impl Default for HealthLoop {
    fn default() -> Self {
        Self {
            ratio: 1.0,
            last_reduction_ms: None,
            last_call_ms: None,
            why: String::new(),
        }
    }
}

impl HealthLoop {
    /// Returns the ratio for the shards' signals, and the reason.
    pub(super) fn observe(
        &mut self,
        limits: &ShardLimits,
        signals: &HealthSignals,
        now_ms: i64,
    ) -> (f64, Option<String>) {
        let elapsed = self
            .last_call_ms
            .map_or(0, |last| now_ms.saturating_sub(last).clamp(0, 2000));
        self.last_call_ms = Some(now_ms);
        if let Some(why) = most_exceeded(limits, signals) {
            let is_due = self
                .last_reduction_ms
                .is_none_or(|last| !(0..REDUCTION_PAUSE_MS).contains(&now_ms.saturating_sub(last)));
            if is_due {
                self.ratio = (self.ratio * REDUCTION).max(MIN_RATIO);
                self.last_reduction_ms = Some(now_ms);
            }
            self.why = why;
            return (self.ratio, Some(self.why.clone()));
        }
        let seconds = f64::from(i32::try_from(elapsed).unwrap_or(0)) / 1000.0;
        self.ratio = (self.ratio + INCREASE_PER_S * seconds).min(1.0);
        let slowed = self.ratio < 1.0;
        (
            self.ratio,
            slowed.then(|| format!("speeding up again after: {}", self.why)),
        )
    }
}

/// Returns the description of the signal that exceeds its limit by the greatest factor; `None`: no signal exceeds its
/// limit.
fn most_exceeded(limits: &ShardLimits, signals: &HealthSignals) -> Option<String> {
    let shards = signals.shards.iter();
    let ratios = shards.flat_map(|load| signal_ratios(limits, load));
    let exceeded = ratios.filter(|(ratio, _)| *ratio > 1.0);
    let greatest = exceeded.max_by(|a, b| a.0.total_cmp(&b.0));
    greatest.map(|(_, why)| why)
}

/// Returns each signal divided by its limit, with a description. Signals without a limit are left out.
fn signal_ratios(limits: &ShardLimits, load: &ShardLoad) -> Vec<(f64, String)> {
    let shard = &load.shard;
    let mut found = Vec::new();
    if let Some(limit) = limits.replica_lag_s {
        found.extend(load.replicas.iter().map(|replica| {
            let (name, lag_s) = (&replica.name, replica.lag_s);
            let reason =
                format!("replica {name} of {shard} is {lag_s:.0} s behind, limit {limit} s");
            (lag_s / f64::from(limit), reason)
        }));
    }
    let counts = [
        (load.active, limits.active_sessions, "active session(s)"),
        (
            load.waiting,
            limits.lock_waits,
            "session(s) that wait for a lock",
        ),
    ];
    for (count, limit, what) in counts {
        if let Some((count, limit)) = count.zip(limit) {
            let reason = format!("shard {shard} has {count} {what}, limit {limit}");
            found.push((f64::from(count) / f64::from(limit), reason));
        }
    }
    if let Some((took, limit)) = load.commit_ms.zip(limits.commit_ms) {
        let reason = format!(
            "a commit on {shard} takes {} ms, limit {limit} ms",
            short_number(took)
        );
        found.push((took / f64::from(limit), reason));
    }
    found.extend(log_signal_ratios(limits, load));
    found
}

/// Does the same for the signals about the shard's log.
fn log_signal_ratios(limits: &ShardLimits, load: &ShardLoad) -> Vec<(f64, String)> {
    const MIB: f64 = 1_048_576.0;
    let shard = &load.shard;
    let mut found = Vec::new();
    if let Some((rate, limit)) = load.wal_bytes_s.zip(limits.wal_mib_s) {
        let rate = rate / MIB;
        let reason = format!(
            "shard {shard} writes {} MiB/s of log, limit {limit} MiB/s",
            short_number(rate)
        );
        found.push((rate / f64::from(limit), reason));
    }
    if let Some((interval, limit)) = load.checkpoint_s.zip(limits.checkpoint_s) {
        let reason = format!(
            "a checkpoint of {shard} began {} s after the one before, limit {limit} s",
            short_number(interval)
        );
        found.push((f64::from(limit) / interval.max(1.0), reason));
    }
    found
}
