//! Maps as text for people.

use crate::cli::output::{TextTable, or_dash, table};
use crate::store::MapVersionRecord;
use plans::shard_map::{
    Difference, Effect, KeyedBy, MapSettings, Mapping, MappingState, PlacementRule, ShardMap,
    Strategy,
};

/// Returns the mappings and settings of a map.
pub(super) fn map(map: &ShardMap) -> String {
    let state = |mapping: &Mapping| match mapping.state {
        MappingState::Active => "active".to_owned(),
        MappingState::Moving => "moving".to_owned(),
    };
    let row = |m: &Mapping| vec![m.keys.to_string(), m.shard.to_string(), state(m)];
    let rows: Vec<_> = map.mappings.iter().map(row).collect();
    let kinds: Vec<_> = map.key.iter().map(|kind| kind.sql_name()).collect();
    let buckets = match map.strategy {
        Strategy::Hash => format!(", {} virtual shards", map.buckets),
        Strategy::Range | Strategy::List => String::new(),
    };
    let of = match map.settings.keyed_by {
        KeyedBy::Column => kinds.join(", "),
        KeyedBy::Schema => "schemas".to_owned(),
        KeyedBy::Group => "groups of tables".to_owned(),
    };
    let head = format!(
        "map {} version {}: {} of {of}{buckets}\n",
        map.name, map.version, map.strategy
    );
    head + &table(&["KEYS", "SHARD", "STATE"], &rows) + &settings(&map.settings)
}

/// Returns the tables and rules; an empty text if there are none.
pub(super) fn settings(settings: &MapSettings) -> String {
    let mut text = String::new();
    let groups = settings.groups.iter().flat_map(|(group, tables)| {
        let row = move |table: &String| vec![table.clone(), format!("group {group}")];
        tables.iter().map(row)
    });
    let keyed = settings
        .tables
        .iter()
        .map(|(table, columns)| vec![table.clone(), format!("key {}", columns.0.join(", "))]);
    let rows: Vec<Vec<String>> = groups
        .chain(keyed)
        .chain(
            settings
                .through
                .iter()
                .map(|(table, through)| vec![table.clone(), format!("through {}", through.parent)]),
        )
        .chain(
            settings
                .reference
                .iter()
                .map(|table| vec![table.clone(), "reference".to_owned()]),
        )
        .chain(
            settings
                .ignore
                .iter()
                .map(|table| vec![table.clone(), "ignored".to_owned()]),
        )
        .collect();
    if !rows.is_empty() {
        text += "\n";
        text += &table(&["TABLE", ""], &rows);
    }
    let rules: Vec<_> = settings.rules.iter().map(rule).collect();
    if !rules.is_empty() {
        text += "\n";
        text += &table(&["RULE", "", "KEYS", "SHARDS"], &rules);
    }
    text
}

fn rule(rule: &PlacementRule) -> Vec<String> {
    let effect = match rule.effect {
        Effect::Pin => "only on",
        Effect::Exclude => "never on",
    };
    let labels = rule
        .labels
        .iter()
        .map(|(label, value)| format!("{label}={value}"));
    let shards: Vec<String> = rule
        .shard
        .iter()
        .map(ToString::to_string)
        .chain(labels)
        .collect();
    let keys = rule
        .keys
        .as_ref()
        .map_or_else(|| "all keys".to_owned(), ToString::to_string);
    vec![rule.name.clone(), effect.to_owned(), keys, shards.join(",")]
}

/// Returns the strategy, or what a list map lists as a whole.
fn kind(map: &ShardMap) -> String {
    match map.settings.keyed_by {
        KeyedBy::Column => map.strategy.to_string(),
        KeyedBy::Schema | KeyedBy::Group => map.settings.keyed_by.name().to_owned(),
    }
}

/// Returns the number of listed tables; a schema map lists none.
fn table_count(settings: &MapSettings) -> String {
    let grouped: usize = settings.groups.values().map(Vec::len).sum();
    match settings.keyed_by {
        KeyedBy::Schema => "-".to_owned(),
        KeyedBy::Column | KeyedBy::Group => (settings.tables.len() + grouped).to_string(),
    }
}

/// Returns a table with a line for each map.
pub(super) fn maps(maps: &[ShardMap]) -> TextTable {
    let row = |map: &ShardMap| {
        vec![
            map.name.to_string(),
            map.version.to_string(),
            kind(map),
            map.mappings.len().to_string(),
            map.shards().len().to_string(),
            table_count(&map.settings),
            or_dash(map.migration.as_ref()),
        ]
    };
    let head = [
        "NAME", "VERSION", "STRATEGY", "MAPPINGS", "SHARDS", "TABLES", "MADE BY",
    ];
    TextTable::new(&head, maps.iter().map(row).collect()).wide(2)
}

/// Returns a table with a line for each version.
pub(super) fn history(history: &[MapVersionRecord]) -> TextTable {
    let row = |v: &MapVersionRecord| {
        let at = v
            .created_at
            .to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
        vec![
            v.version.to_string(),
            at,
            v.by.clone(),
            or_dash(v.migration.as_ref()),
            v.pieces.to_string(),
            format!("+{} -{}", v.added, v.removed),
        ]
    };
    let head = ["VERSION", "AT", "BY", "MIGRATION", "PIECES", "CHANGED"];
    TextTable::new(&head, history.iter().map(row).collect())
}

/// Returns a table with a line for each pair of old and new owner.
pub(super) fn differences(differences: &[Difference]) -> TextTable {
    let owner = |shard: Option<&plans::id::ShardName>| {
        shard.map_or_else(|| "no shard".to_owned(), ToString::to_string)
    };
    let row = |d: &Difference| {
        vec![
            d.keys.to_string(),
            owner(d.from.as_ref()),
            owner(d.to.as_ref()),
        ]
    };
    TextTable::new(
        &["KEYS", "FROM", "TO"],
        differences.iter().map(row).collect(),
    )
}
