//! Directory tables of the operator: tables that list which shard owns which keys. An agent reads one so that it can be
//! imported as a map.

use super::dispatch::shard_ref;
use super::{ControlError, Controller};
use plans::id::ShardName;
use plans::inspection::{Directory, DirectoryTable, DirectoryTask, Inspected, Inspection};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A directory table on a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectoryRequest {
    /// The schema of the table, as in the catalog. Default: `public`.
    #[serde(default = "public")]
    pub schema: String,
    /// The name of an ordinary table, a partitioned table or a materialized view.
    pub table: String,
    /// The columns that contain the key, or the bounds of a range of keys or virtual shards.
    pub keys: Vec<String>,
    /// The column that contains the name of the shard.
    pub shard: String,
    /// The time limit for the read, in milliseconds. Default: 60000.
    #[serde(default = "a_minute")]
    pub timeout_ms: u32,
}

fn public() -> String {
    "public".to_owned()
}

fn a_minute() -> u32 {
    60_000
}

impl Controller {
    /// Reads the rows of a directory table.
    ///
    /// # Errors
    /// The shard is unknown, no agent is connected, or the server reported an error about the table.
    pub async fn read_directory(
        &self,
        shard: &ShardName,
        request: DirectoryRequest,
    ) -> Result<Directory, ControlError> {
        if request.keys.is_empty() {
            let what = "keys must contain at least one column".to_owned();
            return Err(ControlError::Invalid { what });
        }
        let shards = self.inner.store.shards().await?;
        let task = DirectoryTask {
            shard: shard_ref(&shards, shard)?,
            table: DirectoryTable {
                schema: request.schema,
                table: request.table,
                keys: request.keys,
                shard: request.shard,
            },
            timeout_ms: request.timeout_ms,
        };
        let work = Duration::from_millis(request.timeout_ms.into());
        let Inspected::Directory(directory) =
            self.inspect(Inspection::Directory(task), work).await?
        else {
            return Err(ControlError::OtherAnswer);
        };
        Ok(directory)
    }
}
