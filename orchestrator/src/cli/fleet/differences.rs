//! Compares a fleet file with the registered shards and maps, and returns what must change.

use super::{FleetChange, FleetFile, FleetPart};
use crate::cli::client::Client;
use crate::cli::error::CliError;
use crate::cli::keys::KeyShape;
use crate::cli::map::{empty_map, warn_unowned};
use crate::cli::out::report;
use crate::cli::preview::{self, KnownNames};
use crate::controller::{NewMap, ShardChange, check_shard_change};
use crate::store::{NewShard, ShardRecord};
use plans::id::ShardName;
use plans::shard_map::{DEFAULT_BUCKETS, MapSettings, Mapping, MappingState, ShardMap, Strategy};
use serde_json::{Map as Fields, Value};

/// Returns the change of each shard and map in the file. `fields` is the file without types, to find out which fields
/// it contains.
pub(super) async fn compare(
    client: &Client,
    file: FleetFile,
    fields: &Value,
) -> Result<Vec<FleetPart>, CliError> {
    let shards: Vec<ShardRecord> = client.get("/api/v1/shards").await?;
    let maps: Vec<ShardMap> = client.get("/api/v1/maps").await?;
    let mut names = KnownNames::of(&shards, &maps);
    let mut parts = Vec::with_capacity(file.shards.len() + file.maps.len());
    for (index, shard) in file.shards.into_iter().enumerate() {
        let known = shards.iter().find(|known| known.name == shard.name);
        parts.push(FleetPart {
            kind: "shard",
            name: shard.name.to_string(),
            change: match known {
                None => {
                    names.register(&shard)?;
                    FleetChange::AddShard(shard)
                }
                Some(known) => shard_change(known, &shard, &fields["shards"][index])?,
            },
        });
    }
    for (index, map) in file.maps.into_iter().enumerate() {
        let known = maps.iter().find(|known| known.name == map.name);
        parts.push(FleetPart {
            kind: "map",
            name: map.name.to_string(),
            change: match known {
                None => {
                    warn_unowned(&names.create(&map)?);
                    FleetChange::MakeMap(map)
                }
                Some(known) => map_change(known, map, &fields["maps"][index]["settings"])?,
            },
        });
    }
    Ok(parts)
}

/// Returns the change of a registered shard: the fields in the file whose values differ.
fn shard_change(
    known: &ShardRecord,
    wanted: &NewShard,
    fields: &Value,
) -> Result<FleetChange, CliError> {
    let labels = wanted.labels.iter();
    let labels = labels.filter(|(label, value)| known.labels.get(*label) != Some(*value));
    let is_in_file = |field: &str| fields.get(field).is_some();
    let change = ShardChange {
        labels: labels
            .map(|(label, value)| (label.clone(), Some(value.clone())))
            .collect(),
        capacity: (is_in_file("capacity") && known.capacity != wanted.capacity)
            .then_some(wanted.capacity),
        space: (is_in_file("space") && known.space != wanted.space)
            .then(|| wanted.space.unwrap_or(0)),
        dsn: (known.dsn != wanted.dsn).then(|| wanted.dsn.clone()),
        ..ShardChange::default()
    };
    check_shard_change(&known.name, &change)?;
    Ok(match change == ShardChange::default() {
        true => FleetChange::None,
        false => FleetChange::SetShard(change),
    })
}

/// Returns the names of the fields that change.
pub(super) fn shard_fields(change: &ShardChange) -> Vec<&'static str> {
    let fields = [
        (!change.labels.is_empty(), "labels"),
        (change.capacity.is_some(), "capacity"),
        (change.space.is_some(), "space"),
        (change.dsn.is_some(), "connection string"),
    ];
    let changed = fields.into_iter().filter(|(is_changed, _)| *is_changed);
    changed.map(|(_, field)| field).collect()
}

/// Returns the change of an existing map: the settings in the file whose values differ. If shards own other keys than
/// in the file, this is only reported; another strategy or another key is refused.
fn map_change(
    known: &ShardMap,
    wanted: NewMap,
    file_settings: &Value,
) -> Result<FleetChange, CliError> {
    let name = known.name.clone();
    let settings = wanted.settings.clone();
    let wanted = map_of_file(wanted)?;
    if (known.strategy, &known.key) != (wanted.strategy, &wanted.key) {
        return Err(CliError::Refused(format!(
            "map {name} divides keys by {} {}, the file by {} {}; the strategy and the key of a map cannot be changed",
            known.strategy,
            key_types(known),
            wanted.strategy,
            key_types(&wanted),
        )));
    }
    if known.buckets != wanted.buckets {
        return Err(CliError::Refused(format!(
            "map {name} has {} virtual shards, and {} in the file; `shardwright map buckets {name} {}` changes the map",
            known.buckets, wanted.buckets, wanted.buckets,
        )));
    }
    if has_other_owners(known, &wanted) {
        report!(
            "map {name}: the owners of keys differ from the file, and stay as in version {}; use `shardwright plan` to move keys",
            known.version
        );
    }
    let fields = |settings: &MapSettings| serde_json::to_value(settings).unwrap_or_default();
    let (present, wanted_fields) = (fields(&known.settings), fields(&settings));
    let named_fields = file_settings.as_object().into_iter().flatten();
    let change: Fields<String, Value> = named_fields
        .filter(|(field, _)| present.get(field) != wanted_fields.get(field))
        .map(|(field, value)| {
            (
                field.clone(),
                wanted_fields.get(field).unwrap_or(value).clone(),
            )
        })
        .collect();
    if change.is_empty() {
        return Ok(FleetChange::None);
    }
    preview::settings(known, &Value::Object(change.clone()))?;
    Ok(FleetChange::SetMap(change))
}

/// Returns the map that the file describes.
fn map_of_file(wanted: NewMap) -> Result<ShardMap, CliError> {
    let is_hash = wanted.strategy == Strategy::Hash;
    let shape = KeyShape {
        strategy: wanted.strategy,
        key: wanted.key,
        buckets: wanted
            .buckets
            .unwrap_or(if is_hash { DEFAULT_BUCKETS } else { 0 }),
    };
    let mut map = empty_map(wanted.name.as_str(), &shape);
    let mappings = wanted.mappings.into_iter();
    map.mappings = mappings
        .map(|new| Mapping {
            keys: new.keys,
            shard: new.shard,
            state: MappingState::Active,
        })
        .collect();
    map.validated()
        .map_err(|error| CliError::Usage(error.to_string()))
}

/// Returns whether some shard owns other keys in one map than in the other.
fn has_other_owners(a: &ShardMap, b: &ShardMap) -> bool {
    let shards: Vec<ShardName> = a.shards().into_iter().chain(b.shards()).collect();
    shards
        .iter()
        .any(|shard| a.owned_by(shard) != b.owned_by(shard))
}

/// Returns the types of the key's columns, separated by commas.
fn key_types(map: &ShardMap) -> String {
    let types: Vec<&str> = map.key.iter().map(|kind| kind.sql_name()).collect();
    types.join(",")
}
