//! The settings of a map, which apply to all of its versions: tables, rules and sequences.

use super::shards::labels;
use askama::Template;
use plans::shard_map::{Effect, MapSettings, PlacementRule, Sequences, ShardMap};

/// The settings in force.
#[derive(Template)]
#[template(path = "map/settings.html")]
pub(super) struct MapSettingsView {
    name: String,
    tables: Vec<MapTableRow>,
    rules: Vec<MapRuleRow>,
    sequences: String,
    check: String,
}

struct MapTableRow {
    table: String,
    how: String,
}

struct MapRuleRow {
    name: String,
    effect: &'static str,
    keys: String,
    shards: String,
}

impl MapSettingsView {
    /// Returns the settings of `map`.
    pub(super) fn new(map: &ShardMap) -> Self {
        let settings = &map.settings;
        Self {
            name: map.name.to_string(),
            tables: tables(settings),
            rules: settings.rules.iter().map(rule).collect(),
            sequences: sequences(settings.sequences),
            check: settings.check_every.map_or_else(
                || "only on request".to_owned(),
                |seconds| format!("every {}", duration(seconds)),
            ),
        }
    }
}

fn tables(settings: &MapSettings) -> Vec<MapTableRow> {
    let row = |table: &String, how: String| MapTableRow {
        table: table.clone(),
        how,
    };
    let groups = settings.groups.iter().flat_map(|(group, tables)| {
        let row = move |table: &String| row(table, format!("group {group}"));
        tables.iter().map(row)
    });
    let keyed = settings.tables.iter();
    let keyed = keyed.map(|(table, columns)| row(table, format!("key {}", columns.0.join(", "))));
    let through = settings.through.iter();
    let through = through.map(|(table, of)| row(table, format!("rows of {}", of.parent)));
    let reference = settings.reference.iter();
    let reference = reference.map(|table| row(table, "same rows on every shard".to_owned()));
    let ignored = settings.ignore.iter();
    let ignored = ignored.map(|table| row(table, "ignored".to_owned()));
    groups
        .chain(keyed)
        .chain(through)
        .chain(reference)
        .chain(ignored)
        .collect()
}

fn rule(rule: &PlacementRule) -> MapRuleRow {
    let shard = rule.shard.iter().map(ToString::to_string);
    let shards: Vec<String> = shard.chain(labels(&rule.labels)).collect();
    MapRuleRow {
        name: rule.name.clone(),
        effect: match rule.effect {
            Effect::Pin => "only on",
            Effect::Exclude => "never on",
        },
        keys: rule
            .keys
            .as_ref()
            .map_or_else(|| "all keys".to_owned(), ToString::to_string),
        shards: shards.join(", "),
    }
}

fn sequences(sequences: Sequences) -> String {
    let text = match sequences {
        Sequences::Stride => {
            "stride: the values of each shard have another remainder when divided by 64"
        }
        Sequences::Block => "block: each shard issues values from its own block",
        Sequences::Keep => {
            "keep: Shardwright does not change sequences; the application must avoid duplicate values"
        }
    };
    text.to_owned()
}

fn duration(seconds: u32) -> String {
    humantime::format_duration(std::time::Duration::from_secs(seconds.into())).to_string()
}
