//! Which database a shard is: what tells it from every other one, its copies among them.
//!
//! Databases of one server differ in their OID, a physical copy that was promoted in its timeline, a restored dump in
//! the server. The random id tells that a database was registered here, and is not another that came to its place.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The identity of a database.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseIdentity {
    /// `system_identifier` of the cluster; a physical copy shares it.
    pub system: String,
    /// Timeline of the cluster; a promoted standby has a new one.
    pub timeline: i32,
    /// OID of the database; none: it was not read, by an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<u32>,
    /// Random id that is kept in the database, in `shardwright.database`; none: it was not registered, or not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

impl DatabaseIdentity {
    /// True unless `found` differs in something that is known of this one.
    #[must_use]
    pub fn accepts(&self, found: &Self) -> bool {
        self.is_same_database(found)
            && self.timeline == found.timeline
            && (self.id.is_none() || self.id == found.id)
    }

    /// True when `found` is this database at some time: also a standby that was promoted in its place, or what was
    /// restored from before it had an id.
    #[must_use]
    pub fn is_same_database(&self, found: &Self) -> bool {
        self.system == found.system
            && (self.database.is_none() || self.database == found.database)
            && (self.id.is_none() || found.id.is_none() || self.id == found.id)
    }

    /// True when `found` is this database on a later timeline: a standby was promoted in its place, or a copy that is no
    /// such standby, which only an operator can tell.
    #[must_use]
    pub fn was_promoted_to(&self, found: &Self) -> bool {
        self.is_same_database(found) && self.timeline < found.timeline
    }

    /// True when both are known to be one database, whatever their random ids are.
    #[must_use]
    pub fn is_at_place_of(&self, other: &Self) -> bool {
        self.database.is_some()
            && (&self.system, self.timeline, self.database)
                == (&other.system, other.timeline, other.database)
    }
}

impl fmt::Display for DatabaseIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "system {}, timeline {}", self.system, self.timeline)?;
        if let Some(database) = self.database {
            write!(f, ", database {database}")?;
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
        }
    }

    #[test]
    fn what_is_known_must_be_found_and_what_is_not_known_may_be_anything() {
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
    fn two_names_of_one_database_are_known_by_its_place() {
        let known = identity(1, Some(5), Some("x"));
        assert!(known.is_at_place_of(&identity(1, Some(5), None)));
        assert!(!known.is_at_place_of(&identity(1, Some(6), Some("x"))));
        assert!(!known.is_at_place_of(&identity(2, Some(5), Some("x"))));
        assert!(!identity(1, None, None).is_at_place_of(&identity(1, None, None)));
    }
}
