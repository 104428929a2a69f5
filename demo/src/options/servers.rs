//! The PostgreSQL versions of the shards' servers.

use cluster::{Binaries, ClusterError};
use serde::{Deserialize, Serialize};

/// The major versions of the source's and the target's server. Without a value it is the newest installed version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Servers {
    /// The version of the sources.
    pub source: Option<u32>,
    /// The version of the targets.
    pub target: Option<u32>,
}

impl Servers {
    /// Returns the programs of the server with this name, if its version was specified.
    pub(crate) fn programs(self, name: &str) -> Result<Option<Binaries>, ClusterError> {
        let major = match name {
            "source" | "left" => self.source,
            "target" | "right" => self.target,
            _ => None,
        };
        major.map(|major| Binaries::find(Some(major))).transpose()
    }
}
