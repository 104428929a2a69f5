//! Names and numbers that must not be mixed up.

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
            /// The name as text.
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
            /// The number that follows.
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
    /// A migration: lower-case letters and digits, so that it can stand inside SQL object names.
    MigrationId
);
text_id!(
    /// A shard: one database of the fleet, by the operator's name for it.
    ShardName
);
text_id!(
    /// A shard map, by the operator's name for it.
    MapName
);
text_id!(
    /// An agent, by the name its operator gave it; stable over restarts.
    AgentName
);
text_id!(
    /// One process of an agent; new at every start.
    InstanceId
);
text_id!(
    /// A node of a step graph.
    StepId
);
number_id!(
    /// Fencing token of a migration's owner: only the highest may act (I7).
    Epoch
);
number_id!(
    /// A version of a shard map; grows by one at each flip.
    MapVersion
);
number_id!(
    /// The number of a cutover attempt within one migration (C2).
    AttemptNo
);

/// Longest migration id that still fits into every object name derived from it.
pub const MIGRATION_ID_MAX: usize = 24;

impl MigrationId {
    /// Accepts lower-case letters and digits only, starting with a letter.
    ///
    /// # Errors
    /// The text itself, when it cannot be a migration id.
    pub fn parse(text: &str) -> Result<Self, String> {
        let starts_well = text.starts_with(|c: char| c.is_ascii_lowercase());
        let plain = text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        if starts_well && plain && text.len() <= MIGRATION_ID_MAX {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!("{text:?} is not a migration id"))
        }
    }
}
