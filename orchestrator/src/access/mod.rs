//! Who asks, and what they may: roles, secrets, what each route needs.
//!
//! Pure: `controller::tokens` finds the holder of a secret, `api::admit` asks both and lets in or says no.

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

/// Who must show a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AccessRule {
    /// Nobody: who reaches the address may do everything. For loopback alone.
    #[default]
    Open,
    /// Everybody, but for probes and the sign-in.
    Tokens,
}

/// What becomes of an order whose line in the audit trail cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum AuditRule {
    /// It is carried out, and its line is in the log.
    #[default]
    Noted,
    /// It is refused before anything is done.
    Required,
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visitor {
    /// The token's name; without tokens what the caller says.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// An agent sees only migrations between shards that carry all of these.
    pub labels: BTreeMap<String, String>,
    /// What the forms of a browser that is signed in must carry; none where no cookie was sent.
    pub csrf: Option<String>,
    /// Nobody may change anything here.
    pub read_only: bool,
}

impl Visitor {
    /// One who need not show a token.
    #[must_use]
    pub fn unnamed(name: &str, read_only: bool) -> Self {
        Self {
            name: name.to_owned(),
            role: Role::Admin,
            labels: BTreeMap::new(),
            csrf: None,
            read_only,
        }
    }

    /// Whether a route with this need is for the visitor.
    #[must_use]
    pub fn may(&self, need: RouteAccess) -> bool {
        need.is_met_by(self.role) && !(self.read_only && need.changes())
    }
}

/// Whether shards with `theirs` may be touched by an agent whose token has `bound`.
#[must_use]
pub fn covers(bound: &BTreeMap<String, String>, theirs: &BTreeMap<String, String>) -> bool {
    bound
        .iter()
        .all(|(key, value)| theirs.get(key) == Some(value))
}

/// A token to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// What the journals call its holder; of an agent's token the agent's name.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// Of an agent's token: labels that shards must carry.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Days until it ends; none: it does not.
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
    fn a_shard_must_carry_every_label_of_the_token() {
        let bound = labels(&[("region", "eu"), ("tier", "1")]);
        assert!(covers(
            &bound,
            &labels(&[("region", "eu"), ("tier", "1"), ("rack", "7")])
        ));
        assert!(!covers(&bound, &labels(&[("region", "eu")])));
        assert!(!covers(&bound, &labels(&[("region", "us"), ("tier", "1")])));
        assert!(covers(&labels(&[]), &labels(&[])));
    }

    #[test]
    fn nobody_changes_anything_where_all_is_read_only() {
        let visitor = Visitor::unnamed("ada", true);
        assert!(visitor.may(RouteAccess::Read));
        assert!(!visitor.may(RouteAccess::Operate));
    }
}
