//! One shard of a migration: how to open sessions there under the owner's epoch.

use connect::{Connected, Dsn, Session, connect};
use plans::fleet::ShardRef;
use plans::id::{Epoch, MigrationId};
use plans::identity::DatabaseIdentity;
use plans::shard_map::Sequences;

use super::identity;
use super::sequences::SequenceShare;
use crate::error::{StepError, WithIntent};

/// A session that does not sort gets the order of a lookup from the one index that has it, whatever the role or the
/// database sets by default.
pub(crate) const LOOKUP_SETTINGS: &str = "set enable_sort = off; set enable_incremental_sort = off; \
    set enable_indexscan = on; set enable_tidscan = on; set enable_nestloop = on";

/// A shard as one owner of one migration uses it.
#[derive(Debug, Clone)]
pub(crate) struct Shard {
    pub(crate) name: String,
    pub(crate) dsn: Dsn,
    /// The database that it must be, if it was registered.
    pub(crate) identity: Option<DatabaseIdentity>,
    /// Its number in the fleet.
    number: i32,
    migration: MigrationId,
    epoch: Epoch,
}

impl Shard {
    /// The shard behind `reference`; its secrets are resolved only when a session is opened, and each session proves
    /// that it is in the database that was registered.
    pub(crate) fn new(
        reference: &ShardRef,
        migration: &MigrationId,
        epoch: Epoch,
    ) -> Result<Self, StepError> {
        let dsn = Dsn::parse(&reference.dsn).map_err(|error| {
            StepError::refused(
                "shard.dsn",
                format!("shard {}: {error}", reference.name),
                error.hint().unwrap_or("correct the connection string"),
            )
        })?;
        let registered = reference.identity.as_ref();
        let opening = registered.map(identity::session_opening);
        Ok(Self {
            name: reference.name.to_string(),
            dsn: match opening {
                Some(opening) => dsn.opened_by(opening),
                None => dsn,
            },
            identity: reference.identity.clone(),
            number: reference.number,
            migration: migration.clone(),
            epoch,
        })
    }

    /// An ordinary session; `role` says in `pg_stat_activity` what it is for.
    pub(crate) async fn session(&self, role: &str) -> Result<Connected, StepError> {
        self.open(Session::named(self.application_name(role))).await
    }

    /// A session in which ordinary triggers and foreign keys do not fire.
    pub(crate) async fn replica_session(&self, role: &str) -> Result<Connected, StepError> {
        self.open(Session::named(self.application_name(role)).as_replica())
            .await
    }

    /// An ordinary session in which a row is looked up by the index of its identity, whatever the statistics say
    /// ([`MovingTable::lookup`](plans::table::MovingTable::lookup)).
    pub(crate) async fn lookup_session(&self, role: &str) -> Result<Connected, StepError> {
        let session = self.session(role).await?;
        self.set_for_lookups(&session).await?;
        Ok(session)
    }

    /// Makes a session one for lookups.
    pub(crate) async fn set_for_lookups(&self, session: &Connected) -> Result<(), StepError> {
        let set = session.batch_execute(LOOKUP_SETTINGS).await;
        set.at(format_args!("shard {}: setting up the session", self.name))
    }

    /// How the shard shares out sequence values under `policy`.
    pub(crate) fn sequence_share(&self, policy: Sequences) -> SequenceShare {
        SequenceShare {
            policy,
            number: self.number,
        }
    }

    /// The name of our sessions of this epoch; a take-over ends those of older epochs by it.
    pub(crate) fn application_name(&self, role: &str) -> String {
        self.migration
            .application_name(&format!("{role}/{}", self.epoch))
    }

    async fn open(&self, session: Session) -> Result<Connected, StepError> {
        connect(&self.dsn, &session.on(&self.name))
            .await
            .at(format_args!("shard {}", self.name))
    }
}
