//! `shardwright map`: one file for each group of verbs.

mod buckets;
mod check;
mod convert;
mod create;
mod import;
mod load;
mod settings;
mod text;
mod versions;

pub(super) use create::tables;
pub(super) use import::new_mapping;

use super::client::Client;
use super::consent::DryRun;
use super::error::CliError;
use super::keys::KeyShape;
use super::output::Output;
use super::preview;
use super::removal::{Removal, RemovedObject};
use crate::api::LocatedKey;
use crate::cli::out::report;
use crate::controller::{MapEdit, NewMapping};
use clap::Subcommand;
use plans::id::{MapName, MapVersion, ShardName};
use plans::key::Key;
use plans::shard_map::{MapSettings, ShardMap, Strategy};
use serde_json::json;

/// Shard maps.
#[derive(Debug, Subcommand)]
pub(super) enum Map {
    /// Create version 1 of a map.
    Create(create::MapCreateArgs),
    /// Create version 1 of a map from a file, or from a directory table on a shard.
    Import(import::MapImportArgs),
    /// Show the version in force.
    Show {
        /// The map.
        name: String,
        #[command(flatten)]
        output: Output,
    },
    /// List the maps.
    List {
        #[command(flatten)]
        output: Output,
    },
    /// Remove a map that has no migration.
    Remove {
        /// The map.
        name: String,
        #[command(flatten)]
        removal: Removal,
    },
    /// List every version.
    History {
        /// The map.
        name: String,
        #[command(flatten)]
        output: Output,
    },
    /// Show what changed from one version to another.
    Diff(versions::Diff),
    /// Write the mappings as a file.
    Export(versions::Export),
    /// Create the request that restores the owners of an earlier version.
    Revert(versions::Revert),
    /// Join adjacent mappings of one shard. Creates a version without a migration.
    Join {
        /// The map.
        name: String,
        #[command(flatten)]
        dry: DryRun,
        #[command(flatten)]
        output: Output,
    },
    /// Change the number of virtual shards of a hash map. Creates a version without a migration: each key keeps its shard,
    /// and no row moves.
    Buckets(buckets::MapBucketsArgs),
    /// Give a map another strategy or another key. Creates a version without a migration: each key that exists keeps its
    /// shard, and no row moves.
    Convert(convert::MapConvertArgs),
    /// Give keys that no shard owns to a shard. Creates a version without a migration.
    Assign(create::MapAssignArgs),
    /// Change tables, rules and other settings.
    Set(settings::MapSetArgs),
    /// Measure where the load is, and name the hottest keys.
    Load(load::Load),
    /// Check a map and its shards for defects. Changes nothing.
    Check(check::MapCheckArgs),
    /// Carry out the repairs in a request that `map check` has written.
    #[command(alias = "mend")]
    Repair(check::MapRepairArgs),
    /// Print the shard that owns a key.
    Locate {
        /// The map.
        name: String,
        /// The key; the values of a composite key are separated by commas.
        #[arg(allow_hyphen_values = true)]
        key: String,
        #[command(flatten)]
        output: Output,
    },
}

