//! Cutover, attempt n (docs/protocol.md, C1 to C11); its timings are the evidence of the write stop.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How long writes to the moving keys were refused, milliseconds, by part.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WriteBlockTimes {
    /// From the fence to the open register.
    pub total: f64,
    /// The fence itself, with the first look for writers.
    #[serde(default)]
    pub fence: f64,
    /// Waiting for writers that were there before the fence, and again after the seal.
    pub wait_out: f64,
    /// Marker to marker applied; sequences set meanwhile.
    pub drain: f64,
    /// Changed keys compared, before the losing shard is closed.
    pub check: f64,
    /// Seal, second marker, guards and fingerprints read again.
    pub seal: f64,
    /// The compare-and-set in the control store.
    pub flip: f64,
    /// The target's register.
    pub open: f64,
}

impl WriteBlockTimes {
    /// Its parts in their order, each with its name for people.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, f64); 7] {
        [
            ("fence", self.fence),
            ("wait-out", self.wait_out),
            ("drain", self.drain),
            ("check", self.check),
            ("seal", self.seal),
            ("flip", self.flip),
            ("open", self.open),
        ]
    }
}

/// The result of a cutover or of a roll back.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CutoverResult {
    /// The attempt that went through.
    pub attempt: i64,
    /// The map version that it made.
    pub map_version: i64,
    /// The write stop.
    #[serde(rename = "window")]
    pub write_block: WriteBlockTimes,
    /// Keys compared inside the window.
    pub dirty_keys: i64,
    /// Writes that the guards of both shards refused, from right before the fence until the gaining shard was open, or
    /// for as long as the keys were read-only; absent where nobody counted all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<i64>,
    /// Where the rows of each table lay on the shard that gained the keys: no way back past a rewrite of them.
    #[serde(default)]
    pub storage: BTreeMap<String, String>,
}
