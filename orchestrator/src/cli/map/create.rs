//! `map create` and `map assign`: mappings from flags.

use super::{mappings, text, warn_unowned};
use crate::cli::client::Client;
use crate::cli::consent::{Consent, DryRun};
use crate::cli::error::CliError;
use crate::cli::files::read;
use crate::cli::keys::{KeyShape, MapKind, groups, key_type, map_kind, pair, range_and_shard};
use crate::cli::output::{Output, json};
use crate::cli::preview::{self, KnownNames};
use crate::controller::{MapEdit, NewMap, NewMapping};
use clap::Args;
use plans::id::{MapName, ShardName};
use plans::key::KeyType;
use plans::key_set::KeySet;
use plans::shard_map::{
    DEFAULT_BUCKETS, KeyColumns, KeyedBy, MapSettings, Sequences, ShardMap, Strategy,
};
use std::path::PathBuf;

/// Create version 1 of a map.
#[derive(Debug, Args)]
pub(in crate::cli) struct MapCreateArgs {
    /// The name of the map. A file does not contain the name.
    name: String,
    #[command(flatten)]
    kind: MapKindArgs,
    /// Keys and their shard: FROM..TO=SHARD. Either end may be missing (..=SHARD is all keys). For a hash map, FROM and
    /// TO are numbers of virtual shards.
    #[arg(long = "range", value_name = "FROM..TO=SHARD", value_parser = range_and_shard, allow_hyphen_values = true)]
    ranges: Vec<(String, String)>,
    /// The shards among which the virtual shards of a hash map are divided equally. For a range map, one shard that
    /// owns all keys.
    #[arg(long, value_delimiter = ',', conflicts_with = "ranges")]
    shards: Vec<String>,
    /// A key of a list map and its shard; may be given several times.
    #[arg(long, value_name = "KEY=SHARD", value_parser = pair, allow_hyphen_values = true)]
    shard_of: Vec<(String, String)>,
    /// A sharded table and its key column, or columns separated by commas; may be given several times.
    #[arg(long = "table", value_name = "TABLE=COLUMN", value_parser = pair)]
    tables: Vec<(String, String)>,
    /// A group of whole tables and its tables, for a map with `--strategy group`; may be given several times.
    #[arg(long = "group", value_name = "GROUP=TABLE,TABLE", value_parser = pair)]
    groups: Vec<(String, String)>,
    /// Read everything but the name from a file in YAML or JSON: strategy, key, buckets, settings, mappings; `-` is
    /// stdin.
    #[arg(long, short = 'f', conflicts_with_all = ["kind", "key", "buckets", "ranges", "shards", "shard_of", "tables", "groups"])]
    file: Option<PathBuf>,
    #[command(flatten)]
    dry: DryRun,
    #[command(flatten)]
    output: Output,
}

/// How a map divides keys.
#[derive(Debug, Args)]
pub(in crate::cli) struct MapKindArgs {
    /// How keys are divided: range, hash or list; or what is listed: schema (whole schemas), group (groups of whole
    /// tables).
    #[arg(long = "strategy", value_name = "STRATEGY", default_value = "range", value_parser = map_kind)]
    kind: MapKind,
    /// The type of the shard key, by default bigint; for a composite key the types, separated by commas. The names of
    /// schemas and groups are always text.
    #[arg(long, value_parser = key_type, value_delimiter = ',')]
    key: Option<Vec<KeyType>>,
    /// The number of virtual shards of a hash map, a power of two; 4096 by default.
    #[arg(long)]
    buckets: Option<u32>,
}

impl MapKindArgs {
    /// Returns how shards share sequences: the sequences of a schema or group are used on one shard at a time.
    pub(super) fn sequences(&self) -> Sequences {
        match self.kind.keyed_by {
            KeyedBy::Column => Sequences::default(),
            KeyedBy::Schema | KeyedBy::Group => Sequences::Keep,
        }
    }

    /// Returns what a key of the map represents.
    pub(super) fn keyed_by(&self) -> KeyedBy {
        self.kind.keyed_by
    }

    /// Returns the shape that the flags describe.
    pub(super) fn shape(&self) -> KeyShape {
        let MapKind { strategy, keyed_by } = self.kind;
        let is_hash = strategy == Strategy::Hash;
        let default_type = match keyed_by {
            KeyedBy::Column => KeyType::Bigint,
            KeyedBy::Schema | KeyedBy::Group => KeyType::Text,
        };
        KeyShape {
            strategy,
            key: self.key.clone().unwrap_or_else(|| vec![default_type]),
            buckets: self
                .buckets
                .unwrap_or(if is_hash { DEFAULT_BUCKETS } else { 0 }),
        }
    }
}

/// Give keys that no shard owns to a shard.
#[derive(Debug, Args)]
pub(in crate::cli) struct MapAssignArgs {
    /// The map.
    name: String,
    /// Keys and their shard, as in `map create`.
    #[arg(long = "range", value_name = "FROM..TO=SHARD", value_parser = range_and_shard, allow_hyphen_values = true)]
    ranges: Vec<(String, String)>,
    /// A key of a list map and its shard; may be given several times.
    #[arg(long, value_name = "KEY=SHARD", value_parser = pair, allow_hyphen_values = true)]
    shard_of: Vec<(String, String)>,
    /// The reason, for the audit trail.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    output: Output,
}

