//! A limit by its name, and the parsing of its value.

use super::{Hours, InvalidMillis, MAX_STREAMS, MigrationLimits, Millis};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A limit that can be changed while a migration runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// The rate of the copy, in bytes per second.
    Rate,
    /// The number of concurrent COPY sessions. `off`: the number of the plan.
    Streams,
    /// The application's p99 latency that is to be kept, in milliseconds.
    Latency,
    /// The daily period in which heavy work may begin.
    Hours,
    /// The greatest replay lag of a replica, in seconds.
    ReplicaLag,
    /// The greatest number of active sessions of other users.
    ActiveSessions,
    /// The greatest number of sessions of other users that wait for a lock.
    LockWaits,
    /// The greatest duration of a commit on the source, in milliseconds.
    Commit,
    /// The greatest amount of log that a shard writes, in MiB per second.
    Wal,
    /// The least time between the beginnings of two checkpoints, in seconds.
    Checkpoint,
}

/// A limit cannot have this value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{setting} cannot be set to {value:?}: {why}")]
pub struct InvalidSetting {
    /// The limit.
    pub setting: Setting,
    /// The value as it was written.
    pub value: String,
    /// The permitted values.
    pub why: String,
}

impl Setting {
    /// All limits.
    pub const ALL: [Self; 10] = [
        Self::Rate,
        Self::Streams,
        Self::Latency,
        Self::Hours,
        Self::ReplicaLag,
        Self::ActiveSessions,
        Self::LockWaits,
        Self::Commit,
        Self::Wal,
        Self::Checkpoint,
    ];

    /// Returns the name on the command line and in the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Streams => "streams",
            Self::Latency => "latency",
            Self::Hours => "hours",
            Self::ReplicaLag => "replica-lag",
            Self::ActiveSessions => "active-sessions",
            Self::LockWaits => "lock-waits",
            Self::Commit => "commit",
            Self::Wal => "wal",
            Self::Checkpoint => "checkpoint",
        }
    }

    /// Sets a limit in `limits` to `value`. `off` removes the limit; for the limit `streams` it restores the number
    /// `streams`, which is that of the plan.
    ///
    /// # Errors
    /// [`InvalidSetting`]. Then `limits` are unchanged.
    pub fn set(
        self,
        limits: &mut MigrationLimits,
        value: &str,
        streams: u32,
    ) -> Result<(), InvalidSetting> {
        let value = value.trim();
        let limit = (value != "off").then_some(value);
        self.set_parsed(limits, limit, streams)
            .map_err(|why| InvalidSetting {
                setting: self,
                value: value.to_owned(),
                why,
            })
    }

    /// Parses `value` and sets the limit; `None` removes the limit.
    fn set_parsed(
        self,
        limits: &mut MigrationLimits,
        value: Option<&str>,
        planned_streams: u32,
    ) -> Result<(), String> {
        let number = |least: u32, most: u32| {
            value
                .map(|text| whole_number(text, least, most))
                .transpose()
        };
        let MigrationLimits { streams, throttle } = limits;
        let shards = &mut throttle.shards;
        match self {
            Self::Rate => throttle.rate_bytes_s = value.map(rate).transpose()?,
            Self::Streams => *streams = number(1, MAX_STREAMS)?.unwrap_or(planned_streams),
            Self::Latency => throttle.latency_ms = value.map(millis).transpose()?,
            Self::Hours => throttle.hours = value.map(Hours::parse).transpose()?,
            Self::ReplicaLag => shards.replica_lag_s = number(1, u32::MAX)?,
            Self::ActiveSessions => shards.active_sessions = number(1, u32::MAX)?,
            Self::LockWaits => shards.lock_waits = number(1, u32::MAX)?,
            Self::Commit => shards.commit_ms = number(1, u32::MAX)?,
            Self::Wal => shards.wal_mib_s = number(1, u32::MAX)?,
            Self::Checkpoint => shards.checkpoint_s = number(1, u32::MAX)?,
        }
        Ok(())
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the text without the unit after the number.
fn without_unit(text: &str) -> &str {
    text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic())
        .trim_end()
}

/// Parses `25` or `2.5 ms`.
fn millis(text: &str) -> Result<Millis, String> {
    let number = without_unit(text).parse();
    number.map_err(|why: InvalidMillis| format!("{why}, or off"))
}

/// Parses a whole_number number, with or without its unit.
fn whole_number(text: &str, least: u32, most: u32) -> Result<u32, String> {
    let number = without_unit(text).parse().ok();
    number
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("a whole_number number from {least} to {most}, or off"))
}

/// Parses `20MB`, `20 MB/s`, `512KiB` or a number of bytes.
fn rate(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 8] = [
        ("", 1),
        ("b", 1),
        ("kb", 1000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
        ("kib", 1 << 10),
        ("mib", 1 << 20),
        ("gib", 1 << 30),
    ];
    let amount = text.trim_end_matches("/s");
    let end = amount
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(amount.len());
    let (without_unit, unit) = amount.split_at(end);
    let unit = unit.trim().to_ascii_lowercase();
    let factor = UNITS.iter().find(|(name, _)| *name == unit);
    let number = without_unit.parse::<u64>().ok().zip(factor);
    number
        .and_then(|(number, (_, factor))| number.checked_mul(*factor))
        .filter(|rate| *rate >= 1024)
        .ok_or_else(|| {
            "bytes a second, 1 KiB or more, for example 20MB/s or 512KiB/s, or off".to_owned()
        })
}
