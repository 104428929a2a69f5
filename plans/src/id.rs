//! Types for names and numbers, so that the compiler does not accept one for another.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// Returns the name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    };
}

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl $name {
            /// Returns the next number.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

text_id!(
    /// The id of a migration: lower-case letters and digits, so that it can be part of SQL names.
    MigrationId
);
text_id!(
    /// The operator's name for a shard, which is one database of the fleet.
    ShardName
);
text_id!(
    /// The operator's name for a shard map.
    MapName
);
text_id!(
    /// The operator's name for an agent. It stays the same when the agent restarts.
    AgentName
);
text_id!(
    /// The random id of one process of an agent. Each process has another one.
    InstanceId
);
text_id!(
    /// The name of a node of a step graph.
    StepId
);
number_id!(
    /// The number of a lease. Only the agent with the highest epoch may write on the shards (I7).
    Epoch
);
number_id!(
    /// The number of a version of a shard map. It grows by one at each flip.
    MapVersion
);
number_id!(
    /// The number of a cutover attempt of one migration (C2).
    AttemptNo
);

/// The greatest length of a migration id with which all object names derived from it are valid.
pub const MIGRATION_ID_MAX: usize = 24;

impl MigrationId {
    /// Accepts text of lower-case letters and digits that begins with a letter.
    ///
    /// # Errors
    /// Returns the text if it cannot be a migration id.
    pub fn parse(text: &str) -> Result<Self, String> {
        let starts_with_letter = text.starts_with(|c: char| c.is_ascii_lowercase());
        let has_only_permitted_characters = text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        if starts_with_letter && has_only_permitted_characters && text.len() <= MIGRATION_ID_MAX {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!("{text:?} is not a migration id"))
        }
    }
}
