//! What of a fleet file is not so yet.

use super::{FleetChange, FleetFile, FleetPart};
use crate::cli::client::Client;
use crate::cli::error::CliError;
use crate::cli::keys::KeyShape;
use crate::cli::map::{blank, warn_unowned};
use crate::cli::out::report;
use crate::cli::preview::{self, KnownNames};
use crate::controller::{NewMap, ShardChange, check_shard_change};
use crate::store::{NewShard, ShardRecord};
use plans::id::ShardName;
use plans::shard_map::{DEFAULT_BUCKETS, MapSettings, Mapping, MappingState, ShardMap, Strategy};
use serde_json::{Map as Fields, Value};

/// What differs, thing by thing.
pub(super) async fn compare(
    client: &Client,
    file: FleetFile,
    named: &Value,
) -> Result<Vec<FleetPart>, CliError> {
    let shards: Vec<ShardRecord> = client.get("/api/v1/shards").await?;
    let maps: Vec<ShardMap> = client.get("/api/v1/maps").await?;
    let mut names = KnownNames::of(&shards, &maps);
    let mut parts = Vec::with_capacity(file.shards.len() + file.maps.len());
    for (place, shard) in file.shards.into_iter().enumerate() {
        let known = shards.iter().find(|known| known.name == shard.name);
        parts.push(FleetPart {
            kind: "shard",
            name: shard.name.to_string(),
            change: match known {
                None => {
                    names.register(&shard)?;
                    FleetChange::AddShard(shard)
                }
                Some(known) => shard_change(known, &shard, &named["shards"][place])?,
            },
        });
    }
    for (place, map) in file.maps.into_iter().enumerate() {
        let known = maps.iter().find(|known| known.name == map.name);
        parts.push(FleetPart {
            kind: "map",
            name: map.name.to_string(),
            change: match known {
                None => {
                    warn_unowned(&names.create(&map)?);
                    FleetChange::MakeMap(map)
                }
                Some(known) => map_change(known, map, &named["maps"][place]["settings"])?,
            },
        });
    }
    Ok(parts)
}

/// What the file names and has otherwise.
fn shard_change(
    known: &ShardRecord,
    wanted: &NewShard,
    named: &Value,
) -> Result<FleetChange, CliError> {
    let labels = wanted.labels.iter();
    let labels = labels.filter(|(label, value)| known.labels.get(*label) != Some(*value));
    let is_named = |field: &str| named.get(field).is_some();
    let change = ShardChange {
        labels: labels
            .map(|(label, value)| (label.clone(), Some(value.clone())))
            .collect(),
        capacity: (is_named("capacity") && known.capacity != wanted.capacity)
            .then_some(wanted.capacity),
        space: (is_named("space") && known.space != wanted.space)
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

/// The fields that change, by name.
pub(super) fn shard_fields(change: &ShardChange) -> Vec<&'static str> {
    let fields = [
        (!change.labels.is_empty(), "labels"),
        (change.capacity.is_some(), "capacity"),
        (change.space.is_some(), "space"),
        (change.dsn.is_some(), "connection string"),
    ];
    let named = fields.into_iter().filter(|(changes, _)| *changes);
    named.map(|(_, field)| field).collect()
}

/// The settings that the file names and has otherwise; what else differs is reported, or refused.
fn map_change(known: &ShardMap, wanted: NewMap, named: &Value) -> Result<FleetChange, CliError> {
    let name = known.name.clone();
    let settings = wanted.settings.clone();
    let wanted = drawn(wanted)?;
    if (known.strategy, &known.key, known.buckets) != (wanted.strategy, &wanted.key, wanted.buckets)
    {
        return Err(CliError::Refused(format!(
            "map {name} divides keys in another way than the file, and a map's kind, key and virtual shards stay: {} {} {}, not {} {} {}",
            known.strategy,
            listed(known),
            known.buckets,
            wanted.strategy,
            listed(&wanted),
            wanted.buckets,
        )));
    }
    if differs(known, &wanted) {
        report!(
            "map {name}: other shards own keys than in the file; version {} stays in force, and keys change their owner by `shardwright plan`",
            known.version
        );
    }
    let fields = |settings: &MapSettings| serde_json::to_value(settings).unwrap_or_default();
    let (is, should) = (fields(&known.settings), fields(&settings));
    let named = named.as_object().into_iter().flatten();
    let change: Fields<String, Value> = named
        .filter(|(field, _)| is.get(field) != should.get(field))
        .map(|(field, value)| (field.clone(), should.get(field).unwrap_or(value).clone()))
        .collect();
    if change.is_empty() {
        return Ok(FleetChange::None);
    }
    preview::settings(known, &Value::Object(change.clone()))?;
    Ok(FleetChange::SetMap(change))
}

/// The map that the file would make.
fn drawn(wanted: NewMap) -> Result<ShardMap, CliError> {
    let hash = wanted.strategy == Strategy::Hash;
    let shape = KeyShape {
        strategy: wanted.strategy,
        key: wanted.key,
        buckets: wanted
            .buckets
            .unwrap_or(if hash { DEFAULT_BUCKETS } else { 0 }),
    };
    let mut map = blank(wanted.name.as_str(), &shape);
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

/// Whether some shard owns other keys in one than in the other.
fn differs(one: &ShardMap, other: &ShardMap) -> bool {
    let shards: Vec<ShardName> = one.shards().into_iter().chain(other.shards()).collect();
    shards
        .iter()
        .any(|shard| one.owned_by(shard) != other.owned_by(shard))
}

fn listed(map: &ShardMap) -> String {
    let types: Vec<&str> = map.key.iter().map(|kind| kind.sql_name()).collect();
    types.join(",")
}
