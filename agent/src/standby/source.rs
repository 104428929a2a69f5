//! The shard whose server the standby copies.

use connect::{Connected, Dsn, Session, connect};
use plans::fleet::ShardRef;
use plans::identity::DatabaseIdentity;

use super::StandbyError;
use crate::error::WithIntent;
use crate::shard::identity;
use crate::shard::standby_slot::{self, SlotState};

/// What the server must have and be. The databases that the role may not examine are not counted.
const FACTS: &str = "
    select pg_catalog.pg_is_in_recovery(),
           pg_catalog.current_setting('server_version_num')::int / 10000,
           (select rolreplication or rolsuper from pg_catalog.pg_roles where rolname = session_user),
           (select coalesce(sum(pg_catalog.pg_database_size(oid)), 0)::bigint from pg_catalog.pg_database
            where pg_catalog.has_database_privilege(oid, 'connect')),
           pg_catalog.current_setting('max_replication_slots')::int
             - (select count(*)::int from pg_catalog.pg_replication_slots)";

/// The source, which was checked.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) dsn: Dsn,
    /// The major version of the server.
    pub(super) major: u32,
    /// The size of its databases.
    pub(super) bytes: u64,
    pub(super) identity: DatabaseIdentity,
}

impl Source {
    /// Connects to the shard and checks it. Changes nothing.
    pub(super) async fn open(shard: &ShardRef) -> Result<Self, StandbyError> {
        let name = shard.name.to_string();
        let dsn = Dsn::parse(&shard.dsn).map_err(|error| {
            StandbyError::new(
                format!("shard {name}: {error}"),
                error.hint().unwrap_or_default(),
            )
        })?;
        let dsn = match &shard.identity {
            Some(known) => dsn.opened_by(identity::session_opening(known)),
            None => dsn,
        };
        let session = open_session(&dsn, &name, "shardwright standby").await?;
        let facts = session.query_one(FACTS, &[]).await;
        let facts = facts.at(format_args!("shard {name}: examining the server"))?;
        if facts.get(0) {
            return Err(StandbyError::new(
                format!("shard {name}: its server is a standby"),
                "name the shard on its primary",
            ));
        }
        if !facts.get::<_, Option<bool>>(2).unwrap_or(false) {
            return Err(StandbyError::new(
                format!("shard {name}: the role of its connection string may not replicate"),
                "on the source, `alter role ROLE replication`",
            ));
        }
        if facts.get::<_, i32>(4) < 1 {
            return Err(StandbyError::new(
                format!("shard {name}: all its replication slots are in use"),
                "increase max_replication_slots on the source, which needs a restart, or drop a slot that nothing uses",
            ));
        }
        let read = identity::read(&session).await;
        Ok(Self {
            major: u32::try_from(facts.get::<_, i32>(1)).unwrap_or(0),
            bytes: u64::try_from(facts.get::<_, i64>(3)).unwrap_or(0),
            identity: read.at(format_args!("shard {name}: identifying the server"))?,
            name,
            dsn,
        })
    }

    /// Creates the recorded slot, which retains log from now on. Returns the session whose name shows that the slot is
    /// in use.
    pub(super) async fn create_slot(&self, slot: &str) -> Result<Connected, StandbyError> {
        let session = open_session(&self.dsn, &self.name, slot).await?;
        let created = session
            .execute(
                "select pg_catalog.pg_create_physical_replication_slot($1, true)",
                &[&slot],
            )
            .await;
        created.at(format_args!(
            "shard {}: creating replication slot {slot}",
            self.name
        ))?;
        super::progress(&format!(
            "created replication slot {slot} on shard {}",
            self.name
        ));
        Ok(session)
    }

    /// Drops the slot. The walsender of an ended copy may need a moment to end.
    pub(super) async fn drop_slot(&self, slot: &str) -> Result<(), StandbyError> {
        let session = open_session(&self.dsn, &self.name, "shardwright standby").await?;
        let action = format!("shard {}: dropping replication slot {slot}", self.name);
        for _ in 0..DROP_TRIES {
            let dropped = standby_slot::drop_unused(&session, slot).await;
            if dropped.at(&action)? == SlotState::Dropped {
                return Ok(());
            }
            tokio::time::sleep(super::backup::INTERVAL).await;
        }
        Err(StandbyError::new(format!("{action}: it is in use"), ""))
    }
}

/// How often the agent tries to drop a slot that is in use.
const DROP_TRIES: u32 = 20;

async fn open_session(
    dsn: &Dsn,
    shard: &str,
    application_name: &str,
) -> Result<Connected, StandbyError> {
    let session = Session::named(application_name).on(format!("shard {shard}"));
    connect(dsn, &session).await.map_err(|error| {
        StandbyError::new(
            format!("shard {shard}: {error}"),
            error.hint().unwrap_or_default(),
        )
    })
}
