//! Which versions of PostgreSQL the shards' servers have.

use cluster::{Binaries, ClusterError};
use serde::{Deserialize, Serialize};

/// Major versions of the servers that keys leave, and come to; the newest that is installed where none is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Servers {
    /// Of the sources.
    pub source: Option<u32>,
    /// Of the targets.
    pub target: Option<u32>,
}

impl Servers {
    /// The programs of the server called `name`, where its version was named.
    pub(crate) fn programs(self, name: &str) -> Result<Option<Binaries>, ClusterError> {
        let major = match name {
            "source" | "left" => self.source,
            "target" | "right" => self.target,
            _ => None,
        };
        major.map(|major| Binaries::find(Some(major))).transpose()
    }
}
