//! `shardwright shard`.

use super::client::Client;
use super::error::CliError;
use super::output::{Output, table};
use crate::store::ShardRecord;
use clap::Subcommand;
use serde_json::json;

/// Shards.
#[derive(Debug, Subcommand)]
pub(super) enum Shard {
    /// Register a shard.
    Add {
        /// Its name.
        name: String,
        /// Connection string; the password as ${file:/path} or ${env:NAME}.
        #[arg(long)]
        dsn: String,
        #[command(flatten)]
        output: Output,
    },
    /// List the shards.
    List {
        #[command(flatten)]
        output: Output,
    },
    /// Forget a shard that no map names.
    Remove {
        /// Its name.
        name: String,
    },
}

impl Shard {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        match self {
            Self::Add { name, dsn, output } => {
                let body = json!({ "name": name, "dsn": dsn }).to_string();
                let made: ShardRecord = client.post("/api/v1/shards", body).await?;
                output.print(&made, |made| format!("{}\n", made.name))
            }
            Self::List { output } => {
                let shards: Vec<ShardRecord> = client.get("/api/v1/shards").await?;
                output.print(&shards, |shards| {
                    let rows = shards.iter();
                    let rows = rows.map(|s| vec![s.name.to_string(), s.dsn.clone()]);
                    table(&["NAME", "DSN"], &rows.collect::<Vec<_>>())
                })
            }
            Self::Remove { name } => {
                client.delete(&format!("/api/v1/shards/{name}")).await?;
                Ok(0)
            }
        }
    }
}
