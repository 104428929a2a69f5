//! Which database a connection string leads to, and what its role lacks there.

use crate::fleet::ShardRef;
use crate::identity::DatabaseIdentity;
use crate::table::TableName;
use serde::{Deserialize, Serialize};

/// A database to identify.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentifyTask {
    /// The shard; without an identity, which is what is asked for.
    pub shard: ShardRef,
    /// Give the database its random id, unless it has one.
    pub register: bool,
    /// Tables of unfinished migrations there, whose owners the role must be able to act as.
    #[serde(default)]
    pub tables: Vec<TableName>,
}

/// A database as it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identified {
    /// Which database it is.
    pub identity: DatabaseIdentity,
    /// The end of the log that is on its disk, bytes.
    pub flushed: u64,
    /// What its role lacks for a migration, each as the statement that grants it.
    pub lacks: Vec<String>,
}
