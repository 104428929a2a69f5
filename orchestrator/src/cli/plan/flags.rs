//! The flags of `shardwright plan OPERATION`.

use super::Print;
use crate::cli::keys::pair;
use crate::cli::measure::measure;
use clap::{Args, Subcommand};
use plans::request::{Ddl, DualWrite, Hold, LongWriters, Measure, Schema};

/// Operations from flags; `shardwright plan FILE` takes every request.
#[derive(Debug, Subcommand)]
pub(super) enum OperationArgs {
    /// Divide a shard's keys.
    Split(SplitArgs),
    /// Gather the keys of shards on one.
    Merge(MergeArgs),
    /// Give keys, or all keys of a shard, to another shard.
    Move(MoveArgs),
    /// Give a tenant a shard of its own.
    Isolate(IsolateArgs),
    /// Empty a shard.
    Drain(DrainArgs),
    /// Even out the load of a map's shards.
    Rebalance(RebalanceArgs),
}

/// Divide a shard's keys.
#[derive(Debug, Args)]
pub(super) struct SplitArgs {
    /// The map.
    pub(super) map: String,
    /// The shard whose keys are divided.
    #[arg(long, alias = "from")]
    pub(super) source: String,
    /// A part: SHARD=FROM..TO or SHARD={...}; with --even SHARD or SHARD=SHARE. At least two.
    #[arg(
        long,
        aliases = ["to", "target"],
        value_name = "SHARD[=KEYS]",
        required = true,
        allow_hyphen_values = true
    )]
    pub(super) into: Vec<String>,
    /// Find the split points: even by rows, bytes, writes, or a query that returns key and number.
    #[arg(long, value_name = "MEASURE", value_parser = measure)]
    pub(super) even: Option<Measure>,
    #[command(flatten)]
    pub(super) flags: Flags,
}

/// Gather the keys of shards on one.
#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// The map.
    pub(super) map: String,
    /// A shard whose keys are gathered; may be given several times.
    #[arg(long, required = true, aliases = ["source", "sources"])]
    pub(super) from: Vec<String>,
    /// The shard that owns them afterwards.
    #[arg(long, aliases = ["to", "target"])]
    pub(super) into: String,
    #[command(flatten)]
    pub(super) flags: Flags,
}

/// Give keys to another shard.
#[derive(Debug, Args)]
pub(super) struct MoveArgs {
    /// The map.
    pub(super) map: String,
    /// Where the keys are.
    #[arg(long, alias = "source")]
    pub(super) from: String,
    /// Where they go.
    #[arg(long, aliases = ["into", "target"])]
    pub(super) to: String,
    /// The keys: FROM..TO, KEY,KEY on a list map, or {...} as in a request; without it all of them.
    #[arg(long, allow_hyphen_values = true)]
    pub(super) keys: Option<String>,
    #[command(flatten)]
    pub(super) flags: Flags,
}

/// Give a tenant a shard of its own.
#[derive(Debug, Args)]
pub(super) struct IsolateArgs {
    /// The map.
    pub(super) map: String,
    /// The tenant's key; a composite one has commas between its values.
    #[arg(allow_hyphen_values = true)]
    pub(super) key: String,
    /// The shard that it gets.
    #[arg(long, aliases = ["into", "target"])]
    pub(super) to: String,
    #[command(flatten)]
    pub(super) flags: Flags,
}

/// Empty a shard.
#[derive(Debug, Args)]
pub(super) struct DrainArgs {
    /// The map.
    pub(super) map: String,
    /// The shard that is emptied.
    #[arg(long, aliases = ["from", "source"])]
    pub(super) shard: String,
    /// Where its keys may go; without it every other shard of the map.
    #[arg(long, aliases = ["into", "target", "targets"])]
    pub(super) to: Vec<String>,
    /// What load is counted by: rows, bytes, writes, or a query that returns key and number.
    #[arg(long, value_name = "MEASURE", default_value = "rows", value_parser = measure)]
    pub(super) by: Measure,
    /// Drop the emptied tables at the end.
    #[arg(long)]
    pub(super) drop_tables: bool,
    #[command(flatten)]
    pub(super) flags: Flags,
}

/// Even out the load of a map's shards.
#[derive(Debug, Args)]
pub(super) struct RebalanceArgs {
    /// The map.
    pub(super) map: String,
    /// What load is counted by: rows, bytes, writes, or a query that returns key and number.
    #[arg(long, value_name = "MEASURE", default_value = "rows", value_parser = measure)]
    pub(super) by: Measure,
    /// A shard that takes part although it owns no keys yet; may be given several times.
    #[arg(long, aliases = ["to", "into", "target"])]
    pub(super) onto: Vec<String>,
    /// How much more than its fair share a shard may carry, percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 10)]
    pub(super) threshold: u32,
    /// Most bytes to move in all.
    #[arg(long, value_name = "BYTES")]
    pub(super) max_bytes: Option<u64>,
    /// For how long writes are watched, when load is counted by them.
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = humantime::parse_duration)]
    pub(super) watch: std::time::Duration,
    #[command(flatten)]
    pub(super) flags: Flags,
}

