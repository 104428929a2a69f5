//! `map set`: changes the settings of a map, which apply to all of its versions.

use super::create::tables;
use super::{fetch, text};
use crate::cli::client::Client;
use crate::cli::consent::DryRun;
use crate::cli::error::CliError;
use crate::cli::files::read;
use crate::cli::keys::{KeyShape, groups, pair};
use crate::cli::output::Output;
use crate::cli::preview;
use clap::Args;
use plans::id::ShardName;
use plans::shard_map::{Effect, MapSettings, PlacementRule, ShardMap, ThroughRef};
use plans::table::TableName;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Change settings of a map. Settings that are not named stay unchanged.
#[derive(Debug, Args)]
pub(in crate::cli) struct MapSetArgs {
    /// The map.
    name: String,
    /// A file with settings in YAML or JSON; each setting in it replaces the present one; `-` is stdin.
    file: Option<PathBuf>,
    /// A sharded table and its key column, or columns separated by commas; may be given several times.
    #[arg(long = "table", value_name = "TABLE=COLUMN", value_parser = pair)]
    tables: Vec<(String, String)>,
    /// A group of whole tables and tables that it gets, also from other groups; may be given several times.
    #[arg(long = "group", value_name = "GROUP=TABLE,TABLE", value_parser = pair)]
    groups: Vec<(String, String)>,
    /// A table without the shard key, whose rows belong to rows of another table by a foreign key; may be given several
    /// times.
    #[arg(long, value_name = "TABLE=PARENT", value_parser = pair)]
    through: Vec<(String, String)>,
    /// A table with the same rows on every shard; may be given several times.
    #[arg(long, value_name = "TABLE")]
    reference: Vec<String>,
    /// A table that Shardwright ignores; may be given several times.
    #[arg(long, value_name = "TABLE")]
    ignore: Vec<String>,
    /// Remove the settings of a table; may be given several times.
    #[arg(long, value_name = "TABLE")]
    forget: Vec<String>,
    /// How shards avoid issuing the same sequence values.
    #[arg(long, value_parser = ["stride", "block", "keep"])]
    sequences: Option<String>,
    /// A rule NAME: the keys may be only on these shards. NAME=SHARD or NAME=label:value, then @KEYS (by default all
    /// keys); for example eu=region:eu@1..500.
    #[arg(long, value_name = "NAME=SHARDS[@KEYS]", allow_hyphen_values = true)]
    pin: Vec<String>,
    /// A rule: the keys must never be on these shards. The syntax is that of --pin.
    #[arg(long, value_name = "NAME=SHARDS[@KEYS]", allow_hyphen_values = true)]
    exclude: Vec<String>,
    /// Remove a rule; may be given several times.
    #[arg(long, value_name = "NAME")]
    drop_rule: Vec<String>,
    /// How often the controller checks the map by itself, for example 1h; 0s: never.
    #[arg(long, value_parser = humantime::parse_duration)]
    check_every: Option<std::time::Duration>,
    #[command(flatten)]
    dry: DryRun,
    #[command(flatten)]
    output: Output,
}

