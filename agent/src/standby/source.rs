//! The shard whose server the standby copies.

use std::collections::BTreeSet;

use connect::{Connected, Dsn, Session, connect};
use plans::fleet::ShardRef;
use plans::identity::DatabaseIdentity;

use super::{NewStandbyServer, StandbyError};
use crate::error::WithIntent;
use crate::shard::identity;
use crate::shard::standby_slot::{self, SlotState};

/// What the server must have and be. The databases that the role may not examine are not counted. The places of files are
/// null if the role may not read them.
const FACTS: &str = "
    select pg_catalog.pg_is_in_recovery(),
           pg_catalog.current_setting('server_version_num')::int / 10000,
           (select rolreplication or rolsuper from pg_catalog.pg_roles where rolname = session_user),
           (select coalesce(sum(pg_catalog.pg_database_size(oid)), 0)::bigint from pg_catalog.pg_database
            where pg_catalog.has_database_privilege(oid, 'connect')),
           pg_catalog.current_setting('max_replication_slots')::int
             - (select count(*)::int from pg_catalog.pg_replication_slots),
           pg_catalog.current_setting('max_wal_senders')::int
             - (select count(*)::int from pg_catalog.pg_stat_replication),
           (select spcname::text from pg_catalog.pg_tablespace
            where spcname not in ('pg_default', 'pg_global') order by 1 limit 1),
           (select not pg_catalog.starts_with(f.setting, d.setting || '/')
            from pg_catalog.pg_settings f, pg_catalog.pg_settings d
            where f.name = 'config_file' and d.name = 'data_directory')";
/// `pg_basebackup` and the standby use one WAL sender each, and the former another one for the log.
const WAL_SENDERS: i32 = 2;
/// How often the agent tries to drop a slot that is in use.
const DROP_TRIES: u32 = 20;

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
    pub(super) async fn open(
        shard: &ShardRef,
        new: &NewStandbyServer,
    ) -> Result<Self, StandbyError> {
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
        if let Some((problem, remedy)) = defect(&facts, new) {
            return Err(StandbyError::new(
                format!("shard {name}: {problem}"),
                remedy,
            ));
        }
        refuse_unknown_settings(&session, &name, new).await?;
        let read = identity::read(&session).await;
        Ok(Self {
            major: u32::try_from(facts.get::<_, i32>(1)).unwrap_or(0),
            bytes: u64::try_from(facts.get::<_, i64>(3)).unwrap_or(0),
            identity: read.at(format_args!("shard {name}: identifying the server"))?,
            name,
            dsn,
        })
    }

    /// Opens a session whose name shows that the slot is in use.
    pub(super) async fn session(&self, slot: &str) -> Result<Connected, StandbyError> {
        open_session(&self.dsn, &self.name, slot).await
    }

    /// Creates the recorded slot, which retains log from now on. Returns the session whose name shows that the slot is
    /// in use.
    pub(super) async fn create_slot(&self, slot: &str) -> Result<Connected, StandbyError> {
        let session = self.session(slot).await?;
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

    /// Drops the slot if it exists. The walsender of an ended copy may need a moment to end.
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

/// Returns what prevents a standby of this server, with the remedy.
fn defect(facts: &tokio_postgres::Row, new: &NewStandbyServer) -> Option<(String, &'static str)> {
    if facts.get(0) {
        return Some((
            "its server is a standby".to_owned(),
            "name the shard on its primary",
        ));
    }
    if !facts.get::<_, Option<bool>>(2).unwrap_or(false) {
        return Some((
            "the role of its connection string may not replicate".to_owned(),
            "on the source, `alter role ROLE replication`",
        ));
    }
    if facts.get::<_, i32>(4) < 1 {
        return Some((
            "its server has no free replication slot".to_owned(),
            "`shardwright cleanup --apply` drops slots that failed attempts left; otherwise increase max_replication_slots on the source, which needs a restart",
        ));
    }
    if facts.get::<_, i32>(5) < WAL_SENDERS {
        return Some((
            format!("its server has fewer than {WAL_SENDERS} free WAL senders"),
            "increase max_wal_senders on the source, which needs a restart",
        ));
    }
    if let Some(tablespace) = facts.get::<_, Option<&str>>(6) {
        return Some((
            format!("its server has the tablespace {tablespace}"),
            "create the standby with pg_basebackup and --tablespace-mapping, then `shardwright shard add`",
        ));
    }
    let has_other_place = facts.get::<_, Option<bool>>(7).unwrap_or(false);
    if has_other_place && new.start_command.is_none() {
        return Some((
            "its configuration is not in its data directory, so the copy will have none".to_owned(),
            "create the configuration of the new server where its packages expect it, and give --start-command, for example `pg_ctlcluster 15 shard_b start`",
        ));
    }
    None
}

/// Checks that the server knows the settings. A name with a dot belongs to an extension.
async fn refuse_unknown_settings(
    session: &Connected,
    shard: &str,
    new: &NewStandbyServer,
) -> Result<(), StandbyError> {
    let rows = session
        .query("select name from pg_catalog.pg_settings", &[])
        .await;
    let rows = rows.at(format_args!("shard {shard}: reading the names of settings"))?;
    let known: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
    // Only those with the privilege see these.
    let is_unknown = |name: &&String| !name.contains('.') && !known.contains(&name.to_lowercase());
    let mut names = new.settings.iter().map(|(name, _)| name);
    names.find(is_unknown).map_or(Ok(()), |name| {
        Err(StandbyError::new(
            format!("shard {shard}: its server has no setting {name}, or its role may not see it"),
            "correct --set, or set it when the standby runs",
        ))
    })
}

pub(super) async fn open_session(
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
