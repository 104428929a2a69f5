//! Access control: the caller, its role, secrets, and the access that each route needs.
//!
//! The functions are pure. `controller::tokens` finds the user of a secret; `api::admit` calls both modules and admits
//! or refuses the request.

mod need;
mod role;
mod secret;
mod tries;

pub use need::RouteAccess;
pub use role::Role;
pub use secret::{Secret, SecretDigest};
pub(crate) use tries::FailedAttempts;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which callers must present a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AccessRule {
    /// No caller: every client that reaches the address may do everything. For loopback addresses only.
    #[default]
    Open,
    /// Every caller, except for health checks and the sign-in.
    Tokens,
}

/// What happens to a command that cannot be recorded in the audit trail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum AuditRule {
    /// The controller carries it out, and writes its line to the log.
    #[default]
    Noted,
    /// The controller refuses it.
    Required,
}

/// The caller of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The name of the token. If no token is required: the name that the caller sends.
    pub name: String,
    /// The role of the caller.
    pub role: Role,
    /// For an agent: the labels that the shards of its migrations must have.
    pub labels: BTreeMap<String, String>,
    /// The value that forms of a signed-in browser must contain; `None` if the request has no cookie.
    pub csrf: Option<String>,
    /// True if this process refuses all changes.
    pub read_only: bool,
}

impl Caller {
    /// Returns a caller that has no token in the store. The caller may do everything, unless `read_only`.
    #[must_use]
    pub fn without_token(name: &str, read_only: bool) -> Self {
        Self {
            name: name.to_owned(),
            role: Role::Admin,
            labels: BTreeMap::new(),
            csrf: None,
            read_only,
        }
    }

    /// Returns whether the caller may use a route that needs this access.
    #[must_use]
    pub fn may(&self, need: RouteAccess) -> bool {
        need.is_granted_to(self.role) && !(self.read_only && need.changes())
    }
}

/// Returns whether a shard with the labels `present` has all labels in `required`.
#[must_use]
pub fn has_labels(required: &BTreeMap<String, String>, present: &BTreeMap<String, String>) -> bool {
    required
        .iter()
        .all(|(key, value)| present.get(key) == Some(value))
}

/// A token to create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// The name of the user in the journal and the audit trail. For an agent's token: the name of the agent.
    pub name: String,
    /// The role of the user.
    pub role: Role,
    /// For an agent's token: the labels that shards must have.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// After how many days the token ends, 1 to 3650. If the field is missing, it does not end.
    #[serde(default)]
    pub days: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pairs = pairs.iter();
        pairs
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect()
    }

    #[test]
    fn a_shard_must_have_every_label_of_the_token() {
        let required = labels(&[("region", "eu"), ("tier", "1")]);
        assert!(has_labels(
            &required,
            &labels(&[("region", "eu"), ("tier", "1"), ("rack", "7")])
        ));
        assert!(!has_labels(&required, &labels(&[("region", "eu")])));
        assert!(!has_labels(
            &required,
            &labels(&[("region", "us"), ("tier", "1")])
        ));
        assert!(has_labels(&labels(&[]), &labels(&[])));
    }

    #[test]
    fn a_read_only_controller_permits_no_change() {
        let caller = Caller::without_token("ada", true);
        assert!(caller.may(RouteAccess::Read));
        assert!(!caller.may(RouteAccess::Operate));
    }
}
