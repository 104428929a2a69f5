//! The flags of `shardwright plan OPERATION`.

use super::Print;
use crate::cli::keys::pair;
use crate::cli::measure::measure;
use clap::{Args, Subcommand};
use plans::request::{Ddl, DualWrite, Hold, LongWriters, Measure, Schema, Seed};

/// Operations from flags. A request file can express more: `shardwright plan FILE`.
#[derive(Debug, Subcommand)]
pub(super) enum OperationArgs {
    /// Divide the keys of a shard.
    Split(SplitArgs),
    /// Move the keys of several shards to one shard.
    Merge(MergeArgs),
    /// Move some or all keys of a shard to another shard.
    Move(MoveArgs),
    /// Move a single key to another shard, for example a large tenant.
    Isolate(IsolateArgs),
    /// Move all keys of a shard to other shards.
    Drain(DrainArgs),
    /// Balance the load of a map's shards.
    Rebalance(RebalanceArgs),
}

/// Divide the keys of a shard.
#[derive(Debug, Args)]
pub(super) struct SplitArgs {
    /// The map.
    pub(super) map: String,
    /// The shard whose keys are divided.
    #[arg(long, alias = "from")]
    pub(super) source: String,
    /// A part: SHARD=FROM..TO or SHARD={...}; with --even, SHARD or SHARD=SHARE. At least two parts are required.
    #[arg(
        long,
        aliases = ["to", "target"],
        value_name = "SHARD[=KEYS]",
        required = true,
        allow_hyphen_values = true
    )]
    pub(super) into: Vec<String>,
    /// Let the planner find split points that make the parts equal, measured in rows, bytes, writes, or with a query
    /// that returns key and number.
    #[arg(long, value_name = "MEASURE", value_parser = measure)]
    pub(super) even: Option<Measure>,
    #[command(flatten)]
    pub(super) flags: Flags,
}

/// Move the keys of several shards to one shard.
#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// The map.
    pub(super) map: String,
    /// A shard whose keys move; may be given several times.
    #[arg(long, required = true, aliases = ["source", "sources"])]
    pub(super) from: Vec<String>,
    /// The shard that owns the keys afterwards.
    #[arg(long, aliases = ["to", "target"])]
    pub(super) into: String,
    #[command(flatten)]
    pub(super) flags: Flags,
}

/// Move keys to another shard.
#[derive(Debug, Args)]
pub(super) struct MoveArgs {
    /// The map.
    pub(super) map: String,
    /// The shard that owns the keys.
    #[arg(long, alias = "source")]
    pub(super) from: String,
    /// The shard that receives the keys.
    #[arg(long, aliases = ["into", "target"])]
    pub(super) to: String,
    /// The keys: FROM..TO; KEY,KEY for a list map; or {...} as in a request. By default all keys of the shard.
    #[arg(long, allow_hyphen_values = true)]
    pub(super) keys: Option<String>,
    #[command(flatten)]
    pub(super) flags: Flags,
}

/// Move a single key to another shard, for example a large tenant.
#[derive(Debug, Args)]
pub(super) struct IsolateArgs {
    /// The map.
    pub(super) map: String,
    /// The key; the values of a composite key are separated by commas.
    #[arg(allow_hyphen_values = true)]
    pub(super) key: String,
    /// The shard that receives the key.
    #[arg(long, aliases = ["into", "target"])]
    pub(super) to: String,
    #[command(flatten)]
    pub(super) flags: Flags,
}

/// Move all keys of a shard to other shards.
#[derive(Debug, Args)]
pub(super) struct DrainArgs {
    /// The map.
    pub(super) map: String,
    /// The shard whose keys move.
    #[arg(long, aliases = ["from", "source"])]
    pub(super) shard: String,
    /// A shard that may receive keys; may be given several times. By default every other shard of the map.
    #[arg(long, aliases = ["into", "target", "targets"])]
    pub(super) to: Vec<String>,
    /// The measure of load: rows, bytes, writes, or a query that returns key and number.
    #[arg(long, value_name = "MEASURE", default_value = "rows", value_parser = measure)]
    pub(super) by: Measure,
    /// Drop the tables of the map on the shard at the end.
    #[arg(long)]
    pub(super) drop_tables: bool,
    #[command(flatten)]
    pub(super) flags: Flags,
}

