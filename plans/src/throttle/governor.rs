//! From signals to a share: the tightest limit governs, and is named.

use super::hold::HoldLoop;
use super::reserve::ReserveLoop;
use super::{MIN_RATIO, Throttle, ThrottleStatus};
use crate::render::bytes;

/// What is known about application and shards at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HealthSignals {
    /// What the application reported last.
    pub application: Option<LatencyReading>,
    /// Source and target, as far as they answered.
    pub shards: Vec<ShardLoad>,
    /// The copy has waited for its rate, rather than for its share, since the last look.
    pub rate_bound: bool,
}

/// An application's p99.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyReading {
    /// Milliseconds.
    pub p99_ms: f64,
    /// When it was reported, milliseconds since 1970.
    pub at_ms: i64,
}

/// How a shard is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ShardLoad {
    /// Its name.
    pub shard: String,
    /// Its replicas.
    pub replicas: Vec<ReplicaLag>,
    /// Sessions of others that are active.
    pub active: Option<u32>,
    /// Sessions of others that wait for a lock.
    pub waiting: Option<u32>,
    /// How long a commit took, milliseconds.
    pub commit_ms: Option<f64>,
    /// How much of its log it wrote lately, bytes a second.
    pub wal_bytes_s: Option<f64>,
    /// How long after the one before it the checkpoint began that has just ended, seconds.
    pub checkpoint_s: Option<f64>,
}

/// How far a replica is.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplicaLag {
    /// Its `application_name`.
    pub name: String,
    /// Seconds since it had replayed all that there was.
    pub lag_s: f64,
}

/// What heavy work may do until the next look.
#[derive(Debug, Clone, PartialEq)]
pub struct ThrottleVerdict {
    /// The part of the time in which it may run, from [`MIN_RATIO`] to 1.
    pub ratio: f64,
    /// What governs, if anything does.
    pub reason: Option<String>,
}

impl ThrottleVerdict {
    /// How it is shown; `None` where nothing holds the migration back.
    #[must_use]
    pub fn slowed(&self) -> Option<ThrottleStatus> {
        Some(ThrottleStatus {
            ratio: self.ratio,
            reason: self.reason.clone()?,
        })
    }
}

impl Default for ThrottleVerdict {
    fn default() -> Self {
        Self {
            ratio: 1.0,
            reason: None,
        }
    }
}

/// Finds the share; one for each migration, told about every change of signals.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ThrottleGovernor {
    hold: HoldLoop,
    reserve: ReserveLoop,
}

impl ThrottleGovernor {
    /// The verdict at `now_ms`, milliseconds since 1970; total for every input.
    pub fn observe(
        &mut self,
        limits: &Throttle,
        signals: &HealthSignals,
        now_ms: i64,
    ) -> ThrottleVerdict {
        let held = if let Some(set_point) = limits.latency_ms {
            self.hold.observe(set_point, signals.application, now_ms)
        } else {
            self.hold = HoldLoop::default();
            (1.0, None)
        };
        let kept = self.reserve.observe(&limits.shards, signals, now_ms);
        let (ratio, reason) = if kept.0 < held.0 { kept } else { held };
        let ratio = ratio.clamp(MIN_RATIO, 1.0);
        let rate = limits.rate_bytes_s.filter(|_| signals.rate_bound);
        let closed = limits.hours.filter(|hours| !hours.contains(now_ms));
        let reason = match (closed, rate) {
            (Some(hours), _) => Some(format!("outside {hours}")),
            (None, Some(rate)) => {
                let rate = i64::try_from(rate).unwrap_or(i64::MAX);
                Some(format!("rate limited to {}/s by hand", bytes(rate)))
            }
            (None, None) => reason,
        };
        ThrottleVerdict { ratio, reason }
    }
}
