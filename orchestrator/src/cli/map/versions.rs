//! `map diff`, `map export` and `map revert`.

use super::{fetch, text};
use crate::cli::client::Client;
use crate::cli::error::CliError;
use crate::cli::files::{replace, write_or_print, yaml};
use crate::cli::keys::named_dsns;
use crate::cli::out::{print, report};
use crate::cli::output::Output;
use crate::store::ShardRecord;
use clap::{Args, ValueEnum};
use connect::Dsn;
use plans::id::ShardName;
use plans::shard_map::{Difference, ExportForm, Router, ShardAddress, ShardMap, export, route};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Show what changed from one version to another.
#[derive(Debug, Args)]
pub(in crate::cli) struct Diff {
    /// The map.
    name: String,
    /// The earlier version.
    from: i64,
    /// The later version; by default the version in force.
    to: Option<i64>,
    #[command(flatten)]
    output: Output,
}

/// Write the mappings as a file.
#[derive(Debug, Args)]
pub(in crate::cli) struct Export {
    /// The map.
    name: String,
    /// The version to write; by default the version in force.
    #[arg(long)]
    version: Option<i64>,
    /// The format: csv and json can be imported again; sql creates a table and a function; the others are configuration
    /// files of poolers and routers.
    #[arg(long, value_enum, default_value = "json")]
    format: ExportFileForm,
    /// The address at which a pooler reaches a shard, if it is not that of the agents: SHARD=host=… port=… dbname=…;
    /// may be given several times.
    #[arg(long = "place", value_name = "SHARD=DSN")]
    places: Vec<String>,
    /// Write to this file.
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Create the request that restores the owners of an earlier version.
#[derive(Debug, Args)]
pub(in crate::cli) struct Revert {
    /// The map.
    name: String,
    /// The version whose owners are restored.
    version: i64,
    /// Write the request to this file, for `shardwright plan`.
    #[arg(short = 'o', long = "out", value_name = "REQUEST")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFileForm {
    Csv,
    Json,
    Sql,
    /// The section [databases] of PgBouncer, to be included in its configuration file.
    Pgbouncer,
    /// Databases, tables and mappings of pgdog.
    Pgdog,
    /// A connection service file of libpq.
    Service,
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
            Some(version) => fetch_version(client, &self.name, version).await?,
            None => fetch(client, &self.name).await?,
        };
        let text = match self.format {
            ExportFileForm::Csv => export(&map, ExportForm::Csv),
            ExportFileForm::Json => export(&map, ExportForm::Json),
            ExportFileForm::Sql => export(&map, ExportForm::Sql),
            ExportFileForm::Pgbouncer => {
                self.router_config(client, &map, Router::Pgbouncer).await?
            }
            ExportFileForm::Pgdog => self.router_config(client, &map, Router::Pgdog).await?,
            ExportFileForm::Service => self.router_config(client, &map, Router::Service).await?,
        };
        match &self.out {
            Some(path) => replace(path, &text)?,
            None => print(text),
        }
        Ok(0)
    }

    /// Returns the configuration of a pooler or router.
    async fn router_config(
        &self,
        client: &Client,
        map: &ShardMap,
        router: Router,
    ) -> Result<String, CliError> {
        let shards: Vec<ShardRecord> = client.get("/api/v1/shards").await?;
        let known = shards
            .iter()
            .map(|shard| (shard.name.as_str(), shard.dsn.as_str()));
        let named_places = named_dsns("--place", &self.places)?;
        let named = named_places
            .iter()
            .map(|(shard, dsn)| (shard.as_str(), dsn.as_str()));
        // The addresses of --place come later in the chain, and replace those of the registered shards.
        let mut places = BTreeMap::new();
        for (shard, text) in known.chain(named) {
            let dsn = Dsn::parse(text);
            let dsn = dsn.map_err(|error| CliError::Usage(format!("shard {shard}: {error}")))?;
            if let Some((host, port, dbname)) = dsn.place() {
                let place = ShardAddress { host, port, dbname };
                places.insert(ShardName::from(shard), place);
            }
        }
        route(map, router, &places)
            .map_err(|error| CliError::Usage(format!("{error}; {}", error.hint())))
    }
}

impl Revert {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let current = fetch(client, &self.name).await?;
        let earlier = fetch_version(client, &self.name, self.version).await?;
        let request = plans::planner::revert(&current, &earlier)
            .map_err(|error| CliError::Refused(error.to_string()))?;
        write_or_print(self.out.as_deref(), &yaml(&request)?)?;
        if let Some(path) = &self.out {
            report!("plan it with: shardwright plan {}", path.display());
        }
        Ok(0)
    }
}

async fn fetch_version(client: &Client, name: &str, version: i64) -> Result<ShardMap, CliError> {
    client
        .get(&format!("/api/v1/maps/{name}/versions/{version}"))
        .await
}
