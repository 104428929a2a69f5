//! The roles of users.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The role of a token's user. Viewer, operator, approver and admin each have the permissions of those before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads everything, except the list of tokens.
    Viewer,
    /// Plans and submits operations; pauses, resumes and retries migrations; sets limits; verifies; aborts before the
    /// flip.
    Operator,
    /// Approves cutovers, permits the agent to end transactions for them, overrules hooks, rolls back and finishes
    /// migrations.
    Approver,
    /// Manages shards, maps and tokens, and repairs.
    Admin,
    /// An application: reads maps and reports its load.
    Application,
    /// An agent: claims and performs work.
    Agent,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 6] = [
        Self::Viewer,
        Self::Operator,
        Self::Approver,
        Self::Admin,
        Self::Application,
        Self::Agent,
    ];

    /// Returns the name of the role on the command line and in the store.
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

    /// Returns whether the role is for people, who may sign in to the dashboard.
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

/// The error for an unknown name of a role.
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