/// The options of every operation.
#[derive(Debug, Args)]
pub(super) struct Flags {
    /// The moving keys are read-only from the copy to the flip.
    #[arg(long)]
    pub(super) offline: bool,
    /// Who starts each cutover: the operator by approve, or the controller.
    #[arg(long, default_value = "approve", value_parser = ["approve", "automatic"])]
    pub(super) cutover: String,
    /// How many people have to approve each cutover, 1 to 5; from 2 on, who submits the plan is none of them.
    #[arg(long, value_name = "NUMBER")]
    pub(super) approvals: Option<u32>,
    /// A limit from the beginning, as `shardwright set` takes it: rate=20MB/s, hours=22:00-06:00, latency=25,
    /// commit=off; may be given several times.
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = pair)]
    pub(super) limits: Vec<(String, String)>,
    /// Seconds for which old rows are kept after the flip; without it until finish.
    #[arg(long, value_name = "SECONDS", value_parser = hold)]
    pub(super) hold: Option<Hold>,
    /// Why rules of the map may be broken; written into the journal.
    #[arg(long, value_name = "REASON")]
    pub(super) override_rules: Option<String>,
    /// Longest time that writes may be refused in one cutover, milliseconds.
    #[arg(long, value_name = "MILLISECONDS")]
    pub(super) write_stop_budget_ms: Option<u32>,
    /// Writers that do not end: wait for them, or ask for leave to cancel them: cancel-after=TIME.
    #[arg(long, value_name = "wait|cancel-after=TIME", value_parser = long_writers)]
    pub(super) long_writers: Option<LongWriters>,
    /// When writes are acknowledged while both shards are kept in step: once on their shard, or once on both.
    #[arg(long, value_name = "asynchronous|synchronous")]
    pub(super) dual_write: Option<DualWrite>,
    /// Changes of the moving tables' definitions: halt until both sides are equal, or refuse them.
    #[arg(long, value_name = "halt|refuse", value_parser = ddl)]
    pub(super) ddl: Option<Ddl>,
    /// The target's tables: copied from the source, or existing there already.
    #[arg(long, value_name = "copy|existing", value_parser = schema)]
    pub(super) schema: Option<Schema>,
    /// Do not try the move on the target.
    #[arg(long)]
    pub(super) no_trial: bool,
    /// A standby, by its application_name, that cutovers do not wait for; may be given several times.
    #[arg(long = "ignore-standby", value_name = "NAME")]
    pub(super) ignore_standbys: Vec<String>,
    /// Sessions on the target that apply a backlog of changes, 1 or 2.
    #[arg(long, value_name = "NUMBER")]
    pub(super) apply_sessions: Option<u32>,
    /// Oldest snapshot that the copy may hold on the source, seconds.
    #[arg(long, value_name = "SECONDS")]
    pub(super) snapshot_age_s: Option<u32>,
    /// Most log that a shard may have to keep for a migration, MiB.
    #[arg(long, value_name = "MIB")]
    pub(super) wal_cap_mb: Option<u32>,
    /// Attempts of a step before its migration fails.
    #[arg(long, value_name = "NUMBER")]
    pub(super) max_attempts: Option<u32>,
    /// Moves that are under way at once.
    #[arg(long)]
    pub(super) moves_at_once: Option<u32>,
    /// Of these, at most so many that touch one shard.
    #[arg(long)]
    pub(super) moves_per_shard: Option<u32>,
    /// A sharded table and its key column, where the map does not know it; may be given several times.
    #[arg(long = "table", value_name = "TABLE=COLUMN", value_parser = pair)]
    pub(super) tables: Vec<(String, String)>,
    /// A table that is left alone; may be given several times.
    #[arg(long, value_name = "TABLE")]
    pub(super) ignore: Vec<String>,
    /// Write or print the request only; no shard is examined.
    #[arg(long)]
    pub(super) request: bool,
    #[command(flatten)]
    pub(super) print: Print,
}

impl OperationArgs {
    /// The options of every operation.
    pub(super) fn flags(&self) -> &Flags {
        match self {
            Self::Split(split) => &split.flags,
            Self::Merge(merge) => &merge.flags,
            Self::Move(moving) => &moving.flags,
            Self::Isolate(isolate) => &isolate.flags,
            Self::Drain(drain) => &drain.flags,
            Self::Rebalance(rebalance) => &rebalance.flags,
        }
    }

    /// The map.
    pub(super) fn map(&self) -> &str {
        match self {
            Self::Split(split) => &split.map,
            Self::Merge(merge) => &merge.map,
            Self::Move(moving) => &moving.map,
            Self::Isolate(isolate) => &isolate.map,
            Self::Drain(drain) => &drain.map,
            Self::Rebalance(rebalance) => &rebalance.map,
        }
    }
}

/// wait, or cancel-after with a time.
fn long_writers(text: &str) -> Result<LongWriters, String> {
    if text == "wait" {
        return Ok(LongWriters::Wait);
    }
    let time = text.strip_prefix("cancel-after=").ok_or_else(|| {
        format!("{text:?} is neither wait nor cancel-after=TIME, for example cancel-after=30s")
    })?;
    let time = humantime::parse_duration(time).map_err(|error| error.to_string())?;
    let seconds = u32::try_from(time.as_secs()).map_err(|_| "that is too long".to_owned())?;
    Ok(LongWriters::CancelAfter(seconds))
}

/// halt or refuse.
fn ddl(text: &str) -> Result<Ddl, String> {
    match text {
        "halt" => Ok(Ddl::Halt),
        "refuse" => Ok(Ddl::Refuse),
        other => Err(format!("{other:?} is neither halt nor refuse")),
    }
}

/// copy or existing.
fn schema(text: &str) -> Result<Schema, String> {
    match text {
        "copy" => Ok(Schema::Copy),
        "existing" => Ok(Schema::Existing),
        other => Err(format!("{other:?} is neither copy nor existing")),
    }
}

/// A number of seconds, or until-finish.
fn hold(text: &str) -> Result<Hold, String> {
    if text == "until-finish" {
        return Ok(Hold::UntilFinish);
    }
    let seconds = text.parse().map(Hold::Seconds);
    seconds.map_err(|_| format!("{text:?} is no number of seconds"))
}
