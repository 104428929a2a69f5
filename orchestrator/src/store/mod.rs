//! The control store: everything that the controller records durably. Each method is one transaction.
//!
//! - Every change of a migration is one compare-and-set on the migration's revision. The same transaction writes the
//!   events of the change.
//! - Every transaction that writes proves that the process leads (`leader`). Followers only read.
//! - The trait [`Store`] consists of ten traits, one for each role. Code that needs one role depends on its trait.
//! - Two implementations fulfil this contract: PostgreSQL (`pg`), and an implementation in memory for tests. One test
//!   suite tests both.
//! - The store decides nothing. It refuses only what would violate an invariant of docs/protocol.md.

mod access;
mod agents;
mod conversions;
mod fleet;
mod imbalance;
mod keyed_command;
mod leader;
pub mod memory;
mod migrations;
mod operation;
pub mod pg;
mod phase;
mod pieces;
mod reading;
mod records;

pub use access::{AccessStore, AuditLine, AuditRecord, SessionRecord, TokenRecord};
pub use agents::{AgentProcess, AgentRecord, AgentStore, Registered};
pub use conversions::{ConversionRecord, ConversionStore};
pub use fleet::{
    MapStore, MapVersionRecord, NewShard, SettingsRecord, ShardRecord, ShardStore, ShardUpdate,
};
pub use imbalance::{IMBALANCE_INTERVAL, IMBALANCE_KEPT, ImbalanceSample, ImbalanceStore};
pub use keyed_command::{CommandStore, EarlierCommand, KeyedCommand, StoredResponse};
pub use leader::{Leader, LeaderCandidate, LeaderStore, RemoteChange, Term};
pub use migrations::{HookStore, MigrationStore, SealedMigration};
pub use operation::{NewOperation, OperationRecord};
pub use phase::MigrationPhase;
pub use reading::{FigureReading, StreamReading};
pub use records::{
    Approval, CancelRequest, CleanupRecord, Event, HoldEnd, HookCursor, HookReply, HookRequest,
    LeaseHolder, Migration, MigrationChange, NewEvent, OwnerBeat, Snapshot, Step,
};

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use plans::id::{AgentName, MapName, MigrationId, ShardName};
use std::sync::Arc;

/// Versions of the control store's schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaVersion {
    /// The version that the store has.
    pub found: i64,
    /// The version for which this program was built.
    pub known: i64,
}

/// The future that a method of the store returns.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Every migration that has not ended, oldest first. Concurrent callers share one value.
pub type UnfinishedMigrations = Arc<Vec<Arc<Snapshot>>>;

/// Why a method of the store did not do what its caller wanted.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The name is already in use.
    #[error("{what} {name} exists already")]
    Exists {
        /// The kind of object: shard, map or migration.
        what: &'static str,
        /// The name of the object.
        name: String,
    },
    /// No object has the name.
    #[error("there is no {what} {name}")]
    Missing {
        /// The kind of object: shard, map or migration.
        what: &'static str,
        /// The name of the object.
        name: String,
    },
    /// The shard cannot be removed: the version in force of a map names it.
    #[error("map {map} names shard {shard}")]
    ShardInUse {
        /// The shard.
        shard: ShardName,
        /// The map.
        map: MapName,
    },
    /// The shard cannot be removed: it is the source or the target of an unfinished migration.
    #[error("shard {shard} is source or target of migration {migration}")]
    ShardMoving {
        /// The shard.
        shard: ShardName,
        /// The migration.
        migration: MigrationId,
    },
    /// The map cannot be removed: it has a migration.
    #[error("map {map} has migrations, the first is {migration}")]
    MapMoved {
        /// The map.
        map: MapName,
        /// The first migration of the map.
        migration: MigrationId,
    },
    /// The agent cannot be removed: its process may still run.
    #[error("agent {agent} may be running: its last request arrived at {}", last_seen.format("%Y-%m-%d %H:%M:%S UTC"))]
    AgentAlive {
        /// The agent.
        agent: AgentName,
        /// When its last request arrived.
        last_seen: DateTime<Utc>,
    },
    /// The agent cannot be removed: an unfinished migration is assigned to it.
    #[error("migration {migration} is assigned to agent {agent}")]
    AgentAssigned {
        /// The agent.
        agent: AgentName,
        /// The migration.
        migration: MigrationId,
    },
    /// Another migration moves some of these keys (I8).
    #[error("migration {migration} is moving some of these keys")]
    KeysMoving {
        /// The other migration.
        migration: MigrationId,
    },
    /// The map gets another strategy or key, and does not change otherwise until this has ended.
    #[error("conversion {conversion} of map {map} has not ended")]
    Converting {
        /// The map.
        map: MapName,
        /// The conversion.
        conversion: MigrationId,
    },
    /// The conversion has ended, has created its version, or another process has taken it over.
    #[error("conversion {conversion} has ended, or another controller has taken it over")]
    ConversionEnded {
        /// The conversion.
        conversion: MigrationId,
    },
    /// The map is not at the version that the caller expects.
    #[error("map {map} is at version {current}, not {expected}")]
    MapVersion {
        /// The map.
        map: MapName,
        /// The version in force.
        current: i64,
        /// The version that the caller expects.
        expected: i64,
    },
    /// The map's settings have changed since the caller read them.
    #[error("the settings of map {map} are at revision {current}, not {expected}")]
    SettingsRevision {
        /// The map.
        map: MapName,
        /// The revision in force.
        current: i64,
        /// The revision that the caller expects.
        expected: i64,
    },
    /// No controller leads, or another one has taken over. Nothing was written.
    #[error("this controller does not lead")]
    NotLeading,
    /// Another transaction holds the lock on the row, for example the sealed transaction of a cutover.
    #[error("another transaction, for example that of a cutover, has locked the row; try again")]
    Busy,
    /// A text contains a character that the store cannot hold, such as U+0000. Nothing was written.
    #[error("a name or a text contains a character that the store cannot hold: {reason}")]
    Unwritable {
        /// The error message of the store.
        reason: String,
    },
    /// The store could not be queried, or the query failed. After a write the outcome is unknown.
    #[error("the control store could not be queried")]
    Unavailable {
        /// The underlying error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The control store, as one process accesses it: its handle. The supertraits are its roles.
///
/// Every method that writes fails with [`StoreError::NotLeading`] unless the handle leads. The transaction that writes
/// proves the leader's term.
pub trait Store:
    LeaderStore
    + ShardStore
    + MapStore
    + ConversionStore
    + ImbalanceStore
    + MigrationStore
    + HookStore
    + AgentStore
    + AccessStore
    + CommandStore
{
    /// Returns the random id of this store (its incarnation). It never changes.
    fn incarnation(&self) -> &str;

    /// Returns `Ok` if the store can be queried.
    fn ping(&self) -> StoreFuture<'_, ()>;

    /// Returns the version of the schema and the version for which this program was built.
    fn schema(&self) -> StoreFuture<'_, SchemaVersion>;
}
