//! `shardwright map`.

use super::client::Client;
use super::error::CliError;
use super::output::{Output, or_dash, table};
use crate::controller::{NewMap, NewMapping};
use crate::store::MapVersionRecord;
use clap::Subcommand;
use plans::id::{MapName, ShardName};
use plans::key_set::{Key, KeyRange, KeySet, KeyType};
use plans::shard_map::{Mapping, MappingState, ShardMap, Strategy};

/// Shard maps.
#[derive(Debug, Subcommand)]
pub(super) enum Map {
    /// Make version 1 of a map.
    Create {
        /// Its name.
        name: String,
        /// Type of the shard key.
        #[arg(long, default_value = "bigint", value_parser = ["bigint"])]
        key: String,
        /// Keys and their shard: FROM..TO=SHARD, either end may be missing (..=SHARD is all keys).
        #[arg(long = "range", required = true, value_parser = mapping, allow_hyphen_values = true)]
        ranges: Vec<NewMapping>,
        #[command(flatten)]
        output: Output,
    },
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
    /// Show every version.
    History {
        /// The map.
        name: String,
        #[command(flatten)]
        output: Output,
    },
}

impl Map {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        match self {
            Self::Create {
                name,
                key: _,
                ranges,
                output,
            } => {
                let new = NewMap {
                    name: MapName(name),
                    strategy: Strategy::Range,
                    key: vec![KeyType::Bigint],
                    mappings: ranges,
                };
                let body = super::output::json(&new)?;
                let made: ShardMap = client.post("/api/v1/maps", body).await?;
                output.print(&made, map_text)
            }
            Self::Show { name, output } => {
                let map: ShardMap = client.get(&format!("/api/v1/maps/{name}")).await?;
                output.print(&map, map_text)
            }
            Self::List { output } => {
                let maps: Vec<ShardMap> = client.get("/api/v1/maps").await?;
                output.print(&maps, |maps| {
                    let row = |map: &ShardMap| {
                        let mappings = map.mappings.len().to_string();
                        vec![map.name.to_string(), map.version.to_string(), mappings]
                    };
                    let rows: Vec<_> = maps.iter().map(row).collect();
                    table(&["NAME", "VERSION", "MAPPINGS"], &rows)
                })
            }
            Self::History { name, output } => {
                let path = format!("/api/v1/maps/{name}/versions");
                let history: Vec<MapVersionRecord> = client.get(&path).await?;
                output.print(&history, |history| history_text(history))
            }
        }
    }
}

fn map_text(map: &ShardMap) -> String {
    let state = |mapping: &Mapping| match mapping.state {
        MappingState::Active => "active".to_owned(),
        MappingState::Moving => "moving".to_owned(),
    };
    let row = |m: &Mapping| vec![m.keys.to_string(), m.shard.to_string(), state(m)];
    let rows: Vec<_> = map.mappings.iter().map(row).collect();
    let head = format!("map {} version {}\n", map.name, map.version);
    head + &table(&["KEYS", "SHARD", "STATE"], &rows)
}

fn history_text(history: &[MapVersionRecord]) -> String {
    let owners = |version: &MapVersionRecord| {
        let owners = version.mappings.iter();
        let owners: Vec<_> = owners.map(|m| format!("{} {}", m.keys, m.shard)).collect();
        owners.join(", ")
    };
    let row = |v: &MapVersionRecord| {
        let at = v
            .created_at
            .to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
        let migration = or_dash(v.migration.as_ref());
        vec![
            v.version.to_string(),
            at,
            v.by.clone(),
            migration,
            owners(v),
        ]
    };
    let rows: Vec<_> = history.iter().map(row).collect();
    table(&["VERSION", "AT", "BY", "MIGRATION", "MAPPINGS"], &rows)
}

/// `FROM..TO=SHARD`.
fn mapping(text: &str) -> Result<NewMapping, String> {
    let form = || format!("{text:?} is not of the form FROM..TO=SHARD");
    let (range, shard) = text.rsplit_once('=').ok_or_else(form)?;
    let (from, to) = range.split_once("..").ok_or_else(form)?;
    let bound = |text: &str| match text {
        "" => Ok(None),
        number => match number.parse() {
            Ok(value) => Ok(Some(Key::Int(value))),
            Err(_) => Err(format!("{number:?} is not a bigint")),
        },
    };
    let (from, to) = (bound(from)?, bound(to)?);
    Ok(NewMapping {
        keys: KeySet::Range(KeyRange { from, to }),
        shard: ShardName::from(shard),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_may_be_open_and_negative() {
        let keys = |text| mapping(text).unwrap().keys.to_string();
        assert_eq!(keys("-5..7=a"), "[-5, 7)");
        assert_eq!(keys("..=a"), "all keys");
        assert!(mapping("1..x=a").is_err());
        assert!(mapping("1-2=a").is_err());
    }
}
