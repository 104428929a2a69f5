//! Build indexes: what the copy left out stands on the target, and its schema is the source's.

use serde::{Deserialize, Serialize};

/// What was built.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IndexesBuilt {
    /// Objects that this run built.
    pub objects: usize,
    /// The comparison of both schemas; none on a target that had the tables before, which are compared by
    /// `create_target`, and none from an agent of an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<SchemaCompared>,
}

/// Two schemas that were compared and are equal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SchemaCompared {
    /// Objects of the source that were compared, parts of tables among them.
    pub objects: i64,
    /// What of the source is neither carried over nor compared.
    pub left_out: Vec<String>,
}