impl MapSetArgs {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let map = fetch(client, &self.name).await?;
        let change = self.change(&map)?;
        let what = format!("Changes settings of map {}: {change}", self.name);
        if self.dry.is_dry() {
            preview::settings(&map, &change)?;
        }
        if !self.dry.proceed_or_print(&what) {
            return Ok(0);
        }
        let path = format!("/api/v1/maps/{}/settings", self.name);
        let settings: MapSettings = client.patch(&path, change.to_string()).await?;
        self.output.print(&settings, text::settings)
    }

    /// Adds the tables of the options to the lists, and removes the forgotten ones.
    fn edit_lists(&self, settings: &mut MapSettings) {
        let is_forgotten = |table: &String| self.forget.contains(table);
        for (group, added) in groups(&self.groups) {
            let names: BTreeSet<TableName> =
                added.iter().map(|table| TableName::parse(table)).collect();
            for tables in settings.groups.values_mut() {
                tables.retain(|table| !names.contains(&TableName::parse(table)));
            }
            settings.groups.entry(group).or_default().extend(added);
        }
        for tables in settings.groups.values_mut() {
            tables.retain(|table| !is_forgotten(table));
        }
        settings.tables.extend(tables(&self.tables));
        settings.tables.retain(|table, _| !is_forgotten(table));
        let through = self.through.iter().map(|(table, parent)| {
            let columns = BTreeMap::new();
            let parent = parent.clone();
            (table.clone(), ThroughRef { parent, columns })
        });
        settings.through.extend(through);
        settings.through.retain(|table, _| !is_forgotten(table));
        settings.reference.extend(self.reference.iter().cloned());
        settings.reference.retain(|table| !is_forgotten(table));
        settings.ignore.extend(self.ignore.iter().cloned());
        settings.ignore.retain(|table| !is_forgotten(table));
    }

    /// Returns the request body: each setting that changes, with its complete new value.
    fn change(&self, map: &ShardMap) -> Result<Value, CliError> {
        let mut change = json!({});
        if let Some(file) = &self.file {
            change = serde_saphyr::from_str(&read(file)?).map_err(|error| {
                CliError::Usage(format!("the settings cannot be read: {error}"))
            })?;
        }
        let mut settings = map.settings.clone();
        self.edit_lists(&mut settings);
        let pins = self.pin.iter().map(|text| (text, Effect::Pin));
        let excludes = self.exclude.iter().map(|text| (text, Effect::Exclude));
        for (text, effect) in pins.chain(excludes) {
            let rule = rule(text, effect, map)?;
            settings.rules.retain(|known| known.name != rule.name);
            settings.rules.push(rule);
        }
        settings
            .rules
            .retain(|rule| !self.drop_rule.contains(&rule.name));
        let mut set = |field: &str, value: Value, is_changed: bool| {
            if is_changed {
                change[field] = value;
            }
        };
        let any = |conditions: &[bool]| conditions.iter().any(|condition| *condition);
        let forgets = !self.forget.is_empty();
        let has_groups = !settings.groups.is_empty();
        set(
            "groups",
            json!(settings.groups),
            any(&[!self.groups.is_empty(), forgets && has_groups]),
        );
        set(
            "tables",
            json!(settings.tables),
            any(&[!self.tables.is_empty(), forgets]),
        );
        set(
            "through",
            json!(settings.through),
            any(&[!self.through.is_empty(), forgets]),
        );
        set(
            "reference",
            json!(settings.reference),
            any(&[!self.reference.is_empty(), forgets]),
        );
        set(
            "ignore",
            json!(settings.ignore),
            any(&[!self.ignore.is_empty(), forgets]),
        );
        let rules = [
            !self.pin.is_empty(),
            !self.exclude.is_empty(),
            !self.drop_rule.is_empty(),
        ];
        set("rules", json!(settings.rules), any(&rules));
        set("sequences", json!(self.sequences), self.sequences.is_some());
        let seconds = self.check_every.map(|every| every.as_secs());
        let every = seconds.filter(|seconds| *seconds > 0);
        set("check_every", json!(every), seconds.is_some());
        Ok(change)
    }
}

/// Parses a rule: `NAME=SHARD[@KEYS]` or `NAME=label:value,label:value[@KEYS]`.
fn rule(text: &str, effect: Effect, map: &ShardMap) -> Result<PlacementRule, CliError> {
    let form = || CliError::Usage(format!("{text:?} is not of the form NAME=SHARDS[@KEYS]"));
    let (name, rest) = text.split_once('=').ok_or_else(form)?;
    let (shards, keys) = match rest.split_once('@') {
        Some((shards, keys)) => (shards, Some(keys)),
        None => (rest, None),
    };
    if name.is_empty() || shards.is_empty() {
        return Err(form());
    }
    let keys = keys.map(|keys| {
        let selection = KeyShape::of(map).selection(keys)?;
        selection
            .resolve(map)
            .map_err(|error| CliError::Usage(error.to_string()))
    });
    let has_labels = shards.contains(':');
    let pairs = shards.split(',').filter(|_| has_labels);
    let label = |pair: &str| {
        let (label, value) = pair.split_once(':').ok_or_else(form)?;
        Ok((label.to_owned(), value.to_owned()))
    };
    Ok(PlacementRule {
        name: name.to_owned(),
        effect,
        keys: keys.transpose()?,
        shard: (!has_labels).then(|| ShardName::from(shards)),
        labels: pairs.map(label).collect::<Result<_, CliError>>()?,
    })
}
