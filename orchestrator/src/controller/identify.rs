//! Which database a shard is: asked for before it is registered, and before its connection string is changed.
//!
//! A connection string that leads to another shard's database is refused in every case. One that leads to another
//! database than the shard's is refused, unless an operator says that the shard was replaced, and no unfinished
//! migration uses it. Absent: what a session does that is in another database; the agent refuses it.

use super::{ControlError, Controller};
use crate::store::{NewShard, ShardRecord, Snapshot};
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

/// An agent that was not heard for so long is not waited for.
const LIVE: chrono::TimeDelta = chrono::TimeDelta::seconds(90);

/// A connection string that is not the shard's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DsnRefused {
    /// It leads to the database of another shard.
    #[error(
        "the connection string of shard {shard} leads to the database of shard {other}: {identity}"
    )]
    Duplicate {
        /// The shard.
        shard: ShardName,
        /// Whose database it is.
        other: ShardName,
        /// Which one.
        identity: DatabaseIdentity,
    },
    /// It leads to another database than before.
    #[error(
        "the connection string leads to another database than that of shard {shard}: {found}; the shard is {known}"
    )]
    Another {
        /// The shard.
        shard: ShardName,
        /// Where it leads.
        found: DatabaseIdentity,
        /// What was registered.
        known: DatabaseIdentity,
        /// An unfinished migration that uses the shard.
        migration: Option<MigrationId>,
    },
    /// A migration uses the shard, and the role lacks rights.
    #[error("migration {migration} uses shard {shard}, and the role of the connection string lacks rights there: {}", .lacks.join("; "))]
    Rights {
        /// The shard.
        shard: ShardName,
        /// The migration.
        migration: MigrationId,
        /// The statements that grant what is missing.
        lacks: Vec<String>,
    },
    /// Only an agent can say where it leads.
    #[error(
        "no agent could say whether the connection string leads to the database of shard {shard}"
    )]
    Unseen {
        /// The shard.
        shard: ShardName,
    },
}

/// What a new connection string is checked against.
pub(super) struct ExpectedShard<'a> {
    pub(super) known: &'a ShardRecord,
    pub(super) dsn: &'a str,
    /// The operator says that the shard is another database now.
    pub(super) replaced: bool,
}

impl Controller {
    /// The database of a shard that is to be registered; none where no agent is there to reach it: the first look at
    /// the shard identifies it then.
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
        self.refuse_duplicate(&new.name, &found.identity).await?;
        Ok(Some(found))
    }

    /// The database of a registered shard under another connection string, if it may be that one.
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
        let tables = tables(&users);
        let Some(found) = self.identify(reference, register, tables).await? else {
            return match wanted.known.identity {
                Some(_) => Err(DsnRefused::Unseen { shard }.into()),
                None => Ok(None),
            };
        };
        self.refuse_duplicate(&shard, &found.identity).await?;
        let migration = users.first().map(|user| user.migration.id.clone());
        let known = wanted.known.identity.as_ref();
        // A migration may still be aborted on the standby that was promoted in the shard's place.
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

    /// Refuses a database that is another shard's.
    pub(super) async fn refuse_duplicate(
        &self,
        shard: &ShardName,
        identity: &DatabaseIdentity,
    ) -> Result<(), ControlError> {
        let shards = self.inner.store.shards().await?;
        let mut others = shards.into_iter().filter(|other| &other.name != shard);
        let is_same_database = |other: &ShardRecord| {
            let known = other.identity.as_ref();
            known.is_some_and(|known| identity.is_at_place_of(known))
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

    /// Writes down which database a shard is from now on.
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

    /// What an agent finds where the reference leads; none where no agent reaches it.
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

    /// The unfinished migrations that use a shard.
    async fn users_of(&self, shard: &ShardName) -> Result<Vec<Arc<Snapshot>>, ControlError> {
        let unfinished = self.inner.store.unfinished().await?;
        let uses = |snapshot: &&Arc<Snapshot>| {
            let moving = &snapshot.migration.plan.moving;
            [&moving.source, &moving.target].contains(&shard)
        };
        Ok(unfinished.iter().filter(uses).cloned().collect())
    }
}

fn tables(users: &[Arc<Snapshot>]) -> Vec<TableName> {
    let tables = users
        .iter()
        .flat_map(|user| &user.migration.plan.moving.tables);
    let names: BTreeSet<TableName> = tables.map(|table| table.table.clone()).collect();
    names.into_iter().collect()
}
