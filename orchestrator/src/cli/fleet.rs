//! `shardwright fleet apply`: shards and maps as one file says they are.
//!
//! Order: read the file, read what there is, refuse what the controller would refuse, report what differs, then add and
//! change, shards before maps.
//! Each part is an order of its own that can be given again: after an error, so can the whole.
//! Absent: taking anything away that the file does not name, and keys that change hands, which is for plans.

mod differences;

use super::client::Client;
use super::consent::Consent;
use super::document::Document;
use super::error::CliError;
use super::output::{Output, Table, json};
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
    /// Add and change shards and maps until they are as a file says.
    Apply(Apply),
}

/// Add and change shards and maps until they are as a file says.
///
/// What the file does not name stays as it is. Keys never change hands here: that is for `shardwright plan`.
#[derive(Debug, Args)]
pub(super) struct Apply {
    /// The file in YAML or JSON: shards and maps, each as `shard add` and `map create` have them; `-` is stdin.
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

/// What makes one thing as the file has it.
#[derive(Debug)]
enum Change {
    None,
    AddShard(NewShard),
    SetShard(ShardChange),
    MakeMap(NewMap),
    /// Settings, as `map set` sends them.
    SetMap(Fields<String, Value>),
}

/// One thing of the file.
#[derive(Debug)]
struct Part {
    kind: &'static str,
    name: String,
    change: Change,
}

/// What became of it.
#[derive(Debug, Serialize)]
struct Done {
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

impl Apply {
    async fn run(self, client: &Client) -> Result<u8, CliError> {
        let text = Document::Fleet.read(&self.file)?;
        let wrong = |error: serde_saphyr::Error| {
            CliError::Usage(format!("{} cannot be read: {error}", self.file.display()))
        };
        let file: FleetFile = serde_saphyr::from_str(&text).map_err(wrong)?;
        // The same once more, for what is named in it.
        let named: Value = serde_saphyr::from_str(&text).map_err(wrong)?;
        let parts = differences::compare(client, file, &named).await?;
        let what: Vec<String> = parts.iter().filter_map(Part::told).collect();
        let what = match what.is_empty() {
            true => "Nothing: everything is as the file says.".to_owned(),
            false => what.join("\n"),
        };
        // What is new takes nothing from anybody; what is changed may.
        let goes_on = if parts.iter().any(|part| part.change.alters()) {
            self.consent.is_given(&what, "fleet")?
        } else {
            self.consent.dry().goes_on(&what)
        };
        if !goes_on {
            return Ok(0);
        }
        let mut done = Vec::with_capacity(parts.len());
        for part in parts {
            done.push(part.send(client).await?);
        }
        self.output.print(&done, |done| {
            let row = |done: &Done| {
                vec![
                    done.kind.to_owned(),
                    done.name.clone(),
                    done.done.to_owned(),
                ]
            };
            Table::new(&["KIND", "NAME", "DONE"], done.iter().map(row).collect())
        })
    }
}

impl Change {
    /// Whether it changes what is there.
    fn alters(&self) -> bool {
        matches!(self, Self::SetShard(_) | Self::SetMap(_))
    }
}

impl Part {
    /// What is to be done, for people; none where nothing is.
    fn told(&self) -> Option<String> {
        let (kind, name) = (self.kind, &self.name);
        match &self.change {
            Change::None => None,
            Change::AddShard(_) => Some(format!("Registers shard {name}.")),
            Change::MakeMap(_) => Some(format!("Makes version 1 of map {name}.")),
            Change::SetShard(change) => {
                let fields = differences::shard_fields(change).join(", ");
                Some(format!(
                    "Changes what is said about {kind} {name}: {fields}."
                ))
            }
            Change::SetMap(fields) => {
                let fields: Vec<&str> = fields.keys().map(String::as_str).collect();
                Some(format!(
                    "Changes settings of {kind} {name}: {}.",
                    fields.join(", ")
                ))
            }
        }
    }

    async fn send(self, client: &Client) -> Result<Done, CliError> {
        let name = &self.name;
        let done = match &self.change {
            Change::None => "unchanged",
            Change::AddShard(new) => {
                let _: ShardRecord = client.post("/api/v1/shards", json(new)?).await?;
                "added"
            }
            Change::SetShard(change) => {
                let path = format!("/api/v1/shards/{name}");
                let _: ShardRecord = client.patch(&path, json(change)?).await?;
                "changed"
            }
            Change::MakeMap(new) => {
                let _: ShardMap = client.post("/api/v1/maps", json(new)?).await?;
                "added"
            }
            Change::SetMap(fields) => {
                let path = format!("/api/v1/maps/{name}/settings");
                let _: MapSettings = client.patch(&path, json(fields)?).await?;
                "changed"
            }
        };
        Ok(Done {
            kind: self.kind,
            name: self.name,
            done,
        })
    }
}
