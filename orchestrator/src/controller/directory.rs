//! Directory tables of the operator's, read by an agent, so that a map can be imported.

use super::dispatch::shard_ref;
use super::{ControlError, Controller};
use plans::id::ShardName;
use plans::inspection::{Directory, DirectoryTask, Inspected, Inspection};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A query on a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectoryAsk {
    /// One SELECT, run in a read-only transaction.
    pub query: String,
    /// The query is given up after this time, milliseconds; a minute unless said otherwise.
    #[serde(default = "a_minute")]
    pub timeout_ms: u32,
}

fn a_minute() -> u32 {
    60_000
}

impl Controller {
    /// Reads the rows of a directory table.
    ///
    /// # Errors
    /// An unknown shard, no agent, or what the server says of the query.
    pub async fn read_directory(
        &self,
        shard: &ShardName,
        ask: DirectoryAsk,
    ) -> Result<Directory, ControlError> {
        let shards = self.inner.store.shards().await?;
        let task = DirectoryTask {
            shard: shard_ref(&shards, shard)?,
            query: ask.query,
            timeout_ms: ask.timeout_ms,
        };
        let work = Duration::from_millis(ask.timeout_ms.into());
        let Inspected::Directory(directory) =
            self.inspect(Inspection::Directory(task), work).await?
        else {
            return Err(ControlError::OtherAnswer);
        };
        Ok(directory)
    }
}
