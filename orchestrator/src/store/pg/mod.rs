//! The store in PostgreSQL: the schema `shardwright`, which the files in `migrations/` create.
//!
//! - `open` connects with fixed session settings, updates the schema, and then reads the incarnation.
//! - Every write runs in a transaction from `PgStore::begin`. Triggers of the schema refuse all other writes.
//! - Every commit is synchronous, except those of heartbeats (`begin_sign`). A statement waits at most one second for a
//!   lock.

mod access;
mod agents;
mod answers;
mod dsn;
mod hooks;
mod known;
mod leader;
mod mappings;
mod maps;
mod migrations;
mod open;
mod operations;
mod rows;
mod schema;
mod seal;
mod servers;
mod settings;
mod shards;

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
const SESSIONS: u32 = 16;
/// The maximum number of cutovers that are between their seal and their flip at the same time.
const HOLDING: u32 = 8;
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

/// While writes are refused, the session uses the generic plans that the warm-up has already made.
const PLANNED_ONCE: (&str, &str) = ("plan_cache_mode", "force_generic_plan");

/// The control store in PostgreSQL.
#[derive(Debug, Clone)]
pub struct PgStore {
    pool: PgPool,
    /// Sessions for the transactions between seal and flip, which lock a migration's row. No other statement uses them,
    /// so each is warmed up before the seal: the first use of a session takes milliseconds.
    holding: PgPool,
    held: Arc<std::sync::Mutex<Option<seal::SealSnapshot>>>,
    incarnation: String,
    known: known::MapVersionCache,
    open: Arc<open::MigrationCache>,
    own: Arc<OwnTerm>,
    seat: Arc<Mutex<Option<LeaseSession>>>,
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
        let options = dsn::options(dsn)?;
        Self::connect(options).await
    }

    async fn select_schema(&self) -> Result<SchemaVersion, StoreError> {
        let found = schema::found(&mut *self.pool.acquire().await?).await?;
        let known = schema::known();
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
        let holding = pools.clone().max_connections(HOLDING);
        let planned_once = options.clone().options([PLANNED_ONCE]);
        let holding = holding.connect_lazy_with(planned_once);
        let pool = pools
            .before_acquire(|session, about| Box::pin(test(session, about.idle_for)))
            .max_connections(SESSIONS)
            .connect_with(options);
        let pool = pool.await.map_err(StoreError::from)?;
        schema::migrate(&pool).await?;
        let incarnation = "select incarnation from store_identity";
        let incarnation = sqlx::query_as(incarnation).fetch_one(&pool).await;
        let (incarnation,): (sqlx::types::Uuid,) = incarnation.map_err(StoreError::from)?;
        Ok(Self {
            pool,
            holding,
            held: Arc::default(),
            incarnation: incarnation.to_string(),
            known: known::MapVersionCache::default(),
            open: Arc::default(),
            own: Arc::default(),
            seat: Arc::default(),
            listener: Arc::default(),
        })
    }
}

/// Tests a session that was idle for at least [`TESTED_FOR`].
async fn test(session: &mut PgConnection, idle_for: Duration) -> Result<bool, sqlx::Error> {
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
