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
use super::pieces::AllowedOwners;
use super::{
    AgentProcess, AgentRecord, AuditLine, AuditRecord, CleanupRecord, EarlierCommand, Event,
    FigureReading, HookCursor, KeptAnswer, KeyedCommand, Leader, LeaderCandidate, MapVersionRecord,
    Migration, MigrationChange, NewOperation, NewShard, OperationRecord, OwnerBeat, Registered,
    RemoteChange, SchemaVersion, SealedMigration, SessionRecord, SettingsRecord, ShardRecord,
    ShardUpdate, Snapshot, Store, StoreError, StoreFuture, Term, TokenRecord, UnfinishedMigrations,
};
use crate::access::SecretDigest;
use chrono::{DateTime, Utc};
pub use dsn::DsnError;
use leader::LeaseSession;
use plans::id::{InstanceId, MapName, MapVersion, MigrationId, ShardName};
use plans::inspection::inventory::ObservedServer;
use plans::shard_map::ShardMap;
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

    fn campaign<'a>(&'a self, candidate: &'a LeaderCandidate) -> StoreFuture<'a, Leader> {
        Box::pin(self.campaign_for_lead(candidate))
    }

    fn term(&self) -> Option<Term> {
        self.own.term()
    }

    fn step_down(&self) {
        self.own.take();
    }

    fn resign(&self) -> StoreFuture<'_, ()> {
        Box::pin(self.give_up_lead())
    }

    fn leader(&self) -> StoreFuture<'_, Option<Leader>> {
        Box::pin(self.select_leader())
    }

    fn news(&self) -> StoreFuture<'_, RemoteChange> {
        Box::pin(self.wait_for_news())
    }

    fn add_shard<'a>(&'a self, new: &'a NewShard) -> StoreFuture<'a, ShardRecord> {
        Box::pin(self.insert_shard(new))
    }

    fn update_shard<'a>(&'a self, update: &'a ShardUpdate) -> StoreFuture<'a, ShardRecord> {
        Box::pin(self.change_shard(update))
    }

    fn shards(&self) -> StoreFuture<'_, Vec<ShardRecord>> {
        Box::pin(self.select_shards())
    }

    fn shard<'a>(&'a self, name: &'a ShardName) -> StoreFuture<'a, Option<ShardRecord>> {
        Box::pin(self.select_shard(name))
    }

    fn remove_shard<'a>(&'a self, name: &'a ShardName) -> StoreFuture<'a, ()> {
        Box::pin(self.retire_shard(name))
    }

    fn create_map<'a>(&'a self, map: &'a ShardMap, by: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(self.insert_map(map, by))
    }

    fn put_version<'a>(&'a self, map: &'a ShardMap, by: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(self.insert_next_version(map, by, AllowedOwners::Checked))
    }

    fn put_proven_version<'a>(&'a self, map: &'a ShardMap, by: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(self.insert_next_version(map, by, AllowedOwners::Proven))
    }

    fn maps(&self) -> StoreFuture<'_, Vec<Arc<ShardMap>>> {
        Box::pin(self.select_maps())
    }

    fn map<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Option<Arc<ShardMap>>> {
        Box::pin(self.select_map(name))
    }

    fn map_at<'a>(
        &'a self,
        name: &'a MapName,
        version: MapVersion,
    ) -> StoreFuture<'a, Option<ShardMap>> {
        Box::pin(self.select_version(name, version))
    }

    fn history<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Vec<MapVersionRecord>> {
        Box::pin(self.select_history(name))
    }

    fn shards_of_map<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Vec<ShardName>> {
        Box::pin(self.select_shards_of_map(name))
    }

    fn put_settings<'a>(&'a self, new: &'a SettingsRecord) -> StoreFuture<'a, ()> {
        Box::pin(self.insert_next_settings(new))
    }

    fn settings<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Vec<SettingsRecord>> {
        Box::pin(self.select_settings(name))
    }

    fn submit<'a>(&'a self, new: &'a NewOperation) -> StoreFuture<'a, Vec<Snapshot>> {
        Box::pin(self.insert_operation(new))
    }

    fn operation<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Option<OperationRecord>> {
        Box::pin(self.select_operation(id))
    }

    fn operations<'a>(
        &'a self,
        limit: i64,
        after: Option<&'a MigrationId>,
    ) -> StoreFuture<'a, Vec<OperationRecord>> {
        Box::pin(self.select_operations(limit, after))
    }

    fn load<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Option<Snapshot>> {
        Box::pin(self.select_snapshot(id))
    }

    fn unfinished(&self) -> StoreFuture<'_, UnfinishedMigrations> {
        Box::pin(self.select_unfinished())
    }

    fn list<'a>(
        &'a self,
        limit: i64,
        after: Option<&'a MigrationId>,
    ) -> StoreFuture<'a, Vec<Migration>> {
        Box::pin(self.select_list(limit, after))
    }

    fn commit<'a>(&'a self, change: &'a MigrationChange) -> StoreFuture<'a, bool> {
        Box::pin(self.commit_change(change))
    }

    fn seal<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Box<dyn SealedMigration>> {
        Box::pin(self.hold_row(id))
    }

    fn extend_leases<'a>(
        &'a self,
        instance: &'a InstanceId,
        until: DateTime<Utc>,
        beats: &'a [OwnerBeat],
    ) -> StoreFuture<'a, Vec<MigrationId>> {
        Box::pin(self.update_leases(instance, until, beats))
    }

    fn readings<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Vec<FigureReading>> {
        Box::pin(self.select_readings(id))
    }

    fn events<'a>(
        &'a self,
        id: &'a MigrationId,
        after: i64,
        limit: i64,
    ) -> StoreFuture<'a, Vec<Event>> {
        Box::pin(self.select_events(id, after, limit))
    }

    fn add_hook<'a>(&'a self, hook: &'a str, at: DateTime<Utc>) -> StoreFuture<'a, ()> {
        Box::pin(self.insert_hook(hook, at))
    }

    fn hook_backlog<'a>(&'a self, hook: &'a str) -> StoreFuture<'a, Vec<HookCursor>> {
        Box::pin(self.select_backlog(hook))
    }

    fn advance_hook<'a>(&'a self, hook: &'a str, cursor: &'a HookCursor) -> StoreFuture<'a, ()> {
        Box::pin(self.upsert_cursor(hook, cursor))
    }

    fn add_cleanup<'a>(
        &'a self,
        id: &'a MigrationId,
        records: &'a [CleanupRecord],
    ) -> StoreFuture<'a, ()> {
        Box::pin(self.insert_cleanup(id, records))
    }

    fn finish_cleanup<'a>(
        &'a self,
        id: &'a MigrationId,
        records: &'a [CleanupRecord],
        at: DateTime<Utc>,
    ) -> StoreFuture<'a, ()> {
        Box::pin(self.update_cleanup(id, records, at))
    }

    fn cleanup<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Vec<CleanupRecord>> {
        Box::pin(self.select_cleanup(id))
    }

    fn note_agent<'a>(
        &'a self,
        process: &'a AgentProcess,
        at: DateTime<Utc>,
        silent_since: Option<DateTime<Utc>>,
    ) -> StoreFuture<'a, Registered> {
        Box::pin(self.upsert_agent(process, at, silent_since))
    }

    fn agents(&self) -> StoreFuture<'_, Vec<AgentRecord>> {
        Box::pin(self.select_agents())
    }

    fn servers(&self) -> StoreFuture<'_, Vec<ObservedServer>> {
        Box::pin(self.select_servers())
    }

    fn put_server<'a>(&'a self, server: &'a ObservedServer) -> StoreFuture<'a, ()> {
        Box::pin(self.upsert_server(server))
    }

    fn add_audit<'a>(&'a self, record: &'a AuditRecord) -> StoreFuture<'a, ()> {
        Box::pin(self.insert_audit(record))
    }

    fn audit(&self, limit: i64, before: Option<i64>) -> StoreFuture<'_, Vec<AuditLine>> {
        Box::pin(self.select_audit(limit, before))
    }

    fn add_token<'a>(&'a self, token: &'a TokenRecord) -> StoreFuture<'a, ()> {
        Box::pin(self.insert_token(token))
    }

    fn tokens(&self) -> StoreFuture<'_, Vec<TokenRecord>> {
        Box::pin(self.select_tokens())
    }

    fn revoke_token<'a>(
        &'a self,
        name: &'a str,
        by: &'a str,
        at: DateTime<Utc>,
    ) -> StoreFuture<'a, TokenRecord> {
        Box::pin(self.update_revoked(name, by, at))
    }

    fn add_session<'a>(&'a self, session: &'a SessionRecord) -> StoreFuture<'a, ()> {
        Box::pin(self.insert_session(session))
    }

    fn session(&self, digest: SecretDigest) -> StoreFuture<'_, Option<SessionRecord>> {
        Box::pin(self.select_session(digest))
    }

    fn end_session(&self, digest: SecretDigest) -> StoreFuture<'_, bool> {
        Box::pin(self.delete_session(digest))
    }

    fn begin_command<'a>(
        &'a self,
        command: &'a KeyedCommand,
    ) -> StoreFuture<'a, Option<EarlierCommand>> {
        Box::pin(self.insert_command(command))
    }

    fn keep_answer<'a>(&'a self, key: SecretDigest, answer: &'a KeptAnswer) -> StoreFuture<'a, ()> {
        Box::pin(self.update_answer(key, answer))
    }

    fn forget_command(&self, key: SecretDigest) -> StoreFuture<'_, ()> {
        Box::pin(self.delete_command(key))
    }
}