impl MapCreateArgs {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let (output, dry, name) = (self.output, self.dry, self.name.clone());
        let new = match &self.file {
            Some(path) => {
                let file_error = |error: String| {
                    CliError::Usage(format!("{} cannot be read: {error}", path.display()))
                };
                let mut document: serde_json::Value = serde_saphyr::from_str(&read(path)?)
                    .map_err(|error| file_error(error.to_string()))?;
                if !document.is_object() {
                    return Err(file_error(
                        "it is not an object with the fields of a map".to_owned(),
                    ));
                }
                document["name"] = serde_json::json!(self.name);
                serde_json::from_value(document).map_err(|error| file_error(error.to_string()))?
            }
            None => self.new_map()?,
        };
        let what = format!("Creates version 1 of map {name}.");
        create_map(client, &new, dry, &what, output).await
    }

    fn new_map(self) -> Result<NewMap, CliError> {
        let shape = self.kind.shape();
        let mut new_mappings = mappings(&shape, &self.ranges, &self.shard_of)?;
        new_mappings.extend(equal_parts(&shape, &self.shards)?);
        Ok(NewMap {
            name: MapName(self.name),
            strategy: shape.strategy,
            key: shape.key,
            buckets: (shape.strategy == Strategy::Hash).then_some(shape.buckets),
            settings: MapSettings {
                keyed_by: self.kind.keyed_by(),
                groups: groups(&self.groups),
                sequences: self.kind.sequences(),
                tables: tables(&self.tables),
                ..MapSettings::default()
            },
            mappings: new_mappings,
        })
    }
}

impl MapAssignArgs {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let map = super::fetch(client, &self.name).await?;
        let mappings = mappings(&KeyShape::of(&map), &self.ranges, &self.shard_of)?;
        let lines = mappings
            .iter()
            .map(|m| format!("Gives the keys {} to shard {}.", m.keys, m.shard));
        let what = lines.collect::<Vec<_>>().join("\n");
        if self.consent.dry().is_dry() {
            let mappings = mappings.clone();
            preview::edit(client, &map, MapEdit::Assign { mappings }).await?;
        }
        if !self.consent.is_confirmed(&what, &self.name)? {
            return Ok(0);
        }
        let path = format!("/api/v1/maps/{}/versions", self.name);
        let map: ShardMap = client
            .post_with_reason(
                &path,
                json(&MapEdit::Assign { mappings })?,
                self.reason.as_deref(),
            )
            .await?;
        self.output.print(&map, text::map)
    }
}

/// Creates version 1 of a map. In a dry run only checks it and prints what would be done.
pub(super) async fn create_map(
    client: &Client,
    new: &NewMap,
    dry: DryRun,
    what: &str,
    output: Output,
) -> Result<u8, CliError> {
    if dry.is_dry() {
        warn_unowned(&KnownNames::read(client).await?.create(new)?);
    }
    if !dry.proceed_or_print(what) {
        return Ok(0);
    }
    let map: ShardMap = client.post("/api/v1/maps", json(new)?).await?;
    warn_unowned(&map);
    output.print(&map, text::map)
}

/// Parses the key columns of each table: `COLUMN,COLUMN`.
pub(in crate::cli) fn tables(
    pairs: &[(String, String)],
) -> std::collections::BTreeMap<String, KeyColumns> {
    let columns = |text: &str| text.split(',').map(|name| name.trim().to_owned()).collect();
    let table = |(table, text): &(String, String)| (table.clone(), KeyColumns(columns(text)));
    pairs.iter().map(table).collect()
}

/// Divides the virtual shards into equal parts, one for each shard. A single shard of a range map gets all keys.
pub(super) fn equal_parts(
    shape: &KeyShape,
    shards: &[String],
) -> Result<Vec<NewMapping>, CliError> {
    let part = |keys: KeySet, shard: &String| NewMapping {
        keys,
        shard: ShardName::from(shard.as_str()),
    };
    match (shape.strategy, shards) {
        (_, []) => Ok(Vec::new()),
        (Strategy::Range, [only]) => Ok(vec![part(KeySet::range(None, None), only)]),
        (Strategy::Hash, shards) => {
            let virtual_shards = u64::from(shape.buckets);
            let count = u64::try_from(shards.len()).unwrap_or(u64::MAX);
            let boundary = |index: usize| {
                let index = u64::try_from(index).unwrap_or(u64::MAX);
                u32::try_from(virtual_shards * index / count).unwrap_or(shape.buckets)
            };
            let numbered = shards.iter().enumerate();
            let buckets =
                |index| KeySet::buckets(shape.buckets, boundary(index), boundary(index + 1));
            Ok(numbered
                .map(|(index, shard)| part(buckets(index), shard))
                .collect())
        }
        (Strategy::Range | Strategy::List, _) => Err(CliError::Usage(format!(
            "--shards is for hash maps; name the keys of a {} map with {}",
            shape.strategy,
            if shape.strategy == Strategy::List {
                "--shard-of"
            } else {
                "--range"
            }
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_virtual_shards_are_distributed() {
        let shape = KeyShape {
            strategy: Strategy::Hash,
            key: vec![KeyType::Uuid],
            buckets: 16,
        };
        let names: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
        let parts = equal_parts(&shape, &names).unwrap();
        let union = parts
            .iter()
            .fold(KeySet::buckets(16, 0, 0), |all, m| all.union(&m.keys));
        assert_eq!(union, KeySet::buckets(16, 0, 16));
        assert_eq!(parts[0].keys, KeySet::buckets(16, 0, 5));
    }
}
