//! `shardwright shard`.

use super::client::Client;
use super::consent::DryRun;
use super::error::CliError;
use super::keys::pair;
use super::output::{Output, TextTable, or_dash};
use super::preview::{self, KnownNames};
use super::removal::{Removal, RemovedObject};
use crate::controller::{FleetReport, ShardChange, ShardProbe};
use crate::store::{NewShard, ShardRecord};
use crate::view::Tone;
use clap::{Args, Subcommand};
use plans::fleet::DEFAULT_CAPACITY;
use plans::id::ShardName;
use plans::inspection::inventory::DatabaseFigures;
use plans::render::bytes;

/// Shards.
#[derive(Debug, Subcommand)]
pub(super) enum ShardCommand {
    /// Register a shard.
    Add(ShardAddArgs),
    /// Change a shard: labels, capacity, space, connection string.
    Set(ShardSetArgs),
    /// List the shards.
    List {
        #[command(flatten)]
        output: Output,
    },
    /// Show a shard: size, rates, connections, standbys and replication slots, as the last probe read them.
    Show {
        /// The name of the shard.
        name: String,
        #[command(flatten)]
        output: Output,
    },
    /// Remove a shard that occurs in no map in force.
    Remove {
        /// The name of the shard.
        name: String,
        #[command(flatten)]
        removal: Removal,
    },
}

/// Register a shard.
#[derive(Debug, Args)]
pub(super) struct ShardAddArgs {
    /// The name of the shard.
    name: String,
    /// The connection string, with the password as ${env:NAME}, ${file:/path} or ${credential:NAME}.
    #[arg(required_unless_present = "dsn", value_name = "DSN")]
    positional_dsn: Option<String>,
    /// The connection string, as an option.
    #[arg(long, conflicts_with = "positional_dsn")]
    dsn: Option<String>,
    /// A label, for example region=eu; may be given several times.
    #[arg(long = "label", value_name = "LABEL=VALUE", value_parser = pair)]
    labels: Vec<(String, String)>,
    /// The capacity for load, relative to that of other shards.
    #[arg(long, default_value_t = DEFAULT_CAPACITY)]
    capacity: u32,
    /// How many bytes of rows the shard can store.
    #[arg(long)]
    space: Option<u64>,
    #[command(flatten)]
    dry: DryRun,
    #[command(flatten)]
    output: Output,
}

/// Change a shard: labels, capacity, space, connection string.
#[derive(Debug, Args)]
pub(super) struct ShardSetArgs {
    /// The name of the shard.
    name: String,
    /// A label to set; may be given several times.
    #[arg(long = "label", value_name = "LABEL=VALUE", value_parser = pair)]
    labels: Vec<(String, String)>,
    /// A label to remove; may be given several times.
    #[arg(long, value_name = "LABEL")]
    unlabel: Vec<String>,
    /// The capacity for load, relative to that of other shards.
    #[arg(long)]
    capacity: Option<u32>,
    /// How many bytes of rows the shard can store; 0: not limited.
    #[arg(long)]
    space: Option<u64>,
    /// A new connection string. It must lead to the same database.
    #[arg(long)]
    dsn: Option<String>,
    /// Accept another database, or one that was restored from a backup, as this shard. No unfinished migration may use
    /// the shard.
    #[arg(long, requires = "reason")]
    replaced: bool,
    /// The reason, for the audit trail.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    dry: DryRun,
    #[command(flatten)]
    output: Output,
}

impl ShardCommand {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        match self {
            Self::Add(add) => add.run(client).await,
            Self::Set(set) => set.run(client).await,
            Self::List { output } => {
                let shards: Vec<ShardRecord> = client.get("/api/v1/shards").await?;
                let probes = probes(client, output).await?;
                output.print(&shards, |shards| list_text(shards, &probes))
            }
            Self::Show { name, output } => super::shard_show::show(client, &name, output).await,
            Self::Remove { name, removal } => {
                if removal.is_dry() {
                    preview::shard_removal(client, &name).await?;
                }
                let what =
                    format!("Removes shard {name} from the fleet; its rows stay in its database.");
                let object = RemovedObject {
                    kind: "shard",
                    name: &name,
                };
                removal.run(client, object, &what).await
            }
        }
    }
}

