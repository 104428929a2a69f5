//! What the controller remembers, as whole transactions.
//!
//! Every change of a migration is one compare-and-set on its revision, with its events in the same transaction.
//! Every write proves in its own transaction that the process leads (`leader`); followers read.
//! Two stores keep this contract: PostgreSQL, and its twin in memory for tests; one suite holds both to it.
//! Absent: decisions. The store refuses only what would break a stated invariant.

mod access;
mod agents;
mod answer;
mod fleet;
mod leader;
pub mod memory;
mod operation;
pub mod pg;
mod phase;
mod pieces;
mod reading;
mod records;

pub use access::{SessionRecord, TokenRecord};
pub use agents::{AgentProcess, AgentRecord, Registered};
pub use answer::{EarlierCommand, KeptAnswer, KeyedCommand};
pub use fleet::{
    AuditLine, AuditRecord, MapVersionRecord, NewShard, SettingsRecord, ShardRecord, ShardUpdate,
};
pub use leader::{Leader, LeaderCandidate, RemoteChange, Term};
pub use operation::{NewOperation, OperationRecord};
pub use phase::MigrationPhase;
pub use reading::{FigureReading, StreamReading};
pub use records::{
    Approval, CancelRequest, CleanupRecord, Event, HoldEnd, HookCursor, HookReply, HookRequest,
    Migration, MigrationChange, MigrationOwner, NewEvent, OwnerBeat, Snapshot, Step,
};

use crate::access::SecretDigest;
use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use plans::id::{InstanceId, MapName, MapVersion, MigrationId, ShardName};
use plans::inspection::inventory::ObservedServer;
use plans::shard_map::ShardMap;
use std::sync::Arc;

/// Versions of the store's schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaVersion {
    /// The one that is there.
    pub found: i64,
    /// The one that this program is for.
    pub known: i64,
}

/// The answer of a store.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Every migration that has not ended, oldest first; shared by those who ask at the same time.
pub type UnfinishedMigrations = Arc<Vec<Arc<Snapshot>>>;

