//! `map convert`: gives a map another strategy or another key.

use super::create::equal_parts;
use super::{fetch, mappings, tables};
use crate::cli::client::Client;
use crate::cli::consent::Consent;

use crate::cli::error::CliError;
use crate::cli::files::{read, replace, yaml};
use crate::cli::keys::{KeyShape, MapKind, key_type, map_kind, pair, range_and_shard};
use crate::cli::out::report;
use crate::cli::output::{Output, json};
use crate::controller::{ConversionReport, ConvertRequest};
use clap::Args;
use plans::key::KeyType;
use plans::shard_map::{DEFAULT_BUCKETS, Mapping, MappingState, ShardMap, Strategy};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Give a map another strategy or another key.
#[derive(Debug, Args)]
pub(in crate::cli) struct MapConvertArgs {
    /// The map.
    name: String,
    /// How keys are divided afterwards: range or hash.
    #[arg(long = "strategy", value_name = "STRATEGY", value_parser = map_kind, required_unless_present = "file")]
    kind: Option<MapKind>,
    /// The type of the shard key afterwards; for a composite key the types, separated by commas. Default: as before.
    #[arg(long, value_parser = key_type, value_delimiter = ',')]
    key: Option<Vec<KeyType>>,
    /// The number of virtual shards of a hash map, a power of two; 4096 by default.
    #[arg(long)]
    buckets: Option<u32>,
    /// Keys and the shard that owns those of them that do not exist yet: FROM..TO=SHARD, as in `map create`.
    #[arg(long = "range", value_name = "FROM..TO=SHARD", value_parser = range_and_shard, allow_hyphen_values = true)]
    ranges: Vec<(String, String)>,
    /// The shards among which the virtual shards of a hash map are divided equally. For a range map, one shard that
    /// owns all keys.
    #[arg(long, value_delimiter = ',', conflicts_with = "ranges")]
    shards: Vec<String>,
    /// A sharded table and its key column afterwards, or columns separated by commas; may be given several times. It
    /// replaces the tables of the map.
    #[arg(long = "table", value_name = "TABLE=COLUMN", value_parser = pair)]
    tables: Vec<(String, String)>,
    /// Read everything but the name from a file in YAML or JSON: strategy, key, buckets, settings, mappings; `-` is
    /// stdin.
    #[arg(long, short = 'f', conflicts_with_all = ["kind", "key", "buckets", "ranges", "shards", "tables"])]
    file: Option<PathBuf>,
    /// Write a request to this file that moves the kept keys to the shards that the new mappings name.
    #[arg(long, value_name = "REQUEST")]
    moves: Option<PathBuf>,
    /// The reason, for the audit trail.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    output: Output,
}

impl MapConvertArgs {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let map = fetch(client, &self.name).await?;
        let mut request = self.request(&map)?;
        let path = format!("/api/v1/maps/{}/conversions", self.name);
        // The agents read the keys first, so that the user confirms figures.
        request.dry_run = true;
        let expected: ConversionReport = client.post(&path, json(&request)?).await?;
        let what = format!(
            "Divides the keys of map {} by {} in place of {}. {}",
            self.name,
            request.strategy,
            map.strategy,
            text(&expected)
        );
        if !self.consent.is_confirmed(&what, &self.name)? {
            return Ok(0);
        }
        request.dry_run = false;
        let done: ConversionReport = client
            .post_with_reason(&path, json(&request)?, self.reason.as_deref())
            .await?;
        if let Some(out) = &self.moves {
            let map = fetch(client, &self.name).await?;
            write_moves(&map, &request, out)?;
        }
        self.output.print(&done, text)
    }

    fn request(&self, map: &ShardMap) -> Result<ConvertRequest, CliError> {
        if let Some(path) = &self.file {
            return serde_saphyr::from_str(&read(path)?).map_err(|error| {
                CliError::Usage(format!("{} cannot be read: {error}", path.display()))
            });
        }
        let strategy = self.kind.map_or(map.strategy, |kind| kind.strategy);
        let is_hash = strategy == Strategy::Hash;
        let default_count = if is_hash { DEFAULT_BUCKETS } else { 0 };
        let shape = KeyShape {
            strategy,
            key: self.key.clone().unwrap_or_else(|| map.key.clone()),
            buckets: self.buckets.unwrap_or(default_count),
        };
        let mut owners = mappings(&shape, &self.ranges, &[])?;
        owners.extend(equal_parts(&shape, &self.shards)?);
        let settings = match self.tables.as_slice() {
            [] => Value::Null,
            named => json!({ "tables": tables(named) }),
        };
        Ok(ConvertRequest {
            strategy,
            key: self.key.clone(),
            buckets: is_hash.then_some(shape.buckets),
            settings,
            mappings: owners,
            dry_run: false,
        })
    }
}

/// Writes the request that moves the kept keys, if there are any.
fn write_moves(map: &ShardMap, request: &ConvertRequest, out: &Path) -> Result<(), CliError> {
    let owners = request.mappings.iter().map(|new| Mapping {
        keys: new.keys.clone(),
        shard: new.shard.clone(),
        state: MappingState::Active,
    });
    let wanted = ShardMap {
        mappings: owners.collect(),
        ..map.clone()
    };
    let wanted = wanted
        .validated()
        .map_err(|error| CliError::Refused(error.to_string()))?;
    match plans::planner::revert(map, &wanted) {
        Ok(request) => {
            replace(out, &yaml(&request)?)?;
            report!("plan the moves with: shardwright plan {}", out.display());
        }
        Err(error) => report!("no request was written: {error}"),
    }
    Ok(())
}

fn text(report: &ConversionReport) -> String {
    let mut text = match report.version {
        Some(version) => format!("map {} version {version}: ", report.map),
        None => String::new(),
    };
    text.push_str(&format!(
        "{} keys exist, {} mappings; no row moves",
        report.keys, report.mappings
    ));
    for kept in &report.kept {
        text.push_str(&format!(
            "\n  {} stay on shard {}, new keys belong to shard {}",
            kept.keys, kept.shard, kept.wanted
        ));
    }
    text.push_str(&match report.version {
        Some(_) => format!(
            "\n  new keys with another shard than before were refused for {} ms",
            report.milliseconds
        ),
        None => format!("\n  the keys were read in {} ms", report.milliseconds),
    });
    text.push('\n');
    text
}
