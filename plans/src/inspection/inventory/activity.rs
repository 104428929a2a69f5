//! What a shard's server does at the moment of a probe: connections, counters of work, standbys, slots, large tables.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The maximum number of tables that a probe measures: the largest ones.
pub const MAX_MEASURED_TABLES: usize = 20;

/// The activity of a server. A value that the agent's role may not read is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerActivity {
    /// The server's clock at the time of the probe, in milliseconds since 1970.
    pub at_ms: i64,
    /// The sessions in all databases of the server.
    pub connections: u32,
    /// The setting `max_connections`.
    pub max_connections: u32,
    /// The rows that were inserted, updated and deleted in the database since its statistics were reset.
    pub written_rows: u64,
    /// The transactions that were committed in the database since its statistics were reset.
    pub commits: u64,
    /// The servers that stream from this one physically.
    pub standbys: Vec<ActiveStandby>,
    /// The replication slots of the server.
    pub slots: Vec<ActiveSlot>,
    /// The number of tables in the database, without those of the system.
    pub table_count: u64,
    /// The largest tables, at most [`MAX_MEASURED_TABLES`].
    pub tables: Vec<MeasuredTable>,
}

impl ServerActivity {
    /// Returns a rate per second between an earlier activity and this one; `None` if the counter was reset, or if the
    /// clock did not advance.
    #[must_use]
    pub fn rate_since(&self, earlier: &Self, counter: fn(&Self) -> u64) -> Option<f64> {
        let elapsed_ms = self.at_ms.checked_sub(earlier.at_ms).filter(|ms| *ms > 0)?;
        let count = counter(self).checked_sub(counter(earlier))?;
        Some(count as f64 * 1000.0 / elapsed_ms as f64)
    }
}

/// A standby that streams from a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActiveStandby {
    /// Its `application_name`.
    pub name: String,
    /// The state of the stream, as in `streaming`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// True if commits wait for it.
    pub synchronous: bool,
    /// How many bytes of the log it has not replayed yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_bytes: Option<u64>,
}

/// A replication slot of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActiveSlot {
    /// Its name.
    pub name: String,
    /// True for a logical slot, false for a physical one.
    pub logical: bool,
    /// True if a process uses it.
    pub active: bool,
    /// How many bytes of the log the server keeps for it; missing for a slot that keeps none, or that is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retained_bytes: Option<u64>,
}

/// A table of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredTable {
    /// Its name with the schema.
    pub name: String,
    /// Its size on disk in bytes, with its indexes.
    pub bytes: u64,
    /// The estimated number of its rows; missing if it was never analyzed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_needs_time_and_a_counter_that_was_not_reset() {
        let at = |at_ms, written_rows| ServerActivity {
            at_ms,
            written_rows,
            ..ServerActivity::default()
        };
        let rate = |a: &ServerActivity, b: &ServerActivity| b.rate_since(a, |s| s.written_rows);
        assert_eq!(rate(&at(1_000, 100), &at(3_000, 500)), Some(200.0));
        assert_eq!(rate(&at(1_000, 100), &at(3_000, 99)), None);
        assert_eq!(rate(&at(1_000, 100), &at(1_000, 200)), None);
        assert_eq!(rate(&at(1_000, 100), &at(500, 200)), None);
    }
}
