//! The errors that an application can receive, and what each means for its transaction.

use plans::id::{MapName, MapVersion, ShardName};
use plans::key::{Key, KeyError};
use std::time::Duration;

/// Any error that the application's closure may return.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a key has no shard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// No mapping contains the key.
    #[error("key {key} is in no mapping of map {map} version {version}")]
    Unmapped {
        /// The key.
        key: Key,
        /// The map.
        map: MapName,
        /// The version of the map in which the key was looked up.
        version: MapVersion,
    },
    /// No controller has answered for longer than [`crate::Options::max_staleness`].
    #[error(
        "map {map} version {version} may be out of date: no controller has answered for {silence:?}"
    )]
    Stale {
        /// The map.
        map: MapName,
        /// The version in the cache.
        version: MapVersion,
        /// The time since the last answer.
        silence: Duration,
    },
    /// The value is not a key of this map: it has another type, or another number of columns.
    #[error("{key} is no key of map {map}")]
    Key {
        /// The value.
        key: Key,
        /// The map.
        map: MapName,
        /// The type that the map expects.
        #[source]
        source: KeyError,
    },
}

impl RouteError {
    /// Returns what the user can do.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unmapped { .. } => "map the key to a shard, or correct the key",
            Self::Stale { .. } => {
                "make sure that the application can reach a controller, or increase Options::max_staleness"
            }
            Self::Key { .. } => "pass the key in the types of the map's key columns",
        }
    }
}

/// Why a transaction did not end with an acknowledged commit, or why the map could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The key is not mapped, or is not a key of the map. No statement was executed.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// The application has no connection string for the shard. No statement was executed.
    #[error("no connection string for shard {shard}")]
    Unreachable {
        /// The shard.
        shard: ShardName,
    },
    /// A connection cannot be opened, and a retry does not help. No statement was executed.
    #[error("cannot connect to shard {shard}")]
    Connect {
        /// The shard.
        shard: ShardName,
        /// The reason.
        #[source]
        source: BoxError,
    },
    /// No controller returned the map.
    #[error("map {map} could not be read from {url}")]
    Fetch {
        /// The map.
        map: MapName,
        /// The URLs of the controllers.
        url: String,
        /// The reason.
        #[source]
        source: BoxError,
    },
    /// The closure returned an error that a retry cannot fix. The transaction was rolled back.
    #[error("the transaction on shard {shard} was rolled back")]
    RolledBack {
        /// The shard.
        shard: ShardName,
        /// The error of the closure, or of the server at the commit.
        #[source]
        source: BoxError,
    },
    /// The closure returned success although one of its statements had failed. The transaction was rolled back.
    #[error(
        "the closure ignored a failed statement; the transaction on shard {shard} was rolled back"
    )]
    FailedStatementIgnored {
        /// The shard.
        shard: ShardName,
    },
    /// The closure ended the transaction itself, which only the library may do.
    #[error("the closure ended its transaction on shard {shard}")]
    TransactionEnded {
        /// The shard.
        shard: ShardName,
    },
    /// The connection was lost during the commit. The transaction may or may not be committed.
    #[error(
        "the connection to shard {shard} was lost during the commit; the outcome of the transaction is unknown"
    )]
    CommitUnknown {
        /// The shard.
        shard: ShardName,
        /// The error of the connection.
        #[source]
        source: BoxError,
    },
    /// A shard did not answer a query to all shards within the time for retries.
    #[error("shard {shard}: gave up after {attempts} attempts in {waited:?}")]
    NoAnswer {
        /// The shard.
        shard: ShardName,
        /// The number of attempts.
        attempts: u32,
        /// The time that was spent.
        waited: Duration,
        /// The last error.
        #[source]
        source: BoxError,
    },
    /// The time for retries has ended. The last attempt was rolled back.
    #[error("key {key}: gave up after {attempts} attempts in {waited:?}")]
    GaveUp {
        /// The key.
        key: Key,
        /// The number of attempts.
        attempts: u32,
        /// The time that was spent.
        waited: Duration,
        /// The last error.
        #[source]
        source: BoxError,
    },
}

impl ClientError {
    /// Returns what the user can do, if that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Route(error) => Some(error.hint()),
            Self::Unreachable { .. } => {
                Some("make ShardAccess return a connection string for this shard")
            }
            Self::CommitUnknown { .. } => Some(
                "before you repeat the transaction, find out on the key's shard whether it was committed, for example by a row that it writes",
            ),
            Self::FailedStatementIgnored { .. } => {
                Some("return the error from the closure, or roll back to a savepoint")
            }
            Self::TransactionEnded { .. } => {
                Some("remove commit and rollback from the closure; return an error to roll back")
            }
            Self::Connect { .. }
            | Self::Fetch { .. }
            | Self::RolledBack { .. }
            | Self::NoAnswer { .. }
            | Self::GaveUp { .. } => None,
        }
    }
}
