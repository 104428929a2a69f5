//! One shard of a migration. It opens sessions there under the epoch of the owner.

use connect::{Connected, Dsn, Session, connect};
use plans::failure::StepCode;
use plans::fleet::ShardRef;
use plans::id::{Epoch, MigrationId};
use plans::identity::DatabaseIdentity;
use plans::shard_map::Sequences;

use super::identity;
use super::sequences::SequenceShare;
use crate::error::{StepError, WithIntent};

/// Settings that make a lookup use the one index that returns the required order. They override the defaults of the
/// role and of the database.
pub(crate) const LOOKUP_SETTINGS: &str = "set enable_sort = off; set enable_incremental_sort = off; \
    set enable_indexscan = on; set enable_tidscan = on; set enable_nestloop = on";

/// A shard, as one owner of one migration uses it.
#[derive(Debug, Clone)]
pub(crate) struct Shard {
    pub(crate) name: String,
    pub(crate) dsn: Dsn,
    /// The identity of the registered database, if the shard is registered.
    pub(crate) identity: Option<DatabaseIdentity>,
    /// The number of the shard in the fleet.
    number: i32,
    migration: MigrationId,
    epoch: Epoch,
}

impl Shard {
    /// Returns the shard that `reference` describes. Secrets are resolved when a session is opened. Each session checks
    /// that it is in the registered database.
    pub(crate) fn new(
        reference: &ShardRef,
        migration: &MigrationId,
        epoch: Epoch,
    ) -> Result<Self, StepError> {
        let dsn = Dsn::parse(&reference.dsn).map_err(|error| {
            StepError::refused(
                StepCode::ShardDsn,
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

    /// Opens an ordinary session. `role` becomes part of its `application_name`, and shows its purpose in
    /// `pg_stat_activity`.
    pub(crate) async fn session(&self, role: &str) -> Result<Connected, StepError> {
        self.open(Session::named(self.application_name(role))).await
    }

    /// Opens a session in which ordinary triggers and foreign keys do not fire.
    pub(crate) async fn replica_session(&self, role: &str) -> Result<Connected, StepError> {
        self.open(Session::named(self.application_name(role)).as_replica())
            .await
    }

    /// Opens an ordinary session that looks up a row by the index of its identity, with any statistics
    /// ([`MovingTable::lookup`](plans::table::MovingTable::lookup)).
    pub(crate) async fn lookup_session(&self, role: &str) -> Result<Connected, StepError> {
        let session = self.session(role).await?;
        self.set_for_lookups(&session).await?;
        Ok(session)
    }

    /// Sets the session up for lookups.
    pub(crate) async fn set_for_lookups(&self, session: &Connected) -> Result<(), StepError> {
        let set = session.batch_execute(LOOKUP_SETTINGS).await;
        set.at(format_args!("shard {}: setting up the session", self.name))
    }

    /// Returns the values that the shard's sequences may issue under `policy`.
    pub(crate) fn sequence_share(&self, policy: Sequences) -> SequenceShare {
        SequenceShare {
            policy,
            number: self.number,
        }
    }

    /// Returns the `application_name` of the agent's sessions of this epoch. A take-over uses it to end the sessions of
    /// older epochs.
    pub(crate) fn application_name(&self, role: &str) -> String {
        self.migration
            .application_name(&format!("{role}/{}", self.epoch))
    }

    /// Opens a session with the shard's name.
    async fn open(&self, session: Session) -> Result<Connected, StepError> {
        connect(&self.dsn, &session.on(&self.name))
            .await
            .at(format_args!("shard {}", self.name))
    }
}
