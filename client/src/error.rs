//! What an application may meet, and what it means for its transaction.

use plans::id::{MapName, MapVersion, ShardName};
use plans::key::{Key, KeyError};
use std::time::Duration;

/// Any error, as the application's closure may return it.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A key has no shard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// No mapping holds the key.
    #[error("key {key} is in no mapping of map {map} version {version}")]
    Unmapped {
        /// The key.
        key: Key,
        /// The map.
        map: MapName,
        /// The version that was looked at.
        version: MapVersion,
    },
    /// No controller has said anything for longer than [`crate::Options::max_staleness`].
    #[error(
        "map {map} version {version} may be out of date: no controller has answered for {silence:?}"
    )]
    Stale {
        /// The map.
        map: MapName,
        /// The version that is known.
        version: MapVersion,
        /// For how long nothing was heard.
        silence: Duration,
    },
    /// The value is no key of this map: another type, or another number of columns.
    #[error("{key} is no key of map {map}")]
    Key {
        /// The value.
        key: Key,
        /// The map.
        map: MapName,
        /// What the map expects.
        #[source]
        source: KeyError,
    },
}

impl RouteError {
    /// What mends it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unmapped { .. } => "map the key to a shard, or correct the key",
            Self::Stale { .. } => {
                "see to the controllers, or allow more with Options::max_staleness"
            }
            Self::Key { .. } => "give the key in the types of the map's key columns",
        }
    }
}

/// A transaction did not end in an acknowledged commit, or the map could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The key is unmapped or no key of the map; nothing was run.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// The application did not say how to reach the shard; nothing was run.
    #[error("no connection string for shard {shard}")]
    Unreachable {
        /// The shard.
        shard: ShardName,
    },
    /// The connection string cannot be used; nothing was run.
    #[error("shard {shard} cannot be connected to")]
    Connect {
        /// The shard.
        shard: ShardName,
        /// Why.
        #[source]
        source: BoxError,
    },
    /// The controller did not give the map.
    #[error("map {map} could not be read from {url}")]
    Fetch {
        /// The map.
        map: MapName,
        /// Where it was looked for.
        url: String,
        /// Why.
        #[source]
        source: BoxError,
    },
    /// The closure ended with an error that no retry mends; the transaction was rolled back.
    #[error("the transaction on shard {shard} was rolled back")]
    RolledBack {
        /// The shard.
        shard: ShardName,
        /// The closure's error, or the server's at commit.
        #[source]
        source: BoxError,
    },
    /// The closure returned success although one of its statements had failed; rolled back.
    #[error("a failed statement was ignored, the transaction on shard {shard} was rolled back")]
    FailedStatementIgnored {
        /// The shard.
        shard: ShardName,
    },
    /// The connection was lost while the commit was in flight: it may have happened or not.
    #[error("the connection to shard {shard} was lost during commit, its outcome is unknown")]
    CommitUnknown {
        /// The shard.
        shard: ShardName,
        /// How it was lost.
        #[source]
        source: BoxError,
    },
    /// A shard did not answer a question to all in the time for retries.
    #[error("shard {shard}: gave up after {attempts} attempts in {waited:?}")]
    NoAnswer {
        /// The shard.
        shard: ShardName,
        /// Attempts made.
        attempts: u32,
        /// Time spent.
        waited: Duration,
        /// The last refusal.
        #[source]
        source: BoxError,
    },
    /// The time for retries is over; the last attempt was rolled back.
    #[error("key {key}: gave up after {attempts} attempts in {waited:?}")]
    GaveUp {
        /// The key.
        key: Key,
        /// Attempts made.
        attempts: u32,
        /// Time spent.
        waited: Duration,
        /// The last refusal.
        #[source]
        source: BoxError,
    },
}

impl ClientError {
    /// What mends it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Route(error) => Some(error.hint()),
            Self::Unreachable { .. } => Some("give ShardAccess a connection string for this shard"),
            Self::CommitUnknown { .. } => Some(
                "look for the transaction's own mark on the key's shard before running it again",
            ),
            Self::FailedStatementIgnored { .. } => {
                Some("return the error from the closure, or roll back to a savepoint")
            }
            Self::Connect { .. }
            | Self::Fetch { .. }
            | Self::RolledBack { .. }
            | Self::NoAnswer { .. }
            | Self::GaveUp { .. } => None,
        }
    }
}
