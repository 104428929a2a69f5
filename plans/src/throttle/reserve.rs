//! Keeps the shards' health signals within their limits: it reduces the ratio at once by a factor, and increases it
//! slowly by addition.

use super::governor::{HealthSignals, ShardLoad};
use super::hold::brief;
use super::{MIN_RATIO, ShardLimits};

/// The factor by which the ratio is reduced when a signal exceeds its limit.
const CUT: f64 = 0.6;
/// The least time between two reductions in milliseconds, because a reduction needs time to have an effect.
const CUT_EVERY_MS: i64 = 1000;
/// By how much the ratio increases per second.
const BACK_PER_S: f64 = 0.03;

/// The state of the loop.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReserveLoop {
    ratio: f64,
    cut_ms: Option<i64>,
    last_ms: Option<i64>,
    why: String,
}

impl Default for ReserveLoop {
    fn default() -> Self {
        Self {
            ratio: 1.0,
            cut_ms: None,
            last_ms: None,
            why: String::new(),
        }
    }
}

impl ReserveLoop {
    /// Returns the ratio for the shards' signals, and the reason.
    pub(super) fn observe(
        &mut self,
        limits: &ShardLimits,
        signals: &HealthSignals,
        now_ms: i64,
    ) -> (f64, Option<String>) {
        let elapsed = self
            .last_ms
            .map_or(0, |last| now_ms.saturating_sub(last).clamp(0, 2000));
        self.last_ms = Some(now_ms);
        let strained = worst(limits, signals);
        if let Some(why) = strained {
            let due = self
                .cut_ms
                .is_none_or(|at| !(0..CUT_EVERY_MS).contains(&now_ms.saturating_sub(at)));
            if due {
                self.ratio = (self.ratio * CUT).max(MIN_RATIO);
                self.cut_ms = Some(now_ms);
            }
            self.why = why;
            return (self.ratio, Some(self.why.clone()));
        }
        let seconds = f64::from(i32::try_from(elapsed).unwrap_or(0)) / 1000.0;
        self.ratio = (self.ratio + BACK_PER_S * seconds).min(1.0);
        let slowed = self.ratio < 1.0;
        (
            self.ratio,
            slowed.then(|| format!("speeding up again after: {}", self.why)),
        )
    }
}

/// Returns the signal that exceeds its limit by the greatest factor.
fn worst(limits: &ShardLimits, signals: &HealthSignals) -> Option<String> {
    let beyond = signals.shards.iter().flat_map(|load| of(limits, load));
    let strained = beyond.filter(|(ratio, _)| *ratio > 1.0);
    let worst = strained.max_by(|a, b| a.0.total_cmp(&b.0));
    worst.map(|(_, why)| why)
}

/// Returns each signal divided by its limit, with a description.
fn of(limits: &ShardLimits, load: &ShardLoad) -> Vec<(f64, String)> {
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
            brief(took)
        );
        found.push((took / f64::from(limit), reason));
    }
    found.extend(log(limits, load));
    found
}

/// Does the same for signals of the shard's log.
fn log(limits: &ShardLimits, load: &ShardLoad) -> Vec<(f64, String)> {
    const MIB: f64 = 1_048_576.0;
    let shard = &load.shard;
    let mut found = Vec::new();
    if let Some((rate, limit)) = load.wal_bytes_s.zip(limits.wal_mib_s) {
        let rate = rate / MIB;
        let reason = format!(
            "shard {shard} writes {} MiB/s of log, limit {limit} MiB/s",
            brief(rate)
        );
        found.push((rate / f64::from(limit), reason));
    }
    if let Some((apart, limit)) = load.checkpoint_s.zip(limits.checkpoint_s) {
        let reason = format!(
            "a checkpoint of {shard} began {} s after the one before, limit {limit} s",
            brief(apart)
        );
        found.push((f64::from(limit) / apart.max(1.0), reason));
    }
    found
}
