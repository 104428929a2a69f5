//! The step `build_indexes`: creates on the target the objects that the copy omitted. Afterwards its schema equals the
//! source's.

use serde::{Deserialize, Serialize};

/// The result of the step.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IndexesBuilt {
    /// The number of objects that this run created.
    pub objects: usize,
    /// The comparison of both schemas. It has no value if the target had the tables before the migration, because
    /// `create_target` has compared them, or if the agent has an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<SchemaCompared>,
}

/// Two schemas that were compared and are equal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SchemaCompared {
    /// The number of the source's objects that were compared, including parts of tables.
    pub objects: i64,
    /// Objects of the source that are neither created nor compared.
    pub left_out: Vec<String>,
}
