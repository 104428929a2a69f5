//! `map set`: what holds for every version of a map.

use super::create::tables;
use super::{fetch, text};
use crate::cli::client::Client;
use crate::cli::consent::DryRun;
use crate::cli::error::CliError;
use crate::cli::files::read;
use crate::cli::keys::{KeyShape, pair};
use crate::cli::output::Output;
use crate::cli::preview;
use clap::Args;
use plans::id::ShardName;
use plans::shard_map::{Effect, MapSettings, PlacementRule, ShardMap, ThroughRef};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Change settings; what is not named stays.
#[derive(Debug, Args)]
pub(in crate::cli) struct MapSetArgs {
    /// The map.
    name: String,
    /// Settings in YAML or JSON; each one that is named replaces what there is; `-` is stdin.
    file: Option<PathBuf>,
    /// A sharded table and its key column, or columns with commas between; may be given several times.
    #[arg(long = "table", value_name = "TABLE=COLUMN", value_parser = pair)]
    tables: Vec<(String, String)>,
    /// A table whose rows belong to rows of another one, by foreign key; may be given several times.
    #[arg(long, value_name = "TABLE=PARENT", value_parser = pair)]
    through: Vec<(String, String)>,
    /// A table with the same rows on every shard; may be given several times.
    #[arg(long, value_name = "TABLE")]
    reference: Vec<String>,
    /// A table that is left alone; may be given several times.
    #[arg(long, value_name = "TABLE")]
    ignore: Vec<String>,
    /// Remove the settings of a table; may be given several times.
    #[arg(long, value_name = "TABLE")]
    forget: Vec<String>,
    /// How shards avoid issuing the same sequence values.
    #[arg(long, value_parser = ["stride", "block", "keep"])]
    sequences: Option<String>,
    /// Keys that live only there: NAME=SHARD or NAME=label:value, and KEYS after an @ (all keys without);
    /// for example eu=region:eu@1..500.
    #[arg(long, value_name = "NAME=SHARDS[@KEYS]", allow_hyphen_values = true)]
    pin: Vec<String>,
    /// Keys that never live there, written like --pin.
    #[arg(long, value_name = "NAME=SHARDS[@KEYS]", allow_hyphen_values = true)]
    exclude: Vec<String>,
    /// Remove a pin or an exclusion; may be given several times.
    #[arg(long, value_name = "NAME")]
    drop_rule: Vec<String>,
    /// Check the map this often by itself, for example 1h; 0s: not at all.
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
        if !self.dry.goes_on(&what) {
            return Ok(0);
        }
        let path = format!("/api/v1/maps/{}/settings", self.name);
        let settings: MapSettings = client.patch(&path, change.to_string()).await?;
        self.output.print(&settings, text::settings)
    }

    /// The document of the API: each field that changes, as a whole.
    fn change(&self, map: &ShardMap) -> Result<Value, CliError> {
        let mut change = json!({});
        if let Some(file) = &self.file {
            change = serde_saphyr::from_str(&read(file)?).map_err(|error| {
                CliError::Usage(format!("the settings cannot be read: {error}"))
            })?;
        }
        let mut settings = map.settings.clone();
        let forgotten = |table: &String| self.forget.contains(table);
        settings.tables.extend(tables(&self.tables));
        settings.tables.retain(|table, _| !forgotten(table));
        let through = self.through.iter().map(|(table, parent)| {
            let columns = std::collections::BTreeMap::new();
            let parent = parent.clone();
            (table.clone(), ThroughRef { parent, columns })
        });
        settings.through.extend(through);
        settings.through.retain(|table, _| !forgotten(table));
        settings.reference.extend(self.reference.iter().cloned());
        settings.reference.retain(|table| !forgotten(table));
        settings.ignore.extend(self.ignore.iter().cloned());
        settings.ignore.retain(|table| !forgotten(table));
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
        let mut put = |field: &str, value: Value, is_named: bool| {
            if is_named {
                change[field] = value;
            }
        };
        let some = |named: &[bool]| named.iter().any(|named| *named);
        let forgets = !self.forget.is_empty();
        put(
            "tables",
            json!(settings.tables),
            some(&[!self.tables.is_empty(), forgets]),
        );
        put(
            "through",
            json!(settings.through),
            some(&[!self.through.is_empty(), forgets]),
        );
        put(
            "reference",
            json!(settings.reference),
            some(&[!self.reference.is_empty(), forgets]),
        );
        put(
            "ignore",
            json!(settings.ignore),
            some(&[!self.ignore.is_empty(), forgets]),
        );
        let rules = [
            !self.pin.is_empty(),
            !self.exclude.is_empty(),
            !self.drop_rule.is_empty(),
        ];
        put("rules", json!(settings.rules), some(&rules));
        put("sequences", json!(self.sequences), self.sequences.is_some());
        let seconds = self.check_every.map(|every| every.as_secs());
        let every = seconds.filter(|seconds| *seconds > 0);
        put("check_every", json!(every), seconds.is_some());
        Ok(change)
    }
}

/// `NAME=SHARD[@KEYS]` or `NAME=label:value,label:value[@KEYS]`.
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
    let labels = shards.contains(':');
    let pairs = shards.split(',').filter(|_| labels);
    let label = |pair: &str| {
        let (label, value) = pair.split_once(':').ok_or_else(form)?;
        Ok((label.to_owned(), value.to_owned()))
    };
    Ok(PlacementRule {
        name: name.to_owned(),
        effect,
        keys: keys.transpose()?,
        shard: (!labels).then(|| ShardName::from(shards)),
        labels: pairs.map(label).collect::<Result<_, CliError>>()?,
    })
}
