//! `map buckets`: changes the number of virtual shards of a hash map.

use super::text;
use crate::cli::client::Client;
use crate::cli::consent::Consent;
use crate::cli::error::CliError;
use crate::cli::output::{Output, json};
use crate::cli::preview;
use crate::controller::MapEdit;
use clap::Args;
use plans::shard_map::ShardMap;

/// Change the number of virtual shards of a hash map.
#[derive(Debug, Args)]
pub(in crate::cli) struct MapBucketsArgs {
    /// The map.
    name: String,
    /// The new number of virtual shards, a power of two.
    #[arg(value_name = "COUNT")]
    buckets: u32,
    /// The reason, for the audit trail.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    output: Output,
}

impl MapBucketsArgs {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let map = super::fetch(client, &self.name).await?;
        let edit = MapEdit::Buckets {
            buckets: self.buckets,
        };
        let next = preview::edit(client, &map, edit.clone()).await?;
        let what = format!(
            "Gives map {} {} virtual shards in place of {}: {} mappings in place of {}. Each key keeps its shard, and no row moves.",
            self.name,
            self.buckets,
            map.buckets,
            next.mappings.len(),
            map.mappings.len(),
        );
        if !self.consent.is_confirmed(&what, &self.name)? {
            return Ok(0);
        }
        let path = format!("/api/v1/maps/{}/versions", self.name);
        let map: ShardMap = client
            .post_with_reason(&path, json(&edit)?, self.reason.as_deref())
            .await?;
        self.output.print(&map, text::map)
    }
}
