//! `map import`: mappings from a file, or from a directory table that an agent reads.

use super::create::MapKindArgs;
use super::empty_map;
use crate::cli::client::Client;
use crate::cli::consent::DryRun;
use crate::cli::error::CliError;
use crate::cli::files::read;
use crate::cli::keys::{groups, pair};
use crate::cli::output::Output;
use crate::controller::{NewMap, NewMapping};
use clap::{Args, ValueEnum};
use plans::id::MapName;
use plans::inspection::Directory;
use plans::shard_map::{ImportForm, MapSettings, Mapping, Strategy, import, import_rows};
use plans::table::TableName;
use std::path::{Path, PathBuf};

/// Create version 1 of a map from a file or a directory table.
#[derive(Debug, Args)]
pub(in crate::cli) struct MapImportArgs {
    /// The name of the map.
    name: String,
    /// The file with the mappings: CSV with a header (from,to,shard; bucket_from,bucket_to,shard; or key,shard), or a
    /// list of objects with keys and shard in JSON or YAML; `-` is stdin.
    #[arg(required_unless_present = "directory")]
    file: Option<PathBuf>,
    /// The format of the file. By default it depends on the file name extension.
    #[arg(long = "format", value_name = "FORMAT", value_enum)]
    file_format: Option<ImportFileForm>,
    /// The shard with the directory table.
    #[arg(long, value_name = "SHARD", requires = "directory")]
    from: Option<String>,
    /// The directory table on that shard, with its schema unless this is public.
    #[arg(long, value_name = "[SCHEMA.]TABLE", requires_all = ["from", "key_column", "shard_column"],
        conflicts_with = "file")]
    directory: Option<String>,
    /// A column of the table with the key, or with a bound of a range; may be given several times.
    #[arg(long, value_name = "COLUMN", requires = "directory")]
    key_column: Vec<String>,
    /// The column of the table with the name of the shard.
    #[arg(long, value_name = "COLUMN", requires = "directory")]
    shard_column: Option<String>,
    #[command(flatten)]
    kind: MapKindArgs,
    /// A sharded table and its key column, or columns separated by commas; may be given several times.
    #[arg(long = "table", value_name = "TABLE=COLUMN", value_parser = pair)]
    tables: Vec<(String, String)>,
    /// A group of whole tables and its tables, for a map with `--strategy group`; may be given several times.
    #[arg(long = "group", value_name = "GROUP=TABLE,TABLE", value_parser = pair)]
    groups: Vec<(String, String)>,
    #[command(flatten)]
    dry: DryRun,
    #[command(flatten)]
    output: Output,
}

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ImportFileForm {
    Csv,
    Json,
    Yaml,
}

impl MapImportArgs {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let shape = self.kind.shape();
        let empty_map = empty_map(&self.name, &shape);
        let parsed = match (&self.directory, &self.file) {
            (Some(directory), _) => {
                let shard = self.from.as_deref().unwrap_or_default();
                let TableName {
                    schema,
                    name: table,
                } = TableName::parse(directory);
                let (keys, column) = (&self.key_column, &self.shard_column);
                let body = serde_json::json!({
                    "schema": schema, "table": table, "keys": keys, "shard": column,
                });
                let body = body.to_string();
                let path = format!("/api/v1/shards/{shard}/directory");
                let rows: Directory = client.post(&path, body).await?;
                import_rows(&rows.columns, &rows.rows, &empty_map)
            }
            (None, Some(file)) => import(&read(file)?, self.form(file), &empty_map),
            (None, None) => Ok(Vec::new()),
        };
        let mappings = parsed.map_err(|error| CliError::Usage(error.to_string()))?;
        let new = NewMap {
            name: MapName(self.name),
            strategy: shape.strategy,
            key: shape.key,
            buckets: (shape.strategy == Strategy::Hash).then_some(shape.buckets),
            settings: MapSettings {
                keyed_by: self.kind.keyed_by(),
                groups: groups(&self.groups),
                sequences: self.kind.sequences(),
                tables: super::create::tables(&self.tables),
                ..MapSettings::default()
            },
            mappings: mappings.into_iter().map(new_mapping).collect(),
        };
        let what = format!(
            "Creates version 1 of map {} with {} mappings.",
            new.name,
            new.mappings.len()
        );
        super::create::create_map(client, &new, self.dry, &what, self.output).await
    }

    /// Returns the format of the file; CSV if neither the option nor the extension names one.
    fn form(&self, file: &Path) -> ImportForm {
        let extension = file.extension().and_then(|extension| extension.to_str());
        match (self.file_format, extension) {
            (Some(ImportFileForm::Csv), _) => ImportForm::Csv,
            (Some(ImportFileForm::Json), _) | (None, Some("json")) => ImportForm::Json,
            (Some(ImportFileForm::Yaml), _) | (None, Some("yaml" | "yml")) => ImportForm::Yaml,
            (None, _) => ImportForm::Csv,
        }
    }
}

/// Converts a mapping to a mapping of a new map.
pub(in crate::cli) fn new_mapping(mapping: Mapping) -> NewMapping {
    NewMapping {
        keys: mapping.keys,
        shard: mapping.shard,
    }
}
