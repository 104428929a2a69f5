//! What the holder of a token may do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What the holder of a token may do. Each of viewer, operator, approver and admin may do what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Sees everything.
    Viewer,
    /// Plans, submits, pauses, resumes, retries, limits, verifies; takes back what has not flipped.
    Operator,
    /// Lets a cutover begin, rolls back, finishes.
    Approver,
    /// Shards, maps, tokens, mends.
    Admin,
    /// Reads maps and tells of its load, as applications do.
    Application,
    /// Takes work, as agents do.
    Agent,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 6] = [
        Self::Viewer,
        Self::Operator,
        Self::Approver,
        Self::Admin,
        Self::Application,
        Self::Agent,
    ];

    /// The word on the command line and in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Approver => "approver",
            Self::Admin => "admin",
            Self::Application => "application",
            Self::Agent => "agent",
        }
    }

    /// People may sign in to the dashboard.
    #[must_use]
    pub fn is_for_people(self) -> bool {
        !matches!(self, Self::Application | Self::Agent)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No role has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no role: viewer, operator, approver, admin, application or agent")]
pub struct UnknownRole {
    text: String,
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        let found = Self::ALL.into_iter().find(|role| role.name() == text);
        found.ok_or_else(|| UnknownRole {
            text: text.to_owned(),
        })
    }
}
