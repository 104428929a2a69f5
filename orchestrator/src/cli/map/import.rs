//! `map import`: mappings from a file, or from a directory table that an agent reads.

use super::blank;
use super::create::MapKindArgs;
use crate::cli::client::Client;
use crate::cli::consent::DryRun;
use crate::cli::error::CliError;
use crate::cli::files::read;
use crate::cli::output::Output;
use crate::controller::{NewMap, NewMapping};
use clap::{Args, ValueEnum};
use plans::id::MapName;
use plans::inspection::Directory;
use plans::shard_map::{ImportForm, MapSettings, Mapping, Strategy, import, import_rows};
use plans::table::TableName;
use std::path::{Path, PathBuf};

/// Make version 1 of a map from what there is.
#[derive(Debug, Args)]
pub(in crate::cli) struct MapImportArgs {
    /// Its name.
    name: String,
    /// The mappings: CSV with a header (from,to,shard; bucket_from,bucket_to,shard; or key,shard), or a list
    /// of keys and shard in JSON or YAML; `-` is stdin.
    #[arg(required_unless_present = "directory")]
    file: Option<PathBuf>,
    /// What the file is written in; by default its ending.
    #[arg(long = "format", value_enum)]
    written: Option<ImportFileForm>,
    /// The shard with the directory table.
    #[arg(long, value_name = "SHARD", requires = "directory")]
    from: Option<String>,
    /// A table on that shard, with its schema unless that is public.
    #[arg(long, value_name = "[SCHEMA.]TABLE", requires_all = ["from", "key_column", "shard_column"],
        conflicts_with = "file")]
    directory: Option<String>,
    /// Its column with the key, or a bound; may be given several times.
    #[arg(long, value_name = "COLUMN", requires = "directory")]
    key_column: Vec<String>,
    /// Its column with the shard's name.
    #[arg(long, value_name = "COLUMN", requires = "directory")]
    shard_column: Option<String>,
    #[command(flatten)]
    kind: MapKindArgs,
    /// A sharded table and its key column, or columns with commas between; may be given several times.
    #[arg(long = "table", value_name = "TABLE=COLUMN", value_parser = crate::cli::keys::pair)]
    tables: Vec<(String, String)>,
    #[command(flatten)]
    dry: DryRun,
    #[command(flatten)]
    output: Output,
}

/// What a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ImportFileForm {
    Csv,
    Json,
    Yaml,
}

impl MapImportArgs {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let shape = self.kind.shape();
        let blank = blank(&self.name, &shape);
        let read = match (&self.directory, &self.file) {
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
                import_rows(&rows.columns, &rows.rows, &blank)
            }
            (None, Some(file)) => import(&read(file)?, self.form(file), &blank),
            (None, None) => Ok(Vec::new()),
        };
        let mappings = read.map_err(|error| CliError::Usage(error.to_string()))?;
        let new = NewMap {
            name: MapName(self.name),
            strategy: shape.strategy,
            key: shape.key,
            buckets: (shape.strategy == Strategy::Hash).then_some(shape.buckets),
            settings: MapSettings {
                tables: super::create::tables(&self.tables),
                ..MapSettings::default()
            },
            mappings: mappings.into_iter().map(new_mapping).collect(),
        };
        let what = format!(
            "Makes version 1 of map {} with {} mappings.",
            new.name,
            new.mappings.len()
        );
        super::create::make(client, &new, self.dry, &what, self.output).await
    }

    fn form(&self, file: &Path) -> ImportForm {
        let ending = file.extension().and_then(|ending| ending.to_str());
        match (self.written, ending) {
            (Some(ImportFileForm::Csv), _) => ImportForm::Csv,
            (Some(ImportFileForm::Json), _) | (None, Some("json")) => ImportForm::Json,
            (Some(ImportFileForm::Yaml), _) | (None, Some("yaml" | "yml")) => ImportForm::Yaml,
            (None, _) => ImportForm::Csv,
        }
    }
}

/// A mapping as a map to make has it.
pub(in crate::cli) fn new_mapping(mapping: Mapping) -> NewMapping {
    NewMapping {
        keys: mapping.keys,
        shard: mapping.shard,
    }
}