/// Balance the load of a map's shards.
#[derive(Debug, Args)]
pub(super) struct RebalanceArgs {
    /// The map.
    pub(super) map: String,
    /// The measure of load: rows, bytes, writes, or a query that returns key and number.
    #[arg(long, value_name = "MEASURE", default_value = "rows", value_parser = measure)]
    pub(super) by: Measure,
    /// A shard that receives keys although it owns none yet; may be given several times.
    #[arg(long, aliases = ["to", "into", "target"])]
    pub(super) onto: Vec<String>,
    /// By how many percent a shard may exceed its fair share of the load.
    #[arg(long, value_name = "PERCENT", default_value_t = 10)]
    pub(super) threshold: u32,
    /// The maximum number of bytes that all moves together may move.
    #[arg(long, value_name = "BYTES")]
    pub(super) max_bytes: Option<u64>,
    /// For how long writes are counted, if they are the measure.
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
    /// How many people have to approve each cutover, 1 to 5. From 2 on, the user who submits the plan cannot approve
    /// it.
    #[arg(long, value_name = "NUMBER")]
    pub(super) approvals: Option<u32>,
    /// A limit of the load from the beginning, as in `shardwright set`: rate=20MB/s, hours=22:00-06:00, latency=25,
    /// commit=off; may be given several times.
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = pair)]
    pub(super) limits: Vec<(String, String)>,
    /// For how many seconds the old rows are kept after the flip. By default until the command finish.
    #[arg(long, value_name = "SECONDS", value_parser = parse_hold)]
    pub(super) hold: Option<Hold>,
    /// Permit moves that break rules of the map, for this reason, which is recorded in the journal.
    #[arg(long, value_name = "REASON")]
    pub(super) override_rules: Option<String>,
    /// The longest time for which an attempt of a cutover may refuse writes, in milliseconds.
    #[arg(long, value_name = "MILLISECONDS")]
    pub(super) write_stop_budget_ms: Option<u32>,
    /// What the agent does about writing transactions that prevent the cutover: wait for them, or request permission to
    /// end them after a time: cancel-after=TIME.
    #[arg(long, value_name = "wait|cancel-after=TIME", value_parser = parse_long_writers)]
    pub(super) long_writers: Option<LongWriters>,
    /// When a commit is acknowledged during dual-write: when it is durable on the owner, or on both shards.
    #[arg(long, value_name = "asynchronous|synchronous")]
    pub(super) dual_write: Option<DualWrite>,
    /// What happens if the definition of a moving table changes: the stream halts until both shards are equal, the
    /// change is refused, or the agent makes it on the other shard too.
    #[arg(long, value_name = "halt|refuse|follow", value_parser = parse_ddl)]
    pub(super) ddl: Option<Ddl>,
    /// How the target gets the rows that exist: by a copy, or the target is a physical standby of the source, which is
    /// promoted. Only for split and move.
    #[arg(long, value_name = "copy|standby")]
    pub(super) seed: Option<Seed>,
    /// The tables on the target: copied from the source, or already existing.
    #[arg(long, value_name = "copy|existing", value_parser = parse_schema)]
    pub(super) schema: Option<Schema>,
    /// Do not try the move with a sample of rows on the target while planning.
    #[arg(long)]
    pub(super) no_trial: bool,
    /// A standby, by its application_name, that cutovers do not wait for; may be given several times.
    #[arg(long = "ignore-standby", value_name = "NAME")]
    pub(super) ignore_standbys: Vec<String>,
    /// The number of sessions on the target that apply a backlog of changes, 1 or 2.
    #[arg(long, value_name = "NUMBER")]
    pub(super) apply_sessions: Option<u32>,
    /// The maximum age of a snapshot that the copy holds on the source, in seconds.
    #[arg(long, value_name = "SECONDS")]
    pub(super) snapshot_age_s: Option<u32>,
    /// The maximum log that a shard may retain for a migration, in MiB.
    #[arg(long, value_name = "MIB")]
    pub(super) wal_cap_mb: Option<u32>,
    /// The number of attempts of a step before its migration fails.
    #[arg(long, value_name = "NUMBER")]
    pub(super) max_attempts: Option<u32>,
    /// The maximum number of simultaneous moves.
    #[arg(long)]
    pub(super) moves_at_once: Option<u32>,
    /// The maximum number of simultaneous moves that use one shard.
    #[arg(long)]
    pub(super) moves_per_shard: Option<u32>,
    /// A sharded table and its key column, if the settings of the map do not contain it; may be given several times.
    #[arg(long = "table", value_name = "TABLE=COLUMN", value_parser = pair)]
    pub(super) tables: Vec<(String, String)>,
    /// A table that Shardwright ignores; may be given several times.
    #[arg(long, value_name = "TABLE")]
    pub(super) ignore: Vec<String>,
    /// Only write or print the request; no plan is created.
    #[arg(long)]
    pub(super) request: bool,
    #[command(flatten)]
    pub(super) print: Print,
}

impl OperationArgs {
    /// Returns the options that every operation has.
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

    /// Returns the name of the map.
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

/// Parses `wait`, or `cancel-after=` with a time.
fn parse_long_writers(text: &str) -> Result<LongWriters, String> {
    if text == "wait" {
        return Ok(LongWriters::Wait);
    }
    let time = text.strip_prefix("cancel-after=").ok_or_else(|| {
        format!("{text:?} is neither wait nor cancel-after=TIME, for example cancel-after=30s")
    })?;
    let time = humantime::parse_duration(time).map_err(|error| error.to_string())?;
    let seconds = u32::try_from(time.as_secs()).map_err(|_| "the time is too long".to_owned())?;
    Ok(LongWriters::CancelAfter(seconds))
}

/// Parses `halt`, `refuse` or `follow`.
fn parse_ddl(text: &str) -> Result<Ddl, String> {
    match text {
        "halt" => Ok(Ddl::Halt),
        "refuse" => Ok(Ddl::Refuse),
        "follow" => Ok(Ddl::Follow),
        other => Err(format!("{other:?} is neither halt, refuse nor follow")),
    }
}

/// Parses `copy` or `existing`.
fn parse_schema(text: &str) -> Result<Schema, String> {
    match text {
        "copy" => Ok(Schema::Copy),
        "existing" => Ok(Schema::Existing),
        other => Err(format!("{other:?} is neither copy nor existing")),
    }
}

/// Parses a number of seconds, or `until-finish`.
fn parse_hold(text: &str) -> Result<Hold, String> {
    if text == "until-finish" {
        return Ok(Hold::UntilFinish);
    }
    let seconds = text.parse().map(Hold::Seconds);
    seconds.map_err(|_| format!("{text:?} is not a number of seconds"))
}
