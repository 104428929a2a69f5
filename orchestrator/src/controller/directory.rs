//! Directory tables of the operator's, read by an agent, so that a map can be imported.

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
    /// Its schema, as the catalog has it; `public` unless said otherwise.
    #[serde(default = "public")]
    pub schema: String,
    /// Its name; an ordinary or partitioned table, or a materialized view.
    pub table: String,
    /// The columns of the key, or of the bounds of a range or of buckets.
    pub keys: Vec<String>,
    /// The column with the shard's name.
    pub shard: String,
    /// The reading is given up after this time, milliseconds; a minute unless said otherwise.
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
    /// An unknown shard, no agent, or what the server says of the table.
    pub async fn read_directory(
        &self,
        shard: &ShardName,
        request: DirectoryRequest,
    ) -> Result<Directory, ControlError> {
        if request.keys.is_empty() {
            let what = "keys names the columns of the key: one at least".to_owned();
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
