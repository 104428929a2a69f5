//! The name of the column with the shard key, which stands beside ranges of keys.

use plans::key_set::KeySet;
use plans::shard_map::ShardMap;
use std::collections::BTreeMap;

/// The name for a key whose column the map does not know.
const UNNAMED: &str = "key";

/// Returns the key column of most tables of the map, as in `tenant_id`.
pub(super) fn key_column(map: &ShardMap) -> String {
    let mut numbers: BTreeMap<&[String], usize> = BTreeMap::new();
    for columns in map.settings.tables.values() {
        *numbers.entry(&columns.0).or_default() += 1;
    }
    let most = numbers.into_iter().rev().max_by_key(|(_, number)| *number);
    match most {
        Some(([column], _)) => column.clone(),
        Some((columns, _)) if !columns.is_empty() => format!("({})", columns.join(", ")),
        _ => UNNAMED.to_owned(),
    }
}

/// Returns keys with the name of their column, as in `tenant_id [501, ∞)`.
pub(super) fn named_keys(map: &ShardMap, keys: &KeySet) -> String {
    let text = keys.to_string();
    let has_bounds = text.starts_with(['[', '(']);
    match keys {
        KeySet::Range(_) if has_bounds => format!("{} {text}", key_column(map)),
        KeySet::Range(_) | KeySet::Hash(_) | KeySet::List(_) => text,
    }
}
