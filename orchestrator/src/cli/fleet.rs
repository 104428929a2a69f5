//! `shardwright fleet apply`: adds and changes shards and maps so that they are as a file describes them.
//!
//! The command reads the file and the present state, refuses what the controller would refuse, and prints the
//! differences. Then it adds and changes first shards, then maps. Each change is its own request that can be repeated,
//! so the command can be repeated after an error. It does not remove anything that the file does not name, and does not
//! move keys to another owner: this requires a plan.

mod differences;

use super::client::Client;
use super::consent::Consent;
use super::document::DocumentKind;
use super::error::CliError;
use super::output::{Output, TextTable, json};
use crate::controller::{NewMap, ShardChange};
use crate::store::{NewShard, ShardRecord};
use clap::{Args, Subcommand};
use plans::shard_map::{MapSettings, ShardMap};
use serde::{Deserialize, Serialize};
use serde_json::{Map as Fields, Value};
use std::path::PathBuf;

/// The whole fleet.
#[derive(Debug, Subcommand)]
pub(super) enum Fleet {
    /// Add and change shards and maps until they match a file.
    Apply(FleetApplyArgs),
}

/// Add and change shards and maps until they match a file.
///
/// What the file does not name stays unchanged. The command never gives keys to another shard; use `shardwright plan`
/// for this.
#[derive(Debug, Args)]
pub(super) struct FleetApplyArgs {
    /// The file in YAML or JSON: shards and maps, with the fields of `shard add` and `map create`; `-` is stdin.
    file: PathBuf,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FleetFile {
    shards: Vec<NewShard>,
    maps: Vec<NewMap>,
}

/// The request that makes a shard or a map as the file describes it.
#[derive(Debug)]
enum FleetChange {
    None,
    AddShard(NewShard),
    SetShard(ShardChange),
    MakeMap(NewMap),
    /// Changes settings of a map, as `map set` does.
    SetMap(Fields<String, Value>),
}

/// A shard or a map in the file.
#[derive(Debug)]
struct FleetPart {
    kind: &'static str,
    name: String,
    change: FleetChange,
}

/// The result for a shard or a map.
#[derive(Debug, Serialize)]
struct AppliedPart {
    kind: &'static str,
    name: String,
    done: &'static str,
}

impl Fleet {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        match self {
            Self::Apply(apply) => apply.run(client).await,
        }
    }
}

impl FleetApplyArgs {
    async fn run(self, client: &Client) -> Result<u8, CliError> {
        let text = DocumentKind::Fleet.read(&self.file)?;
        let parse_error = |error: serde_saphyr::Error| {
            CliError::Usage(format!("{} cannot be read: {error}", self.file.display()))
        };
        let file: FleetFile = serde_saphyr::from_str(&text).map_err(parse_error)?;
        // The file is parsed again without a type, to find out which fields it contains.
        let fields: Value = serde_saphyr::from_str(&text).map_err(parse_error)?;
        let parts = differences::compare(client, file, &fields).await?;
        let what: Vec<String> = parts.iter().filter_map(FleetPart::description).collect();
        let what = match what.is_empty() {
            true => "Nothing: shards and maps already match the file.".to_owned(),
            false => what.join("\n"),
        };
        // Only a change of something that exists requires a confirmation.
        let proceeds = if parts.iter().any(|part| part.change.changes_existing()) {
            self.consent.is_confirmed(&what, "fleet")?
        } else {
            self.consent.dry().proceed_or_print(&what)
        };
        if !proceeds {
            return Ok(0);
        }
        let mut done = Vec::with_capacity(parts.len());
        for part in parts {
            done.push(part.send(client).await?);
        }
        self.output.print(&done, |done| {
            let row = |done: &AppliedPart| {
                vec![
                    done.kind.to_owned(),
                    done.name.clone(),
                    done.done.to_owned(),
                ]
            };
            TextTable::new(&["KIND", "NAME", "DONE"], done.iter().map(row).collect())
        })
    }
}

impl FleetChange {
    /// Returns whether the request changes something that exists.
    fn changes_existing(&self) -> bool {
        matches!(self, Self::SetShard(_) | Self::SetMap(_))
    }
}

impl FleetPart {
    /// Returns a text for the change; `None` if nothing changes.
    fn description(&self) -> Option<String> {
        let (kind, name) = (self.kind, &self.name);
        match &self.change {
            FleetChange::None => None,
            FleetChange::AddShard(_) => Some(format!("Registers shard {name}.")),
            FleetChange::MakeMap(_) => Some(format!("Creates version 1 of map {name}.")),
            FleetChange::SetShard(change) => {
                let fields = differences::shard_fields(change).join(", ");
                Some(format!("Changes {kind} {name}: {fields}."))
            }
            FleetChange::SetMap(fields) => {
                let fields: Vec<&str> = fields.keys().map(String::as_str).collect();
                Some(format!(
                    "Changes settings of {kind} {name}: {}.",
                    fields.join(", ")
                ))
            }
        }
    }

    /// Sends the request, if there is one, and returns the result.
    async fn send(self, client: &Client) -> Result<AppliedPart, CliError> {
        let name = &self.name;
        let done = match &self.change {
            FleetChange::None => "unchanged",
            FleetChange::AddShard(new) => {
                let _: ShardRecord = client.post("/api/v1/shards", json(new)?).await?;
                "added"
            }
            FleetChange::SetShard(change) => {
                let path = format!("/api/v1/shards/{name}");
                let _: ShardRecord = client.patch(&path, json(change)?).await?;
                "changed"
            }
            FleetChange::MakeMap(new) => {
                let _: ShardMap = client.post("/api/v1/maps", json(new)?).await?;
                "added"
            }
            FleetChange::SetMap(fields) => {
                let path = format!("/api/v1/maps/{name}/settings");
                let _: MapSettings = client.patch(&path, json(fields)?).await?;
                "changed"
            }
        };
        Ok(AppliedPart {
            kind: self.kind,
            name: self.name,
            done,
        })
    }
}
