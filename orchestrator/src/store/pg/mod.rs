//! The store in PostgreSQL: the schema `shardwright`, which the files in `migrations/` create.
//!
//! - `open` connects with fixed session settings, updates the schema, and then reads the incarnation.
//! - Every write runs in a transaction from `PgStore::begin`. Triggers of the schema refuse all other writes.
//! - Every commit is synchronous, except those of heartbeats (`begin_heartbeat`). A statement waits at most one second
//!   for a lock.

mod access;
mod agents;
mod conversions;
mod dsn;
mod hooks;
mod imbalance;
mod keyed_commands;
mod leader;
mod map_cache;
mod map_names;
mod map_reading;
mod mappings;
mod maps;
mod migrations;
mod operations;
mod rows;
mod schema;
mod seal;
mod servers;
mod settings;
mod shards;
mod unfinished;

use super::leader::OwnTerm;
use super::{SchemaVersion, Store, StoreError, StoreFuture};
pub use dsn::DsnError;
use leader::LeaseSession;
use sqlx::Connection;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgListener, PgPool, PgPoolOptions};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// The maximum number of sessions in the general pool.
const POOL_SESSIONS: u32 = 16;
/// The maximum number of cutovers that are between their seal and their flip at the same time.
const SEAL_SESSIONS: u32 = 8;
/// A session is not tested before its use if it was used within this time. If its connection is lost, the statement
/// fails, as it would if the connection were lost a moment later.
const TESTED_FOR: Duration = Duration::from_secs(1);
/// The longest wait for a free session.
const SESSION_WAIT: Duration = Duration::from_secs(5);
/// The SQLSTATE with which the schema's functions report that another controller leads.
const NOT_LEADING: &str = "SC001";
/// Settings of each session, in addition to those of `connect`. `idle_in_transaction_session_timeout` ends the
/// transaction of a seal whose controller host was lost.
const SETTINGS: [(&str, &str); 6] = [
    ("client_min_messages", "error"),
    ("search_path", "shardwright"),
    ("synchronous_commit", "on"),
    ("lock_timeout", "1s"),
    ("idle_in_transaction_session_timeout", "60s"),
    ("default_transaction_isolation", "read committed"),
];

/// The setting of the sessions for seals: they use generic plans, which the warm-up makes before writes are refused.
const GENERIC_PLANS: (&str, &str) = ("plan_cache_mode", "force_generic_plan");

/// The control store in PostgreSQL.
#[derive(Debug, Clone)]
pub struct PgStore {
    pool: PgPool,
    /// Sessions for the transactions between seal and flip, which lock a migration's row. The warm-up of a cutover uses
    /// such a session first, because the first use of a session takes milliseconds.
    seal_pool: PgPool,
    last_seal: Arc<std::sync::Mutex<Option<seal::SealSnapshot>>>,
    incarnation: String,
    map_cache: map_cache::MapVersionCache,
    migration_cache: Arc<unfinished::MigrationCache>,
    own_term: Arc<OwnTerm>,
    lease_session: Arc<Mutex<Option<LeaseSession>>>,
    listener: Arc<Mutex<Option<PgListener>>>,
}

impl PgStore {
    /// Opens the store at `dsn` (URI or `key=value`; the password may be `${env:NAME}`, `${file:PATH}` or
    /// `${credential:NAME}`).
    ///
    /// Creates the schema `shardwright`, or updates it. A schema that is newer than this program stays unchanged.
    ///
    /// # Errors
    /// Returns an error if the connection string cannot be used, [`OpenError::Newer`] if the schema is too new, and
    /// [`StoreError::Unavailable`] if the store cannot be used.
    pub async fn open(dsn: &str) -> Result<Self, OpenError> {
        let options = dsn::connect_options(dsn)?;
        Self::connect(options).await
    }

    async fn select_schema(&self) -> Result<SchemaVersion, StoreError> {
        let found = schema::applied_version(&mut *self.pool.acquire().await?).await?;
        let known = schema::known_version();
        Ok(SchemaVersion { found, known })
    }

    async fn connect(options: PgConnectOptions) -> Result<Self, OpenError> {
        let options = options
            .application_name("shardwright/controller")
            .options(connect::PINNED)
            .options(SETTINGS);
        let pools = PgPoolOptions::new()
            .acquire_timeout(SESSION_WAIT)
            .after_release(|session, _| Box::pin(end_transaction(session)))
            .test_before_acquire(false);
        // These sessions are not tested when they are acquired: the warm-up just before the seal has tested them.
        let seal_pool = pools.clone().max_connections(SEAL_SESSIONS);
        let with_generic_plans = options.clone().options([GENERIC_PLANS]);
        let seal_pool = seal_pool.connect_lazy_with(with_generic_plans);
        let pool = pools
            .before_acquire(|session, about| Box::pin(test_if_idle(session, about.idle_for)))
            .max_connections(POOL_SESSIONS)
            .connect_with(options);
        let pool = pool.await.map_err(StoreError::from)?;
        schema::update(&pool).await?;
        let incarnation = "select incarnation from store_identity";
        let incarnation = sqlx::query_as(incarnation).fetch_one(&pool).await;
        let (incarnation,): (sqlx::types::Uuid,) = incarnation.map_err(StoreError::from)?;
        Ok(Self {
            pool,
            seal_pool,
            last_seal: Arc::default(),
            incarnation: incarnation.to_string(),
            map_cache: map_cache::MapVersionCache::default(),
            migration_cache: Arc::default(),
            own_term: Arc::default(),
            lease_session: Arc::default(),
            listener: Arc::default(),
        })
    }
}

/// Tests a session that was idle for at least [`TESTED_FOR`].
async fn test_if_idle(session: &mut PgConnection, idle_for: Duration) -> Result<bool, sqlx::Error> {
    if idle_for >= TESTED_FOR {
        session.ping().await?;
    }
    Ok(true)
}

/// Ends a transaction that a caller abandoned. If the future of a `begin` was dropped, sqlx does not know that a
/// transaction is open, and statements of the session's next user would never be committed.
///
/// Usually no transaction is open. A lone `rollback` would then put a warning into the server log; `begin` avoids this.
async fn end_transaction(session: &mut PgConnection) -> Result<bool, sqlx::Error> {
    sqlx::raw_sql("begin; rollback").execute(session).await?;
    Ok(true)
}

/// Why a store was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The connection string cannot be used.
    #[error(transparent)]
    Dsn(#[from] DsnError),
    /// A newer controller has upgraded the schema. This program must not write to it.
    #[error("its schema is of version {found}, this program knows versions up to {known}")]
    Newer {
        /// The version of the store's schema.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let code = error.as_database_error().and_then(|e| e.code());
        match code.as_deref() {
            Some(NOT_LEADING) => Self::NotLeading,
            // lock_not_available: another session held the lock for longer than `lock_timeout`.
            Some("55P03") => Self::Busy,
            // The text contains a character that the database's encoding cannot represent (SQLSTATE 22021 or 22P05).
            Some("22021" | "22P05") => Self::Unwritable {
                reason: error.to_string(),
            },
            Some(_) | None => Self::Unavailable {
                source: error.into(),
            },
        }
    }
}

impl Store for PgStore {
    fn incarnation(&self) -> &str {
        &self.incarnation
    }

    fn ping(&self) -> StoreFuture<'_, ()> {
        Box::pin(async {
            sqlx::query("select 1").execute(&self.pool).await?;
            Ok(())
        })
    }

    fn schema(&self) -> StoreFuture<'_, SchemaVersion> {
        Box::pin(self.select_schema())
    }
}
