//! Computes the throttle ratio from the application's latency and the shards' health signals. The lower of both ratios
//! applies, and its reason is reported.

use super::health::HealthLoop;
use super::latency::LatencyLoop;
use super::{MIN_RATIO, Throttle, ThrottleStatus};
use crate::render::bytes;

/// The signals of the application and the shards at one time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HealthSignals {
    /// The last report of the application.
    pub application: Option<LatencyReading>,
    /// The source and the target, if they answered.
    pub shards: Vec<ShardLoad>,
    /// True if since the last call the copy has waited for its rate limit and not for its throttle ratio.
    pub rate_bound: bool,
}

/// A report of the application's p99 latency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyReading {
    /// The latency in milliseconds.
    pub p99_ms: f64,
    /// When it was reported, in milliseconds since 1970.
    pub at_ms: i64,
}

/// The health signals of a shard.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ShardLoad {
    /// The name of the shard.
    pub shard: String,
    /// The lag of its replicas.
    pub replicas: Vec<ReplicaLag>,
    /// The number of active sessions of other users.
    pub active: Option<u32>,
    /// The number of sessions of other users that wait for a lock.
    pub waiting: Option<u32>,
    /// The duration of a commit in milliseconds.
    pub commit_ms: Option<f64>,
    /// The bytes of log that it recently wrote per second.
    pub wal_bytes_s: Option<f64>,
    /// The time in seconds between the beginnings of the last completed checkpoint and the one before it.
    pub checkpoint_s: Option<f64>,
}

/// The replay lag of a replica.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplicaLag {
    /// The `application_name` of the replica.
    pub name: String,
    /// The seconds since the replica had replayed all log of its primary.
    pub lag_s: f64,
}

/// The throttle ratio until the next call.
#[derive(Debug, Clone, PartialEq)]
pub struct ThrottleVerdict {
    /// The part of the time in which heavy work may run, from [`MIN_RATIO`] to 1.
    pub ratio: f64,
    /// The limit that determines the ratio, if there is one.
    pub reason: Option<String>,
}

impl ThrottleVerdict {
    /// Returns the status for people; `None` if the migration is not throttled.
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

/// Computes the throttle ratio of one migration from each change of the signals.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ThrottleGovernor {
    latency: LatencyLoop,
    health: HealthLoop,
}

impl ThrottleGovernor {
    /// Returns the ratio at `now_ms`, in milliseconds since 1970. It is defined for every input.
    pub fn observe(
        &mut self,
        limits: &Throttle,
        signals: &HealthSignals,
        now_ms: i64,
    ) -> ThrottleVerdict {
        let for_latency = if let Some(set_point) = limits.latency_ms {
            self.latency.observe(set_point, signals.application, now_ms)
        } else {
            self.latency = LatencyLoop::default();
            (1.0, None)
        };
        let for_health = self.health.observe(&limits.shards, signals, now_ms);
        let (ratio, reason) = if for_health.0 < for_latency.0 {
            for_health
        } else {
            for_latency
        };
        let ratio = ratio.clamp(MIN_RATIO, 1.0);
        let limiting_rate = limits.rate_bytes_s.filter(|_| signals.rate_bound);
        let limiting_hours = limits.hours.filter(|hours| !hours.contains(now_ms));
        let reason = match (limiting_hours, limiting_rate) {
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
