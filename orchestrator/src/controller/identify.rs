//! Identification of databases: which database a shard is, before the shard is registered and before its connection
//! string is changed.
//!
//! The controller always refuses a connection string that leads to the database of another shard. It also refuses one
//! that leads to a database that is not the shard's, unless the operator declares that the shard was replaced and no
//! unfinished migration uses it. At run time, the agent checks in each session that it is in the right database.

use super::{ControlError, Controller};
use crate::store::{NewShard, ShardRecord, Snapshot};
use connect::Dsn;
use plans::fleet::ShardRef;
use plans::id::{MigrationId, ShardName};
use plans::identity::DatabaseIdentity;
use plans::inspection::identify::{Identified, IdentifyTask};
use plans::inspection::inventory::ObservedServer;
use plans::inspection::{Inspected, Inspection};
use plans::table::TableName;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Agents that have sent nothing for this time count as not connected.
pub(super) const LIVE: chrono::TimeDelta = chrono::TimeDelta::seconds(90);

/// Why a connection string is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DsnRefused {
    /// The connection string leads to the database of another shard.
    #[error(
        "the connection string of shard {shard} leads to the database of shard {other}: {identity}"
    )]
    Duplicate {
        /// The shard.
        shard: ShardName,
        /// The shard to which the database belongs.
        other: ShardName,
        /// The database.
        identity: DatabaseIdentity,
    },
    /// The connection string leads to another database than before.
    #[error(
        "the connection string leads to the database {found}, but shard {shard} is the database {known}"
    )]
    Another {
        /// The shard.
        shard: ShardName,
        /// The database to which the connection string leads.
        found: DatabaseIdentity,
        /// The registered database.
        known: DatabaseIdentity,
        /// An unfinished migration that uses the shard.
        migration: Option<MigrationId>,
    },
    /// A migration uses the shard, and the role of the connection string lacks privileges.
    #[error("migration {migration} uses shard {shard}, and the role of the connection string lacks privileges there: {}", .lacks.join("; "))]
    Rights {
        /// The shard.
        shard: ShardName,
        /// The migration.
        migration: MigrationId,
        /// The statements that grant the missing privileges.
        lacks: Vec<String>,
    },
    /// No agent is connected that could find out to which database the connection string leads.
    #[error(
        "no agent is connected that could check whether the connection string leads to the database of shard {shard}"
    )]
    Unidentified {
        /// The shard.
        shard: ShardName,
    },
}

/// A new connection string of a registered shard.
pub(super) struct ExpectedShard<'a> {
    /// The registered shard.
    pub(super) known: &'a ShardRecord,
    /// The new connection string.
    pub(super) dsn: &'a str,
    /// True if the operator declares that the shard is another database now.
    pub(super) replaced: bool,
}

impl Controller {
    /// Returns the database of a shard that is to be registered; `None` if no agent is connected. The first later probe
    /// of the shard then identifies it.
    pub(super) async fn identify_new(
        &self,
        new: &NewShard,
    ) -> Result<Option<Identified>, ControlError> {
        let reference = ShardRef {
            name: new.name.clone(),
            number: 0,
            dsn: new.dsn.clone(),
            identity: None,
        };
        let Some(found) = self.identify(reference, true, Vec::new()).await? else {
            return Ok(None);
        };
        self.refuse_duplicate(&new.name, &new.dsn, &found.identity)
            .await?;
        Ok(Some(found))
    }

    /// Returns the database of a registered shard under another connection string, or an error if the shard may not be
    /// that database.
    pub(super) async fn identify_changed(
        &self,
        wanted: ExpectedShard<'_>,
    ) -> Result<Option<Identified>, ControlError> {
        let shard = wanted.known.name.clone();
        let users = self.users_of(&shard).await?;
        let reference = ShardRef {
            dsn: wanted.dsn.to_owned(),
            identity: None,
            ..wanted.known.reference()
        };
        let register = wanted.known.identity.is_none() || wanted.replaced;
        let tables = moved_tables(&users);
        let Some(found) = self.identify(reference, register, tables).await? else {
            return match wanted.known.identity {
                Some(_) => Err(DsnRefused::Unidentified { shard }.into()),
                None => Ok(None),
            };
        };
        self.refuse_duplicate(&shard, wanted.dsn, &found.identity)
            .await?;
        let migration = users.first().map(|user| user.migration.id.clone());
        let known = wanted.known.identity.as_ref();
        // If a standby of the shard was promoted in its place, a migration that uses the shard can still be aborted
        // there.
        let may_be = |known: &DatabaseIdentity| {
            wanted.replaced && (migration.is_none() || known.was_promoted_to(&found.identity))
        };
        if let Some(known) = known.filter(|known| !known.accepts(&found.identity) && !may_be(known))
        {
            return Err(DsnRefused::Another {
                shard,
                found: found.identity,
                known: known.clone(),
                migration,
            }
            .into());
        }
        match migration {
            Some(migration) if !found.lacks.is_empty() => Err(DsnRefused::Rights {
                shard,
                migration,
                lacks: found.lacks,
            }
            .into()),
            Some(_) | None => Ok(Some(found)),
        }
    }

