//! How much of its shards a migration may take: limits, what is measured against them, and the share that follows.
//!
//! A share is the part of the time in which heavy work may run. [`ThrottleGovernor`] finds it; the agent keeps to it in
//! the copy, the comparison and the deletion. Changes are applied, and the cutover is made, at full speed.

mod governor;
mod hold;
mod hours;
mod millis;
mod reserve;
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

/// The smallest share: a migration is slowed, never starved.
pub const MIN_RATIO: f64 = 0.02;
/// COPY streams side by side, at most.
pub const MOST_STREAMS: u32 = 16;

/// What holds a migration back, besides the number of its streams; what is left out is not limited, or has a default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Throttle {
    /// Most bytes a second that the copy may move (1024 or more).
    #[schemars(range(min = 1024))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bytes_s: Option<u64>,
    /// The p99 latency, as the application reports it, that is held, milliseconds (0.1 to 60000).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<Millis>,
    /// When heavy work may begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hours: Option<Hours>,
    /// What the shards must keep in reserve.
    #[serde(skip_serializing_if = "is_usual")]
    pub shards: ShardLimits,
}

fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Signs of strain on a shard that slow a migration down; `null` switches one off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ShardLimits {
    /// How far a replica may be behind, seconds.
    #[schemars(range(min = 1))]
    pub replica_lag_s: Option<u32>,
    /// How many sessions of others may be active at one time.
    #[schemars(range(min = 1))]
    pub active_sessions: Option<u32>,
    /// How many sessions of others may wait for a lock at one time.
    #[schemars(range(min = 1))]
    pub lock_waits: Option<u32>,
    /// How long a commit may take on the source, milliseconds.
    #[schemars(range(min = 1))]
    pub commit_ms: Option<u32>,
    /// How much of its log a shard may write, MiB a second over the last seconds; not limited by default.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wal_mib_s: Option<u32>,
    /// How far apart the checkpoints of a shard must begin, seconds; not limited by default.
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
    /// Everything that is out of its range, as a request names it.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let shards = &self.shards;
        let wide = |value: Option<u32>| value.map(u64::from);
        let least = [
            ("rate_bytes_s", self.rate_bytes_s, 1024),
            ("shards.replica_lag_s", wide(shards.replica_lag_s), 1),
            ("shards.active_sessions", wide(shards.active_sessions), 1),
            ("shards.lock_waits", wide(shards.lock_waits), 1),
            ("shards.commit_ms", wide(shards.commit_ms), 1),
            ("shards.wal_mib_s", wide(shards.wal_mib_s), 1),
            ("shards.checkpoint_s", wide(shards.checkpoint_s), 1),
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

/// The limits of a migration as they are in force: the plan's, until somebody sets others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MigrationLimits {
    /// COPY streams side by side.
    pub streams: u32,
    /// What else holds it back.
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
        let signs = [
            ("replica lag", shards.replica_lag_s, " s"),
            ("active sessions", shards.active_sessions, ""),
            ("lock waits", shards.lock_waits, ""),
            ("commit", shards.commit_ms, " ms"),
        ];
        for (name, limit, unit) in signs {
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

/// An application's own p99 latency, as it was reported last.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Milliseconds.
    pub p99_ms: f64,
    /// How old the report is, milliseconds.
    pub age_ms: i64,
}

/// What a migration is held back by now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThrottleStatus {
    /// The part of the time in which heavy work may run, from [`MIN_RATIO`] to 1.
    #[serde(rename = "share")]
    pub ratio: f64,
    /// Why.
    pub reason: String,
}

impl ThrottleStatus {
    /// `slowed to 35 %: application p99 31 ms, set point 25 ms`.
    #[must_use]
    pub fn sentence(&self) -> String {
        let per_cent = (self.ratio * 100.0).round();
        if per_cent < 100.0 {
            return format!("slowed to {per_cent:.0} %: {}", self.reason);
        }
        self.reason.clone()
    }
}
