//! The identity of a shard's database, which distinguishes it from every other database and from copies of it.
//!
//! Databases of one server differ in their OID. A physical copy that was promoted differs in its timeline. A restored
//! dump is on another server, or has another OID. The random id shows that the database was registered, and that no
//! other database has replaced it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The identity of a database.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseIdentity {
    /// The `system_identifier` of the cluster. A physical copy has the same one.
    pub system: String,
    /// The timeline of the cluster. A promoted standby has a new one.
    pub timeline: i32,
    /// The OID of the database. It has no value if an older version recorded the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<u32>,
    /// A random id, which is stored in the table `shardwright.database` of the database. It has no value if the
    /// database is not registered or the id was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// True if the server is a standby, which replays the log of another server. Its database has the identity of that
    /// server's database, and the id of the standby as a shard exists only after its promotion.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub standby: bool,
}

impl DatabaseIdentity {
    /// Returns true if `found` has the same value for every part that this identity knows.
    #[must_use]
    pub fn accepts(&self, found: &Self) -> bool {
        self.is_same_database(found)
            && self.timeline == found.timeline
            && self.standby == found.standby
            && (self.id.is_none() || self.id == found.id)
    }

    /// Returns true if `found` is this database at any time: also after a standby was promoted in its place, or after
    /// it was restored to a time when it had no id.
    #[must_use]
    pub fn is_same_database(&self, found: &Self) -> bool {
        self.system == found.system
            && (self.database.is_none() || self.database == found.database)
            && (self.id.is_none() || found.id.is_none() || self.id == found.id)
    }

    /// Returns true if `found` is this database on a later timeline. Then a standby was promoted in its place, or
    /// `found` is another copy. Only an operator can distinguish these.
    #[must_use]
    pub fn was_promoted_to(&self, found: &Self) -> bool {
        !found.standby && self.is_same_database(found) && self.timeline < found.timeline
    }

    /// Returns true if both have the same cluster, timeline and OID, regardless of their random ids. Then they are the
    /// same database.
    #[must_use]
    pub fn has_same_oid_and_timeline(&self, other: &Self) -> bool {
        self.database.is_some()
            && (&self.system, self.timeline, self.database, self.standby)
                == (&other.system, other.timeline, other.database, other.standby)
    }
}

impl fmt::Display for DatabaseIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "system {}, timeline {}", self.system, self.timeline)?;
        if let Some(database) = self.database {
            write!(f, ", database {database}")?;
        }
        if self.standby {
            f.write_str(", standby")?;
        }
        match &self.id {
            Some(id) => write!(f, ", id {id}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(timeline: i32, database: Option<u32>, id: Option<&str>) -> DatabaseIdentity {
        DatabaseIdentity {
            system: "7".to_owned(),
            timeline,
            database,
            id: id.map(str::to_owned),
            standby: false,
        }
    }

    #[test]
    fn known_parts_must_be_equal_and_unknown_parts_may_differ() {
        let known = identity(1, Some(5), Some("x"));
        assert!(known.accepts(&known));
        for other in [
            identity(2, Some(5), Some("x")),
            identity(1, Some(6), Some("x")),
            identity(1, Some(5), Some("y")),
            identity(1, Some(5), None),
            identity(1, None, Some("x")),
        ] {
            assert!(!known.accepts(&other), "{other}");
        }
        assert!(known.is_same_database(&identity(2, Some(5), Some("x"))));
        assert!(known.is_same_database(&identity(1, Some(5), None)));
        assert!(!known.is_same_database(&identity(1, Some(5), Some("y"))));
        assert!(identity(1, None, None).accepts(&known));
    }

    #[test]
    fn two_names_of_one_database_are_recognized_by_its_oid_and_timeline() {
        let known = identity(1, Some(5), Some("x"));
        assert!(known.has_same_oid_and_timeline(&identity(1, Some(5), None)));
        assert!(!known.has_same_oid_and_timeline(&identity(1, Some(6), Some("x"))));
        assert!(!known.has_same_oid_and_timeline(&identity(2, Some(5), Some("x"))));
        assert!(!identity(1, None, None).has_same_oid_and_timeline(&identity(1, None, None)));
    }
}