    /// Refuses a database that belongs to another shard. Two standbys of one server have the same identity; they are
    /// distinguished by their connection strings.
    pub(super) async fn refuse_duplicate(
        &self,
        shard: &ShardName,
        dsn: &str,
        identity: &DatabaseIdentity,
    ) -> Result<(), ControlError> {
        let shards = self.inner.store.shards().await?;
        let mut others = shards.into_iter().filter(|other| &other.name != shard);
        let is_same_database = |other: &ShardRecord| {
            let known = other.identity.as_ref();
            known.is_some_and(|known| identity.has_same_oid_and_timeline(known))
                && (!identity.standby || have_same_address(dsn, &other.dsn))
        };
        match others.find(is_same_database) {
            None => Ok(()),
            Some(other) => Err(DsnRefused::Duplicate {
                shard: shard.clone(),
                other: other.name,
                identity: identity.clone(),
            }
            .into()),
        }
    }

    /// Records which database the shard is from now on.
    pub(super) async fn note_database(
        &self,
        number: i32,
        found: &Identified,
    ) -> Result<(), ControlError> {
        let observed = ObservedServer {
            number,
            server: found.identity.clone(),
            flushed: found.flushed,
            missing: 0,
        };
        Ok(self.inner.store.put_server(&observed).await?)
    }

    /// Returns the database that an agent finds under the reference; `None` if no agent is connected.
    pub(super) async fn identify(
        &self,
        shard: ShardRef,
        register: bool,
        tables: Vec<TableName>,
    ) -> Result<Option<Identified>, ControlError> {
        let agents = self.inner.store.agents().await?;
        let now = super::clock();
        if agents.iter().all(|agent| agent.last_seen + LIVE < now) {
            return Ok(None);
        }
        let task = IdentifyTask {
            shard,
            register,
            tables,
        };
        let inspection = Inspection::Identify(task);
        match self.inspect(inspection, Duration::ZERO).await {
            Ok(Inspected::Identified(found)) => Ok(Some(found)),
            Ok(_) => Err(ControlError::OtherAnswer),
            Err(ControlError::NoAgent) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the unfinished migrations that use a shard.
    async fn users_of(&self, shard: &ShardName) -> Result<Vec<Arc<Snapshot>>, ControlError> {
        let unfinished = self.inner.store.unfinished().await?;
        let uses = |snapshot: &&Arc<Snapshot>| {
            let moving = &snapshot.migration.plan.moving;
            [&moving.source, &moving.target].contains(&shard)
        };
        Ok(unfinished.iter().filter(uses).cloned().collect())
    }
}

/// Returns whether both connection strings have the same hosts, ports and database name.
fn have_same_address(one: &str, other: &str) -> bool {
    match (Dsn::parse(one), Dsn::parse(other)) {
        (Ok(one), Ok(other)) => one.server() == other.server(),
        (Err(_), _) | (_, Err(_)) => one == other,
    }
}

/// Returns the tables that the migrations move, for which the role needs privileges.
fn moved_tables(users: &[Arc<Snapshot>]) -> Vec<TableName> {
    let tables = users
        .iter()
        .flat_map(|user| &user.migration.plan.moving.tables);
    let present = tables.filter(|table| !table.retired);
    let names: BTreeSet<TableName> = present.map(|table| table.table.clone()).collect();
    names.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::have_same_address;

    #[test]
    fn connection_strings_with_the_same_server_and_database_have_the_same_address() {
        let one = "host=10.0.0.8 dbname=app user=agent";
        for same in [
            "postgres://other@10.0.0.8:5432/app",
            "host=10.0.0.8 port=5432 dbname=app user=agent sslmode=require",
        ] {
            assert!(have_same_address(one, same), "{same}");
        }
        for other in [
            "host=10.0.0.9 dbname=app user=agent",
            "host=10.0.0.8 port=5433 dbname=app user=agent",
            "host=10.0.0.8 dbname=other user=agent",
        ] {
            assert!(!have_same_address(one, other), "{other}");
        }
    }
}
