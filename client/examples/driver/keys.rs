//! The requests that need no connection: keys, sets and maps.

use crate::failure::Failure;
use crate::values::key_of;
use client::{Key, KeySet, RouteError, Routes, ShardMap};
use plans::key::{KeyType, accept};
use plans::key_set::bucket_of;
use serde::Deserialize;
use serde_json::{Map as Object, Value, json};
use std::time::Instant;

#[derive(Deserialize)]
pub(crate) struct Keys {
    types: Vec<KeyType>,
    values: Vec<Value>,
    #[serde(default)]
    of: Vec<u32>,
}

#[derive(Deserialize)]
pub(crate) struct Sets {
    types: Vec<KeyType>,
    sets: Vec<KeySet>,
    keys: Vec<Value>,
    columns: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct Lookups {
    text: String,
    keys: Vec<Value>,
    columns: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct Measurement {
    path: String,
    keys: Vec<Value>,
}

pub(crate) fn keys(request: Keys) -> Result<Value, Failure> {
    let described = |value: &Value| match accepted(&request.types, value) {
        Err(_) => json!({"error": "not_a_key"}),
        Ok(key) => {
            let texts: Vec<String> = key.values().iter().map(Key::text).collect();
            let buckets: Vec<u32> = request.of.iter().map(|of| bucket_of(&key, *of)).collect();
            let hash = key.hash64().cast_signed().to_string();
            json!({"texts": texts, "hash": hash, "buckets": buckets})
        }
    };
    Ok(request.values.iter().map(described).collect())
}

pub(crate) fn sort(request: Keys) -> Result<Value, Failure> {
    let keys = all_accepted(&request.types, &request.values)?;
    let mut positions: Vec<usize> = (0..keys.len()).collect();
    positions.sort_by_key(|at| &keys[*at]);
    Ok(json!(positions))
}

pub(crate) fn sets(request: Sets) -> Result<Value, Failure> {
    let keys = all_accepted(&request.types, &request.keys)?;
    let columns: Vec<(String, KeyType)> = request
        .columns
        .into_iter()
        .zip(request.types.clone())
        .collect();
    let described = |set: &KeySet| {
        let members: Vec<usize> = (0..keys.len())
            .filter(|at| set.contains(&keys[*at]))
            .collect();
        json!({"members": members, "predicate": set.predicate(&columns)})
    };
    Ok(request.sets.iter().map(described).collect())
}

pub(crate) fn routes(request: Lookups) -> Result<Value, Failure> {
    let routes = routes_of(&request.text)?;
    let shard_of = |key: &Value| match routes.shard_for(value_of(key)?) {
        Ok(shard) => Ok(json!(shard)),
        Err(RouteError::Unmapped { .. }) => Ok(Value::Null),
        Err(error) => Err(Failure::from(error)),
    };
    let shards: Value = request
        .keys
        .iter()
        .map(shard_of)
        .collect::<Result<_, _>>()?;
    let map = routes.map();
    let columns: Vec<(String, KeyType)> =
        request.columns.into_iter().zip(map.key.clone()).collect();
    let predicates: Object<String, Value> = map
        .shards()
        .iter()
        .map(|shard| {
            (
                shard.to_string(),
                json!(map.owned_by(shard).predicate(&columns)),
            )
        })
        .collect();
    Ok(json!({"shards": shards, "predicates": predicates}))
}

pub(crate) fn measure(request: Measurement) -> Result<Value, Failure> {
    let text = std::fs::read_to_string(request.path).unwrap();
    let keys: Vec<Key> = request
        .keys
        .iter()
        .map(value_of)
        .collect::<Result<_, _>>()?;
    let before = resident_mib();
    let begun = Instant::now();
    let routes = routes_of(&text)?;
    let loaded = Instant::now();
    let shards = keys.iter().map(|key| routes.shard_for(key));
    let shards: Vec<_> = shards.collect::<Result<_, _>>()?;
    let took = loaded.elapsed();
    Ok(json!({
        "shards": shards,
        "load_seconds": (loaded - begun).as_secs_f64(),
        "lookup_micros": took.as_secs_f64() * 1e6 / f64::from(u32::try_from(keys.len()).unwrap()),
        "memory_mib": resident_mib() - before,
    }))
}

/// Returns the key that an application would pass.
pub(crate) fn value_of(value: &Value) -> Result<Key, Failure> {
    key_of(value).ok_or_else(|| not_a_key(value))
}

fn routes_of(text: &str) -> Result<Routes, Failure> {
    let map: ShardMap =
        serde_json::from_str(text).map_err(|error| Failure::new("map", error.to_string()))?;
    Routes::new(map).map_err(|error| Failure::new("map", error.to_string()))
}

fn accepted(types: &[KeyType], value: &Value) -> Result<Key, Failure> {
    accept(types, &value_of(value)?).map_err(not_a_key)
}

fn all_accepted(types: &[KeyType], values: &[Value]) -> Result<Vec<Key>, Failure> {
    values.iter().map(|value| accepted(types, value)).collect()
}

fn not_a_key(what: impl ToString) -> Failure {
    Failure::new("not_a_key", what.to_string())
}

/// Returns the resident memory of this process.
fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: u32 = line.unwrap().trim_end_matches("kB").trim().parse().unwrap();
    f64::from(kib) / 1024.0
}
