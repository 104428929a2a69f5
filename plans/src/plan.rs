//! A plan: what will be done, with a hash over it; `apply` takes no other.

use crate::failure::Finding;
use crate::graph::StepGraph;
use crate::id::{MapName, MapVersion, ShardName};
use crate::key_set::KeySet;
use crate::request::Options;
use crate::table::MovingTable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A shard and how to reach it; secrets are references that only an agent resolves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardRef {
    /// The shard's name.
    pub name: ShardName,
    /// Connection string without inline secrets.
    pub dsn: String,
}

/// Keys that go from one shard to another, with their tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Move {
    /// Where the keys are.
    pub source: ShardName,
    /// Where they go.
    pub target: ShardName,
    /// The keys.
    pub keys: KeySet,
    /// The tables, parents before children.
    pub tables: Vec<MovingTable>,
}

/// What a plan expects; orientation only, never a safety decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Rows that move.
    pub rows: i64,
    /// Heap bytes that move.
    pub bytes: i64,
    /// Write stop of the moving keys that the budget allows, milliseconds.
    pub write_stop_budget_ms: u32,
}

/// What will be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Form of this document.
    pub api_version: String,
    /// The operation's name.
    pub operation: String,
    /// The map.
    pub map: MapName,
    /// The version of the map that the plan was made for.
    pub map_version: MapVersion,
    /// The control store that the version belongs to.
    pub incarnation: String,
    /// Hash over the moving tables' schema on the source.
    pub schema_fingerprint: String,
    /// The move.
    #[serde(rename = "move")]
    pub moving: Move,
    /// How the migration behaves.
    pub options: Options,
    /// Steps and their order.
    pub graph: StepGraph,
    /// What is to be expected.
    pub estimate: Estimate,
    /// Warnings and notes of the survey; a plan with a refusal is never made.
    pub findings: Vec<Finding>,
    /// SHA-256 over all of the above.
    #[serde(default)]
    pub hash: String,
}

/// The form that this version writes.
pub const API_VERSION: &str = "shardwright/v1";

impl Plan {
    /// The plan with its hash filled in.
    #[must_use]
    pub fn sealed(mut self) -> Self {
        self.hash = self.computed_hash();
        self
    }

    /// SHA-256 in hex over the plan without its hash field.
    #[must_use]
    pub fn computed_hash(&self) -> String {
        let bare = Self {
            hash: String::new(),
            ..self.clone()
        };
        let text = serde_json::to_vec(&bare).unwrap_or_default();
        Sha256::digest(text)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// Reads a plan file.
    ///
    /// # Errors
    /// [`PlanFileError`] when it is malformed, of another form, or was edited after it was written.
    pub fn parse(text: &str) -> Result<Self, PlanFileError> {
        let plan: Self = serde_json::from_str(text).map_err(|error| PlanFileError::Malformed {
            line: error.line(),
            column: error.column(),
            message: error.to_string(),
        })?;
        if plan.api_version != API_VERSION {
            return Err(PlanFileError::Form {
                found: plan.api_version,
            });
        }
        if plan.hash != plan.computed_hash() {
            return Err(PlanFileError::Edited);
        }
        Ok(plan)
    }
}

/// Why a plan file is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanFileError {
    /// Not JSON of this form.
    #[error("the plan cannot be read: {message}")]
    Malformed {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// The parser's words.
        message: String,
    },
    /// Written by another version.
    #[error("the plan has the form {found:?}, this version reads {API_VERSION:?}")]
    Form {
        /// What the file says.
        found: String,
    },
    /// Contents and hash differ.
    #[error("the plan was changed after it was written: its hash does not match its contents")]
    Edited,
}
