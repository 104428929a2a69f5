//! Why no shard map could be proposed.

use plans::id::ShardName;
use plans::shard_map::MapError;

/// Why no shard map could be proposed.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// A shard could not be reached.
    #[error("shard {shard} could not be reached: {}", chain(.source))]
    Connect {
        /// The shard.
        shard: ShardName,
        /// The error of the connection.
        #[source]
        source: connect::ConnectError,
    },
    /// The catalog or the rows of a shard could not be read.
    #[error("shard {shard}: could not {action}: {}", chain(.source))]
    Query {
        /// The shard.
        shard: ShardName,
        /// The action that failed.
        action: String,
        /// The error of the server.
        #[source]
        source: tokio_postgres::Error,
    },
    /// No shard has tables.
    #[error("no shard has tables of an application")]
    NoTables,
    /// No column can be the shard key.
    #[error(
        "no column can be the shard key: none is the first of several columns of a primary key, has a foreign key to another table, or is the first column of indexes of several tables"
    )]
    NoKey,
    /// The requested column cannot be the shard key.
    #[error("column {column} cannot be the key: {reason}")]
    UnfitKey {
        /// The column.
        column: String,
        /// The reason.
        reason: String,
    },
    /// The keys are distributed in a way that no map can express.
    #[error(transparent)]
    NoMap(#[from] NoMap),
    /// The mappings contradict each other. This is a bug, because the earlier checks should have found it.
    #[error(transparent)]
    Map(#[from] MapError),
}

/// Why no map can describe where the keys are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no map describes where the keys are: {}", reasons.join("; "))]
pub struct NoMap {
    /// The reason for each kind of map that was tried.
    pub reasons: Vec<String>,
}

impl DiscoverError {
    /// Returns what the user can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoKey => Some(
                "name a column with --key COLUMN, or first add a column with the tenant's id to the tables",
            ),
            Self::NoMap(_) => Some(
                "if the application stores the shard of each key in a table, read this table with `shardwright map import --from SHARD --query`",
            ),
            Self::NoTables => Some("name the database in each connection string: dbname=..."),
            Self::Connect { .. } | Self::Query { .. } | Self::UnfitKey { .. } | Self::Map(_) => {
                None
            }
        }
    }
}

/// Returns an error with its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.join(": ")
}
