//! The step `cutover`, attempt n (docs/protocol.md, C1 to C11). Its times show how long writes were blocked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::{AttemptNo, MapVersion};

/// The write-blocked window and its parts, in milliseconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WriteBlockTimes {
    /// From the fence to the opening of the new owner.
    pub total: f64,
    /// The fence itself, with the first search for writing transactions.
    #[serde(default)]
    pub fence: f64,
    /// The wait for transactions that wrote before the fence, and again for those before the seal.
    pub wait_out: f64,
    /// From the marker to its application. Sequences are set meanwhile.
    pub drain: f64,
    /// The comparison of changed keys, before the old owner is closed.
    pub check: f64,
    /// The seal, the second marker, and another check of guards and fingerprints.
    pub seal: f64,
    /// The compare-and-set in the control store.
    pub flip: f64,
    /// The opening of the target's register.
    pub open: f64,
}

impl WriteBlockTimes {
    /// Returns the parts in their order, each with its name for people.
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

/// The result of a cutover or a rollback.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CutoverResult {
    /// The number of the attempt that succeeded.
    pub attempt: AttemptNo,
    /// The map version that the flip created.
    pub map_version: MapVersion,
    /// The write-blocked window.
    #[serde(rename = "window")]
    pub write_block: WriteBlockTimes,
    /// The number of keys that were compared during the window.
    pub dirty_keys: i64,
    /// The number of writes that the guards of both shards refused, from immediately before the fence to the opening of
    /// the new owner, or while the keys were read-only. It has no value if they were not counted completely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<i64>,
    /// The storage file of each table on the new owner. After a rewrite of these files a rollback is impossible.
    #[serde(default)]
    pub storage: BTreeMap<String, String>,
}
