//! The throttle: limits on the load that a migration causes, and the throttle ratio that follows from measurements.
//!
//! The throttle ratio is the part of the time in which heavy work may run. [`ThrottleGovernor`] computes it. The agent
//! applies it to copy, comparison and deletion. Changes are always applied at full speed, and so is the cutover.

mod governor;
mod health;
mod hours;
mod latency;
mod millis;
mod setting;
#[cfg(test)]
mod tests;

pub use governor::{
    HealthSignals, LatencyReading, ReplicaLag, ShardLoad, ThrottleGovernor, ThrottleVerdict,
};
pub use hours::Hours;
pub use millis::{InvalidMillis, Millis};
pub use setting::{InvalidSetting, Setting};

use crate::render::bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The least throttle ratio. A migration is slowed down but never stops completely.
pub const MIN_RATIO: f64 = 0.02;
/// The maximum number of concurrent COPY sessions.
pub const MAX_STREAMS: u32 = 16;

/// Limits on the load that a migration causes. A limit without a value has its default, or does not apply.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Throttle {
    /// The maximum number of bytes that the copy transfers per second (1024 or more).
    #[schemars(range(min = 1024))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bytes_s: Option<u64>,
    /// The p99 latency that the application is to keep, as it reports it, in milliseconds (0.1 to 60000).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<Millis>,
    /// The daily period in which heavy work may begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hours: Option<Hours>,
    /// Limits on the health signals of the shards.
    #[serde(skip_serializing_if = "is_default")]
    pub shards: ShardLimits,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Limits on the health signals of a shard. A signal that exceeds its limit slows the migration down. `null` removes a
/// limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ShardLimits {
    /// The greatest replay lag of a replica, in seconds.
    #[schemars(range(min = 1))]
    pub replica_lag_s: Option<u32>,
    /// The greatest number of active sessions of other users at one time.
    #[schemars(range(min = 1))]
    pub active_sessions: Option<u32>,
    /// The greatest number of sessions of other users that wait for a lock at one time.
    #[schemars(range(min = 1))]
    pub lock_waits: Option<u32>,
    /// The greatest duration of a commit on the source, in milliseconds.
    #[schemars(range(min = 1))]
    pub commit_ms: Option<u32>,
    /// The most log that a shard may write, in MiB per second over the last seconds. By default there is no limit.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wal_mib_s: Option<u32>,
    /// The least time between the beginnings of two checkpoints of a shard, in seconds. There is no limit by default.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_s: Option<u32>,
}

impl Default for ShardLimits {
    fn default() -> Self {
        Self {
            replica_lag_s: Some(10),
            active_sessions: Some(100),
            lock_waits: Some(20),
            commit_ms: Some(500),
            wal_mib_s: None,
            checkpoint_s: None,
        }
    }
}

impl Throttle {
    /// Returns a problem for every value outside its limits, with its name in a request.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let shards = &self.shards;
        let to_u64 = |value: Option<u32>| value.map(u64::from);
        let least = [
            ("rate_bytes_s", self.rate_bytes_s, 1024),
            ("shards.replica_lag_s", to_u64(shards.replica_lag_s), 1),
            ("shards.active_sessions", to_u64(shards.active_sessions), 1),
            ("shards.lock_waits", to_u64(shards.lock_waits), 1),
            ("shards.commit_ms", to_u64(shards.commit_ms), 1),
            ("shards.wal_mib_s", to_u64(shards.wal_mib_s), 1),
            ("shards.checkpoint_s", to_u64(shards.checkpoint_s), 1),
        ];
        let below = |(name, value, least): (&str, Option<u64>, u64)| {
            let value = value.filter(|value| *value < least)?;
            Some(format!(
                "option throttle.{name} is {value}, less than {least}"
            ))
        };
        least.into_iter().filter_map(below).collect()
    }
}

/// The limits of a migration that are in force: those of the plan, until an operator sets others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MigrationLimits {
    /// The number of concurrent COPY sessions.
    pub streams: u32,
    /// The other limits.
    pub throttle: Throttle,
}

impl fmt::Display for MigrationLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Throttle {
            rate_bytes_s,
            latency_ms,
            hours,
            shards,
        } = &self.throttle;
        write!(f, "{} stream(s)", self.streams)?;
        if let Some(rate) = rate_bytes_s {
            write!(f, ", {}/s", bytes(i64::try_from(*rate).unwrap_or(i64::MAX)))?;
        }
        if let Some(set_point) = latency_ms {
            write!(f, ", application p99 {set_point} ms")?;
        }
        if let Some(hours) = hours {
            write!(f, ", {hours}")?;
        }
        let signals = [
            ("replica lag", shards.replica_lag_s, " s"),
            ("active sessions", shards.active_sessions, ""),
            ("lock waits", shards.lock_waits, ""),
            ("commit", shards.commit_ms, " ms"),
        ];
        for (name, limit, unit) in signals {
            match limit {
                Some(limit) => write!(f, ", {name} {limit}{unit}")?,
                None => write!(f, ", {name} off")?,
            }
        }
        if let Some(limit) = shards.wal_mib_s {
            write!(f, ", log {limit} MiB/s")?;
        }
        if let Some(limit) = shards.checkpoint_s {
            write!(f, ", checkpoints {limit} s apart")?;
        }
        Ok(())
    }
}

/// The application's p99 latency, as it was last reported.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The latency in milliseconds.
    pub p99_ms: f64,
    /// The age of the report in milliseconds.
    pub age_ms: i64,
}

/// How a migration is throttled now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThrottleStatus {
    /// The part of the time in which heavy work may run, from [`MIN_RATIO`] to 1.
    #[serde(rename = "share")]
    pub ratio: f64,
    /// The reason.
    pub reason: String,
}

impl ThrottleStatus {
    /// Returns a sentence such as `slowed to 35 %: application p99 31 ms, set point 25 ms`.
    #[must_use]
    pub fn sentence(&self) -> String {
        let per_cent = (self.ratio * 100.0).round();
        if per_cent < 100.0 {
            return format!("slowed to {per_cent:.0} %: {}", self.reason);
        }
        self.reason.clone()
    }
}
