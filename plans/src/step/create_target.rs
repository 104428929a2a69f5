//! The step `create_target`: creates the moving tables, a closed register and the guard on the target. Afterwards the
//! target has no row of the moving keys.
//!
//! On an empty database it creates the source's whole schema. On a live shard the tables must be equal to the source's.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::identity::DatabaseIdentity;
use crate::table::TableName;

/// The result of the step.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TargetCreated {
    /// True if the step created the tables; false on a live shard.
    pub created: bool,
    /// The number of the source's schema objects that were read.
    pub objects: usize,
    /// True if foreign keys to reference tables cascade to moving rows, and may skip these rows on a shard that does
    /// not own them. Then only agents with protocol [`crate::wire::FIRST_PROTOCOL_WITH_CASCADES`] or newer may continue
    /// the migration, because older ones do not check the skipped rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cascades: bool,
    /// The reference tables that the target had before the step created the others. They are not copied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub existing_references: Vec<TableName>,
    /// The server on which the tables are, if the agent has recorded it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<DatabaseIdentity>,
}

impl TargetCreated {
    /// Returns whether the target had the moving tables before, according to the step's `output`.
    #[must_use]
    pub fn existed(output: Option<&Value>) -> bool {
        let target = output.and_then(|output| Self::deserialize(output).ok());
        target.is_some_and(|target| !target.created)
    }
}