impl ShardAddArgs {
    async fn run(self, client: &Client) -> Result<u8, CliError> {
        let new = NewShard {
            name: ShardName(self.name),
            dsn: self.positional_dsn.or(self.dsn).unwrap_or_default(),
            labels: self.labels.into_iter().collect(),
            capacity: self.capacity,
            space: self.space,
        };
        if self.dry.is_dry() {
            KnownNames::read(client).await?.register(&new)?;
        }
        if !self
            .dry
            .proceed_or_print(&format!("Registers shard {}.", new.name))
        {
            return Ok(0);
        }
        let body = super::output::json(&new)?;
        let record: ShardRecord = client.post("/api/v1/shards", body).await?;
        if record.identity.is_none() {
            eprintln!(
                "shard {}: no agent has reached it yet; its database is identified when an agent reaches it",
                record.name
            );
        }
        self.output
            .print(&record, |record| format!("{}\n", record.name))
    }
}

impl ShardSetArgs {
    async fn run(self, client: &Client) -> Result<u8, CliError> {
        let set_labels = self
            .labels
            .into_iter()
            .map(|(label, value)| (label, Some(value)));
        let removed_labels = self.unlabel.into_iter().map(|label| (label, None));
        let change = ShardChange {
            labels: set_labels.chain(removed_labels).collect(),
            capacity: self.capacity,
            space: self.space,
            dsn: self.dsn,
            replaced: self.replaced,
            reason: self.reason,
        };
        let path = format!("/api/v1/shards/{}", self.name);
        if self.dry.is_dry() {
            preview::shard_change(client, &self.name, &change).await?;
        }
        let what = format!("Changes shard {}.", self.name);
        if !self.dry.proceed_or_print(&what) {
            return Ok(0);
        }
        let changed: ShardRecord = client.patch(&path, super::output::json(&change)?).await?;
        let probes = probes(client, self.output).await?;
        self.output.print(&changed, |changed| {
            list_text(std::slice::from_ref(changed), &probes)
        })
    }
}

/// Reads the last probes of the shards. Formats for programs do not contain them.
async fn probes(client: &Client, output: Output) -> Result<Vec<ShardProbe>, CliError> {
    if output.is_for_programs() {
        return Ok(Vec::new());
    }
    let report: FleetReport = client.get("/api/v1/fleet").await?;
    Ok(report.shards)
}

/// How the text of a shard begins that the last probe did not reach.
const UNREACHED: &str = "no: ";
/// The text of a shard that no agent has probed yet.
const NOT_YET: &str = "not yet";

/// Returns when the last probe reached the shard, or why it did not, as text.
fn reached_text(shard: &ShardRecord, probes: &[ShardProbe]) -> String {
    match probes.iter().find(|probe| probe.shard == shard.name) {
        Some(ShardProbe {
            failure: Some(failure),
            ..
        }) => format!("{UNREACHED}{failure}"),
        Some(ShardProbe {
            observed_at: Some(at),
            ..
        }) => at.format("at %H:%M:%S UTC").to_string(),
        Some(ShardProbe {
            observed_at: None, ..
        })
        | None => NOT_YET.to_owned(),
    }
}

fn size_text(figures: &DatabaseFigures) -> String {
    bytes(i64::try_from(figures.bytes).unwrap_or(i64::MAX))
}

/// Returns a suffix that names a shard that is registered as a standby.
fn role_text(shard: &ShardRecord) -> &'static str {
    match shard.is_standby() {
        true => "; a standby",
        false => "",
    }
}

pub(super) fn list_text(shards: &[ShardRecord], probes: &[ShardProbe]) -> TextTable {
    let row = |shard: &ShardRecord| {
        let labels = shard.labels.iter();
        let labels: Vec<_> = labels
            .map(|(label, value)| format!("{label}={value}"))
            .collect();
        let probe = probes.iter().find(|probe| probe.shard == shard.name);
        let figures = probe.and_then(|probe| probe.figures.as_ref());
        vec![
            shard.name.to_string(),
            shard.number.to_string(),
            or_dash(figures.map(|figures| &figures.version)),
            or_dash(figures.map(size_text).as_ref()),
            shard.capacity.to_string(),
            or_dash(shard.space.as_ref()),
            or_dash(Some(&labels.join(",")).filter(|text| !text.is_empty())),
            reached_text(shard, probes) + role_text(shard),
            shard.dsn.clone(),
            shard
                .created_at
                .to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
        ]
    };
    let head = [
        "NAME", "NUMBER", "VERSION", "SIZE", "CAPACITY", "SPACE", "LABELS", "REACHED", "DSN",
        "ADDED",
    ];
    TextTable::new(&head, shards.iter().map(row).collect())
        .wide(1)
        .toned("REACHED", reached_tone)
}

/// Returns the tone of a text of [`reached_text`].
fn reached_tone(text: &str) -> Option<Tone> {
    if text.starts_with(UNREACHED) {
        return Some(Tone::Bad);
    }
    Some(if text.starts_with(NOT_YET) {
        Tone::Quiet
    } else {
        Tone::Good
    })
}