impl Map {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        match self {
            Self::Create(create) => create.run(client).await,
            Self::Import(import) => import.run(client).await,
            Self::Show { name, output } => {
                let map: ShardMap = fetch(client, &name).await?;
                output.print(&map, text::map)
            }
            Self::List { output } => {
                let maps: Vec<ShardMap> = client.get("/api/v1/maps").await?;
                output.print(&maps, |maps| text::maps(maps))
            }
            Self::History { name, output } => {
                let history: Vec<_> = client.get(&format!("/api/v1/maps/{name}/versions")).await?;
                output.print(&history, |history| text::history(history))
            }
            Self::Diff(diff) => diff.run(client).await,
            Self::Export(export) => export.run(client).await,
            Self::Revert(revert) => revert.run(client).await,
            Self::Join { name, dry, output } => {
                if dry.is_dry() {
                    let map = fetch(client, &name).await?;
                    preview::edit(client, &map, MapEdit::Join {}).await?;
                }
                let what = format!(
                    "Creates a version of map {name} in which adjacent mappings of one shard are joined."
                );
                if !dry.proceed_or_print(&what) {
                    return Ok(0);
                }
                let body = json!({ "edit": "join" }).to_string();
                let map: ShardMap = client
                    .post(&format!("/api/v1/maps/{name}/versions"), body)
                    .await?;
                output.print(&map, text::map)
            }
            Self::Remove { name, removal } => {
                let map = fetch(client, &name).await?;
                let what = format!(
                    "Removes map {name}, version {}; the rows of its keys stay on the shards, and applications that read it keep this version.",
                    map.version
                );
                if removal.is_dry() {
                    preview::map_removal(client, &map.name).await?;
                }
                let object = RemovedObject {
                    kind: "map",
                    name: &name,
                };
                removal.run(client, object, &what).await
            }
            Self::Buckets(buckets) => buckets.run(client).await,
            Self::Convert(convert) => convert.run(client).await,
            Self::Assign(assign) => assign.run(client).await,
            Self::Set(set) => set.run(client).await,
            Self::Load(load) => load.run(client).await,
            Self::Check(check) => check.run(client).await,
            Self::Repair(repair) => repair.run(client).await,
            Self::Locate { name, key, output } => {
                let map = fetch(client, &name).await?;
                let body = super::output::json(&KeyShape::of(&map).key(&key)?)?;
                let path = format!("/api/v1/maps/{name}/locate");
                let located: LocatedKey = client.post(&path, body).await?;
                output.print(&located, |located| format!("{}\n", located.shard))
            }
        }
    }
}

impl KeyShape {
    /// Returns the shape of a map.
    pub(super) fn of(map: &ShardMap) -> Self {
        Self {
            strategy: map.strategy,
            key: map.key.clone(),
            buckets: map.buckets,
        }
    }
}

/// Reads the version in force.
pub(super) async fn fetch(client: &Client, name: &str) -> Result<ShardMap, CliError> {
    client.get(&format!("/api/v1/maps/{name}")).await
}

/// Warns if a new map gives some keys to no shard. A list map contains only the listed keys, so there is no warning.
pub(super) fn warn_unowned(map: &ShardMap) {
    let Some(unowned) = map.unmapped() else {
        return;
    };
    if !unowned.is_empty() {
        report!("warning: no shard of map {} owns {unowned}", map.name);
        report!(
            "    an application cannot route these keys; `shardwright map assign {}` gives them an owner",
            map.name
        );
    }
}

/// Returns a map without mappings, with whose types keys can be parsed.
pub(super) fn empty_map(name: &str, shape: &KeyShape) -> ShardMap {
    ShardMap {
        name: MapName::from(name),
        strategy: shape.strategy,
        key: shape.key.clone(),
        buckets: shape.buckets,
        version: MapVersion(1),
        incarnation: String::new(),
        migration: None,
        settings: MapSettings::default(),
        mappings: Vec::new(),
    }
}

/// Creates mappings from `FROM..TO=SHARD` and `KEY=SHARD`.
fn mappings(
    shape: &KeyShape,
    ranges: &[(String, String)],
    keys: &[(String, String)],
) -> Result<Vec<NewMapping>, CliError> {
    let mut mappings = Vec::with_capacity(ranges.len() + keys.len());
    for (range, shard) in ranges {
        mappings.push(NewMapping {
            keys: shape.range(range)?,
            shard: ShardName::from(shard.as_str()),
        });
    }
    if !keys.is_empty() && shape.strategy != Strategy::List {
        return Err(CliError::Usage(format!(
            "--shard-of is for list maps; this map divides keys by {}",
            shape.strategy
        )));
    }
    for (key, shard) in keys {
        let key: Key = shape.key(key)?;
        mappings.push(NewMapping {
            keys: plans::key_set::KeySet::list([key]),
            shard: ShardName::from(shard.as_str()),
        });
    }
    Ok(mappings)
}
