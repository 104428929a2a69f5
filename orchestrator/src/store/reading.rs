//! How far a migration was at one moment: what charts and reports are drawn from.

use chrono::{DateTime, TimeDelta, Utc};
use plans::id::StepId;
use plans::names::Direction;
use plans::wire::{Progress, StreamStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Readings are no closer to each other.
const CLOSEST: TimeDelta = TimeDelta::milliseconds(900);
/// A migration has about so many in its first so many seconds, and as many again whenever it is 2.7 times as old.
const MANY: i32 = 1_000;

/// The figures of one heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FigureReading {
    /// When it came.
    pub at: DateTime<Utc>,
    /// The step that ran.
    pub step: Option<StepId>,
    /// Rows of all tables of the step that are done.
    pub rows: i64,
    /// Rows of them that there are; an estimate.
    pub rows_total: i64,
    /// Bytes that are done.
    pub bytes: i64,
    /// How long the step was thought to take still, milliseconds.
    pub left_ms: Option<i64>,
    /// The change stream.
    pub stream: Option<StreamReading>,
}

/// A change stream at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamReading {
    /// Which way.
    pub direction: Direction,
    /// Log between what was written and what was applied, bytes.
    pub lag_bytes: i64,
    /// Age of the newest applied commit while changes are pending, milliseconds.
    pub lag_ms: i64,
    /// Row changes applied since the stream was opened.
    pub changes: i64,
    /// Log that the origin keeps for it, bytes.
    pub retained_bytes: i64,
    /// How far the origin's log reaches, bytes from its beginning; 0 when unknown.
    #[serde(default)]
    pub written_at: i64,
    /// Up to where it is applied.
    #[serde(default)]
    pub applied_at: i64,
    /// Log in the agent's spool, bytes.
    pub spooled_bytes: i64,
}

impl FigureReading {
    /// What a heartbeat says.
    pub(crate) fn of(
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

    /// How long after another one the next is due, in a migration of this age.
    pub(crate) fn every(age: TimeDelta) -> TimeDelta {
        CLOSEST.max(age / MANY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_migration_is_read_less_often() {
        assert_eq!(FigureReading::every(TimeDelta::seconds(5)), CLOSEST);
        assert_eq!(
            FigureReading::every(TimeDelta::seconds(86_400)),
            TimeDelta::milliseconds(86_400)
        );
    }
}
