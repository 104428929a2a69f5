//! Why there is no proposal.

use plans::id::ShardName;
use plans::shard_map::MapError;

/// Why there is no proposal.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// A shard cannot be reached.
    #[error("shard {shard} could not be reached: {}", chain(.source))]
    Connect {
        /// The shard.
        shard: ShardName,
        /// What happened.
        #[source]
        source: connect::ConnectError,
    },
    /// A shard cannot be read.
    #[error("shard {shard}: could not {action}: {}", chain(.source))]
    Query {
        /// The shard.
        shard: ShardName,
        /// What was to be done.
        action: String,
        /// What the server said.
        #[source]
        source: tokio_postgres::Error,
    },
    /// No shard has tables.
    #[error("no shard has tables of an application")]
    NoTables,
    /// No column ties tables together.
    #[error(
        "no column is a key for the tables: none leads a primary key together with others, or refers to another table, or leads indexes of several tables"
    )]
    NoKey,
    /// The column that was asked for is no key.
    #[error("column {column} cannot be the key: {reason}")]
    UnfitKey {
        /// The column.
        column: String,
        /// Why not.
        reason: String,
    },
    /// Keys are where no map can say they are.
    #[error(transparent)]
    NoMap(#[from] NoMap),
    /// The mappings contradict each other, which the look should have seen.
    #[error(transparent)]
    Map(#[from] MapError),
}

/// Why no map describes where the keys are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no map describes where the keys are: {}", reasons.join("; "))]
pub struct NoMap {
    /// Why not, for each kind of map that was tried.
    pub reasons: Vec<String>,
}

impl DiscoverError {
    /// What mends it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoKey => Some(
                "name one with --key COLUMN, or add the tenant's id to the tables first; tables that have it are sharded by it",
            ),
            Self::NoMap(_) => Some(
                "where the application keeps a directory of its keys, `shardwright map import --from SHARD --query` reads it",
            ),
            Self::NoTables => Some("name the database in each connection string: dbname=..."),
            Self::Connect { .. } | Self::Query { .. } | Self::UnfitKey { .. } | Self::Map(_) => {
                None
            }
        }
    }
}

/// An error with its causes, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.join(": ")
}
