//! The progress of a migration at one moment (a *reading*). Charts and reports are made from readings.

use chrono::{DateTime, TimeDelta, Utc};
use plans::id::StepId;
use plans::names::Direction;
use plans::wire::{Progress, StreamStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The shortest time between two readings.
const MIN_INTERVAL: TimeDelta = TimeDelta::milliseconds(900);
/// The time to the next reading is at least the age of the migration divided by this number. So an old migration has
/// few readings more than a young one: as many as in its first 15 minutes each time its age grows by a factor of 2.7.
const READINGS_PER_AGE: i32 = 1_000;

/// The figures of one heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FigureReading {
    /// When the heartbeat arrived.
    pub at: DateTime<Utc>,
    /// The step that was running.
    pub step: Option<StepId>,
    /// Completed rows of all tables of the step.
    pub rows: i64,
    /// The estimated total number of rows of the step.
    pub rows_total: i64,
    /// Completed bytes.
    pub bytes: i64,
    /// The estimated remaining time of the step, in milliseconds.
    pub left_ms: Option<i64>,
    /// The figures of the change stream, if one was running.
    pub stream: Option<StreamReading>,
}

/// The figures of a change stream at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamReading {
    /// The direction of the stream.
    pub direction: Direction,
    /// The bytes of log between the write position of the upstream shard and the applied position.
    pub lag_bytes: i64,
    /// The age of the newest applied commit while changes are pending, in milliseconds.
    pub lag_ms: i64,
    /// The number of row changes applied since the stream was opened.
    pub changes: i64,
    /// The bytes of log that the upstream shard retains for the stream's slot.
    pub retained_bytes: i64,
    /// The current write position in the upstream shard's log, in bytes from the beginning; 0 if unknown.
    #[serde(default)]
    pub written_at: i64,
    /// The position in the upstream shard's log up to which the stream has applied changes.
    #[serde(default)]
    pub applied_at: i64,
    /// The bytes of log in the agent's spool.
    pub spooled_bytes: i64,
}

impl FigureReading {
    /// Creates a reading from the figures of a heartbeat.
    pub(crate) fn from_heartbeat(
        at: DateTime<Utc>,
        step: Option<StepId>,
        progress: &Progress,
        stream: Option<&StreamStatus>,
    ) -> Self {
        let sum = |figure: fn(&plans::wire::TableProgress) -> i64| {
            progress.tables.iter().map(figure).sum::<i64>()
        };
        Self {
            at,
            step,
            rows: sum(|table| table.rows_done),
            rows_total: sum(|table| table.rows_total),
            bytes: sum(|table| table.bytes_done),
            left_ms: progress.eta_seconds.map(|left| (left * 1e3) as i64),
            stream: stream.map(|stream| StreamReading {
                direction: stream.direction,
                lag_bytes: stream.lag_bytes,
                lag_ms: stream.lag_ms,
                changes: stream.changes,
                written_at: stream.written_at,
                applied_at: stream.applied_at,
                retained_bytes: stream.retained.bytes,
                spooled_bytes: stream.spooled_bytes,
            }),
        }
    }

    /// Returns the time to the next reading, for a migration of this age.
    pub(crate) fn interval_at(age: TimeDelta) -> TimeDelta {
        MIN_INTERVAL.max(age / READINGS_PER_AGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_migration_gets_readings_less_often() {
        assert_eq!(
            FigureReading::interval_at(TimeDelta::seconds(5)),
            MIN_INTERVAL
        );
        assert_eq!(
            FigureReading::interval_at(TimeDelta::seconds(86_400)),
            TimeDelta::milliseconds(86_400)
        );
    }
}