/// Why the store did not do it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The name is taken.
    #[error("{what} {name} exists already")]
    Exists {
        /// Shard, map or migration.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// Nothing has the name.
    #[error("there is no {what} {name}")]
    Missing {
        /// Shard, map or migration.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A shard that a map names cannot go.
    #[error("shard {shard} is named by map {map}")]
    ShardInUse {
        /// The shard.
        shard: ShardName,
        /// The map.
        map: MapName,
    },
    /// A shard that an unfinished migration moves keys from or to cannot go.
    #[error("shard {shard} is source or target of migration {migration}")]
    ShardMoving {
        /// The shard.
        shard: ShardName,
        /// The migration.
        migration: MigrationId,
    },
    /// Another migration moves some of these keys (I8).
    #[error("migration {migration} is moving some of these keys")]
    KeysMoving {
        /// The other one.
        migration: MigrationId,
    },
    /// The map has another version than the one named.
    #[error("map {map} is at version {current}, not {expected}")]
    MapVersion {
        /// The map.
        map: MapName,
        /// In force.
        current: i64,
        /// Named.
        expected: i64,
    },
    /// The map's settings were changed since they were read.
    #[error("the settings of map {map} are at revision {current}, not {expected}")]
    SettingsRevision {
        /// The map.
        map: MapName,
        /// In force.
        current: i64,
        /// Named.
        expected: i64,
    },
    /// Another controller has taken over, or none leads; nothing was written.
    #[error("this controller does not lead")]
    NotLeading,
    /// Something else holds the row for the moment, as a sealed cutover does.
    #[error("the migration's row is held by a cutover for the moment")]
    Busy,
    /// A text has a character that the store cannot keep, such as U+0000; nothing was written.
    #[error("a name or a text has a character that cannot be kept: {reason}")]
    Unwritable {
        /// What the store said.
        reason: String,
    },
    /// The store could not be asked, or did not understand; after a write the outcome is unknown.
    #[error("the control store could not be used")]
    Unavailable {
        /// What it said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The control store, through the handle of one process.
///
/// Every method that writes is refused with [`StoreError::NotLeading`] unless the handle leads, which is proved in
/// the transaction that writes.
pub trait Store: Send + Sync + std::fmt::Debug {
    /// The random id of this store; constant for its life.
    fn incarnation(&self) -> &str;

    /// Answers when the store can be used.
    fn ping(&self) -> StoreFuture<'_, ()>;

    /// Which version the schema has, and which one this program is for.
    fn schema(&self) -> StoreFuture<'_, SchemaVersion>;

    /// Renews the lease of the handle that leads, or takes over where nobody leads any more; says who leads now.
    ///
    /// When it returns another leader than before, nothing of an older term is under way, and nothing will be.
    /// Where `candidate` leads, the handle writes under its term from now on. Given up in the middle, it is asked again.
    fn campaign<'a>(&'a self, candidate: &'a LeaderCandidate) -> StoreFuture<'a, Leader>;

    /// The term under which this handle writes; `None`: it follows.
    fn term(&self) -> Option<Term>;

    /// From now on this handle writes nothing; nobody is asked.
    fn step_down(&self);

    /// As [`Store::step_down`], and others may take over at once.
    fn resign(&self) -> StoreFuture<'_, ()>;

    /// Who leads, or led last; `None`: nobody ever did.
    fn leader(&self) -> StoreFuture<'_, Option<Leader>>;

    /// Returns when another process may have changed something; after an error something may have been missed.
    fn news(&self) -> StoreFuture<'_, RemoteChange>;

    /// Registers a shard under the next number; durable when it returns.
    ///
    /// The name of a removed shard may be taken again, its number never is.
    fn add_shard<'a>(&'a self, new: &'a NewShard) -> StoreFuture<'a, ShardRecord>;

    /// Replaces what is said about a shard; durable when it returns.
    fn update_shard<'a>(&'a self, update: &'a ShardUpdate) -> StoreFuture<'a, ShardRecord>;

    /// All registered shards by name.
    fn shards(&self) -> StoreFuture<'_, Vec<ShardRecord>>;

    /// One registered shard.
    fn shard<'a>(&'a self, name: &'a ShardName) -> StoreFuture<'a, Option<ShardRecord>>;

    /// Forgets a shard; durable when it returns. Old versions of a map may go on naming it.
    ///
    /// Refused while a version in force names it ([`StoreError::ShardInUse`]), or a migration that has not
    /// ended ([`StoreError::ShardMoving`]).
    fn remove_shard<'a>(&'a self, name: &'a ShardName) -> StoreFuture<'a, ()>;

    /// Makes version 1 of a map and revision 1 of its settings, all or nothing; its shards must be there.
    fn create_map<'a>(&'a self, map: &'a ShardMap, by: &'a str) -> StoreFuture<'a, ()>;

    /// Makes the version that follows by hand: joined neighbours, newly mapped keys.
    ///
    /// `map.version` is the version in force plus one, else [`StoreError::MapVersion`]. Refused with
    /// [`StoreError::KeysMoving`] where keys of an unfinished migration would change their owner.
    /// Only the mappings are taken from `map`.
    fn put_version<'a>(&'a self, map: &'a ShardMap, by: &'a str) -> StoreFuture<'a, ()>;

    /// As [`Store::put_version`], for a version that the shards prove: whatever moves the keys here, their owner
    /// has changed there.
    fn put_proven_version<'a>(&'a self, map: &'a ShardMap, by: &'a str) -> StoreFuture<'a, ()>;

    /// The version in force of every map, by name.
    fn maps(&self) -> StoreFuture<'_, Vec<Arc<ShardMap>>>;

    /// The version in force of one map: the same one for all who ask while nothing of it changes.
    fn map<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Option<Arc<ShardMap>>>;

    /// A version of a map, with the settings in force now; `None` if either is not there.
    fn map_at<'a>(
        &'a self,
        name: &'a MapName,
        version: MapVersion,
    ) -> StoreFuture<'a, Option<ShardMap>>;

    /// Every version of a map, oldest first, without its mappings.
    fn history<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Vec<MapVersionRecord>>;

    /// The shards that any version of a map or any migration of it has named, by name; those that were removed since are
    /// left out.
    fn shards_of_map<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Vec<ShardName>>;

    /// Puts settings of a map in force if `new.revision` follows the revision in force;
    /// [`StoreError::SettingsRevision`] if not.
    fn put_settings<'a>(&'a self, new: &'a SettingsRecord) -> StoreFuture<'a, ()>;

    /// Every revision of a map's settings, newest first: the first is in force.
    fn settings<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Vec<SettingsRecord>>;

    /// Admits an operation: one migration for each move, with its steps and first event, all or nothing.
    ///
    /// Refused unless the map is at the plan's version and no unfinished migration meets any of the keys;
    /// with `queue` neither is asked. The migrations are returned in the order of the moves.
    fn submit<'a>(&'a self, new: &'a NewOperation) -> StoreFuture<'a, Vec<Snapshot>>;

    /// One operation with its migrations in the order of the moves.
    fn operation<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Option<OperationRecord>>;

    /// The newest operations, newest first; behind `after` the ones older than it.
    fn operations<'a>(
        &'a self,
        limit: i64,
        after: Option<&'a MigrationId>,
    ) -> StoreFuture<'a, Vec<OperationRecord>>;

    /// One migration with its steps and lease, as one moment saw them.
    fn load<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Option<Snapshot>>;

    /// Every migration that has not ended, oldest first, as one moment after the call saw them.
    ///
    /// Figures of a running step may be those of the migration's last change where this handle leads.
    fn unfinished(&self) -> StoreFuture<'_, UnfinishedMigrations>;

    /// The newest migrations, newest first, without steps; behind `after` the ones that follow it.
    fn list<'a>(
        &'a self,
        limit: i64,
        after: Option<&'a MigrationId>,
    ) -> StoreFuture<'a, Vec<Migration>>;

    /// Applies a change if the revision is still the one that it was made from; `false` if not.
    ///
    /// All or nothing: migration, steps, lease, events; durable when it returns `true`.
    /// One that starts a migration (`started_at`) is refused with [`StoreError::KeysMoving`] while another one that has
    /// started and not ended moves some of the keys (I8).
    /// On [`StoreError::Unavailable`] the change may or may not have happened: load again.
    fn commit<'a>(&'a self, change: &'a MigrationChange) -> StoreFuture<'a, bool>;

    /// Locks a migration and its map until the returned session is used, dropped or lost (C7).
    ///
    /// It waits for whoever changes the migration, so what it reads is settled:
    /// a flip whose reply was lost is seen, and one that is not seen will never happen.
    fn seal<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Box<dyn SealedMigration>>;

    /// Extends the leases of `instance`, and keeps the running steps' figures and the readings; returns those that were extended.
    ///
    /// Leaves out what is another's, and what somebody changes at that moment, for which it never waits; nor does it
    /// for a sealed migration. May be lost in a crash of the store: only time is lost then. Proves the term also where
    /// there is nothing to extend.
    fn extend_leases<'a>(
        &'a self,
        instance: &'a InstanceId,
        until: DateTime<Utc>,
        beats: &'a [OwnerBeat],
    ) -> StoreFuture<'a, Vec<MigrationId>>;

    /// The readings of a migration, oldest first.
    fn readings<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Vec<FigureReading>>;

    /// Events of a migration after `after`, oldest first.
    fn events<'a>(
        &'a self,
        id: &'a MigrationId,
        after: i64,
        limit: i64,
    ) -> StoreFuture<'a, Vec<Event>>;

    /// Begins to keep how far this hook is told; the first time it is told of nothing that has happened already.
    fn add_hook<'a>(&'a self, hook: &'a str, at: DateTime<Utc>) -> StoreFuture<'a, ()>;

    /// Migrations that have changed since this hook was told of them, oldest first: how far it was told, and the
    /// revision that they have now.
    fn hook_backlog<'a>(&'a self, hook: &'a str) -> StoreFuture<'a, Vec<HookCursor>>;

    /// Keeps how far this hook was told; durable when it returns.
    fn advance_hook<'a>(&'a self, hook: &'a str, cursor: &'a HookCursor) -> StoreFuture<'a, ()>;

    /// Writes cleanup records; durable when it returns, so that the objects may be created then.
    fn add_cleanup<'a>(
        &'a self,
        id: &'a MigrationId,
        records: &'a [CleanupRecord],
    ) -> StoreFuture<'a, ()>;

    /// Marks the objects of these records as gone.
    fn finish_cleanup<'a>(
        &'a self,
        id: &'a MigrationId,
        records: &'a [CleanupRecord],
        at: DateTime<Utc>,
    ) -> StoreFuture<'a, ()>;

    /// The cleanup records of a migration in the order of their making.
    fn cleanup<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Vec<CleanupRecord>>;

    /// Notes that a process of an agent spoke at `at`, if it has the agent's name or may have it now.
    ///
    /// A name is taken over from a process that was last seen before `silent_since`, or that the new one has outlived:
    /// by its key, never by what anybody can read. A process that has the name shows the key that it came with.
    fn note_agent<'a>(
        &'a self,
        process: &'a AgentProcess,
        at: DateTime<Utc>,
        silent_since: Option<DateTime<Utc>>,
    ) -> StoreFuture<'a, Registered>;

    /// All agents by name.
    fn agents(&self) -> StoreFuture<'_, Vec<AgentRecord>>;

    /// The servers of shards as they were seen last.
    fn servers(&self) -> StoreFuture<'_, Vec<ObservedServer>>;

    /// Keeps how a server was seen, in the place of what was seen before.
    fn put_server<'a>(&'a self, server: &'a ObservedServer) -> StoreFuture<'a, ()>;

    /// Adds a line to the audit trail; durable when it returns.
    fn add_audit<'a>(&'a self, record: &'a AuditRecord) -> StoreFuture<'a, ()>;

    /// The newest lines of the audit trail, newest first; those before line `before`, where one is named.
    fn audit(&self, limit: i64, before: Option<i64>) -> StoreFuture<'_, Vec<AuditLine>>;

    /// Keeps a token; durable when it returns. [`StoreError::Exists`] where one of its name is not revoked.
    fn add_token<'a>(&'a self, token: &'a TokenRecord) -> StoreFuture<'a, ()>;

    /// Every token, those that were revoked too, oldest first.
    fn tokens(&self) -> StoreFuture<'_, Vec<TokenRecord>>;

    /// Takes back the token of this name; durable when it returns. [`StoreError::Missing`] where there is none.
    fn revoke_token<'a>(
        &'a self,
        name: &'a str,
        by: &'a str,
        at: DateTime<Utc>,
    ) -> StoreFuture<'a, TokenRecord>;

    /// Keeps a session, and forgets those that ended before it began.
    fn add_session<'a>(&'a self, session: &'a SessionRecord) -> StoreFuture<'a, ()>;

    /// The session with this digest, ended or not.
    fn session(&self, digest: SecretDigest) -> StoreFuture<'_, Option<SessionRecord>>;

    /// Forgets a session; whether it was there: of two that end one session only one is told so.
    fn end_session(&self, digest: SecretDigest) -> StoreFuture<'_, bool>;

    /// Notes that an order with a key begins, and forgets those of more than a day before; what is known of the one
    /// that came before with the same key, which stays as it is.
    fn begin_command<'a>(
        &'a self,
        command: &'a KeyedCommand,
    ) -> StoreFuture<'a, Option<EarlierCommand>>;

    /// Keeps what was answered to an order with a key.
    fn keep_answer<'a>(&'a self, key: SecretDigest, answer: &'a KeptAnswer) -> StoreFuture<'a, ()>;

    /// Forgets an order with a key: it changed nothing.
    fn forget_command(&self, key: SecretDigest) -> StoreFuture<'_, ()>;
}

/// A migration whose row is locked for the flip; dropping it changes nothing and unlocks.
pub trait SealedMigration: Send + Sync + std::fmt::Debug {
    /// The migration as it is and stays while this is held.
    fn snapshot(&self) -> &Snapshot;

    /// The map in force, which stays so while this is held; of a list map only the keys that move.
    fn map(&self) -> &ShardMap;

    /// Writes the change with the new map version; nobody sees it, nor is it kept, before [`SealedMigration::commit`].
    ///
    /// `map` is the map in force with other mappings and the next version.
    fn write<'a>(
        &'a mut self,
        change: &'a MigrationChange,
        map: &'a ShardMap,
    ) -> StoreFuture<'a, ()>;

    /// Commits what was written and unlocks: the point of no return (C9).
    ///
    /// Committed synchronously. On an error the outcome is unknown: [`Store::seal`] again tells.
    fn commit(self: Box<Self>) -> StoreFuture<'static, ()>;

    /// Changes nothing and unlocks.
    fn release(self: Box<Self>) -> BoxFuture<'static, ()>;
}
