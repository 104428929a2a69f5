//! What a shard's server does at the moment of a probe: connections, counters of work, standbys, slots, large tables.
//!
//! A value that was not read is missing or is named in `unreadable`, and is never 0.

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
    /// The rows that queries read in the database since its statistics were reset, including rows of system catalogs. An
    /// agent of an earlier version does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_rows: Option<u64>,
    /// The transactions that were committed in the database since its statistics were reset.
    pub commits: u64,
    /// The servers that stream from this one physically.
    pub standbys: Vec<ActiveStandby>,
    /// The name of the shard's database. An agent of an earlier version does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// The replication slots of the server, in all its databases.
    pub slots: Vec<ActiveSlot>,
    /// The estimated number of rows of all analyzed tables, without those of the system and of Shardwright; missing if
    /// no table was analyzed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_count: Option<u64>,
    /// The number of tables in the database, without those of the system and of Shardwright.
    pub table_count: u64,
    /// The largest tables, at most [`MAX_MEASURED_TABLES`].
    pub tables: Vec<MeasuredTable>,
    /// The parts that could not be read. Their lists above are empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadablePart>,
}

impl ServerActivity {
    /// Returns why a part could not be read; `None` if it was read.
    #[must_use]
    pub fn reason_unreadable(&self, part: ActivityPart) -> Option<&str> {
        let mut parts = self.unreadable.iter();
        let unreadable = parts.find(|unreadable| unreadable.part == part)?;
        Some(&unreadable.reason)
    }
}

/// A part of a server's activity that is read by a query of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActivityPart {
    /// The standbys.
    Standbys,
    /// The replication slots.
    Slots,
    /// The largest tables.
    Tables,
}

/// A part of a server's activity that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnreadablePart {
    /// The part.
    pub part: ActivityPart,
    /// The error of the server.
    pub reason: String,
}

/// A standby that streams from a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActiveStandby {
    /// Its `application_name`.
    pub name: String,
    /// The state of the stream, as in `streaming`. Missing if the agent's role lacks `pg_read_all_stats`, which
    /// `pg_monitor` includes; then the server also hides the lag, and whether commits wait for the standby.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// True if commits wait for it.
    pub synchronous: bool,
    /// How many bytes of the log it has not replayed yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_bytes: Option<u64>,
    /// How long ago the server wrote the log that the standby replayed last, in milliseconds. Missing while nothing is
    /// written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_ms: Option<u64>,
}

impl ActiveStandby {
    /// Returns true if the agent's role may read the state and the lag of standbys.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.state.is_some()
    }
}

/// A replication slot of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActiveSlot {
    /// Its name.
    pub name: String,
    /// True for a logical slot, false for a physical one.
    pub logical: bool,
    /// The database of a logical slot. An agent of an earlier version does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
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
