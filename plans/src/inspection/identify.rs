//! Reads the identity of the database to which a connection string leads, and the privileges that its role lacks.

use crate::fleet::ShardRef;
use crate::identity::DatabaseIdentity;
use crate::table::TableName;
use serde::{Deserialize, Serialize};

/// The task to identify a database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentifyTask {
    /// The shard. It has no identity, because the task reads it.
    pub shard: ShardRef,
    /// True to give the database its random id, unless it has one.
    pub register: bool,
    /// Tables of unfinished migrations on this shard. The role must be a member of their owners.
    #[serde(default)]
    pub tables: Vec<TableName>,
}

/// The identity of a database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identified {
    /// The identity.
    pub identity: DatabaseIdentity,
    /// The position up to which the log is flushed, in bytes.
    pub flushed: u64,
    /// The privileges that the role lacks for a migration, each as the statement that grants it.
    pub lacks: Vec<String>,
}
