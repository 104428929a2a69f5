//! `map diff`, `map export` and `map revert`.

use super::{fetch, text};
use crate::cli::client::Client;
use crate::cli::error::CliError;
use crate::cli::files::{write_or_print, yaml};
use crate::cli::out::say;
use crate::cli::output::Output;
use clap::{Args, ValueEnum};
use plans::shard_map::{Difference, ExportForm, ShardMap, export};
use std::path::PathBuf;

/// Show what changed from one version to another.
#[derive(Debug, Args)]
pub(in crate::cli) struct Diff {
    /// The map.
    name: String,
    /// The earlier version.
    from: i64,
    /// The later version; without it the one in force.
    to: Option<i64>,
    #[command(flatten)]
    output: Output,
}

/// Write the mappings as a file.
#[derive(Debug, Args)]
pub(in crate::cli) struct Export {
    /// The map.
    name: String,
    /// An earlier version.
    #[arg(long)]
    version: Option<i64>,
    /// What to write: csv and json can be imported, sql makes a table and a function.
    #[arg(long, value_enum, default_value = "json")]
    format: FileForm,
    /// Write to this file.
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Make the request that leads back to an earlier version.
#[derive(Debug, Args)]
pub(in crate::cli) struct Revert {
    /// The map.
    name: String,
    /// The version whose owners shall own their keys again.
    version: i64,
    /// Write the request to this file; `shardwright plan` takes it.
    #[arg(short = 'o', long = "out", value_name = "REQUEST")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FileForm {
    Csv,
    Json,
    Sql,
}

impl Diff {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let to = match self.to {
            Some(to) => to,
            None => fetch(client, &self.name).await?.version.0,
        };
        let path = format!("/api/v1/maps/{}/diff?from={}&to={to}", self.name, self.from);
        let differences: Vec<Difference> = client.get(&path).await?;
        self.output
            .print(&differences, |differences| text::differences(differences))
    }
}

impl Export {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let map = match self.version {
            Some(version) => at(client, &self.name, version).await?,
            None => fetch(client, &self.name).await?,
        };
        let form = match self.format {
            FileForm::Csv => ExportForm::Csv,
            FileForm::Json => ExportForm::Json,
            FileForm::Sql => ExportForm::Sql,
        };
        write_or_print(self.out.as_deref(), &export(&map, form))?;
        Ok(0)
    }
}

impl Revert {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let current = fetch(client, &self.name).await?;
        let earlier = at(client, &self.name, self.version).await?;
        let request = plans::planner::revert(&current, &earlier)
            .map_err(|error| CliError::Refused(error.to_string()))?;
        write_or_print(self.out.as_deref(), &yaml(&request)?)?;
        if let Some(path) = &self.out {
            say!("plan it with: shardwright plan {}", path.display());
        }
        Ok(0)
    }
}

async fn at(client: &Client, name: &str, version: i64) -> Result<ShardMap, CliError> {
    client
        .get(&format!("/api/v1/maps/{name}/versions/{version}"))
        .await
}
