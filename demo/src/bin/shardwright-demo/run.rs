//! `shardwright demo`: one run on this machine, with a report.

use clap::Args;
use demo::shop::KeyShape;
use demo::{
    AfterRepair, CutoverMoment, DemoError, DemoTask, KeyDivision, Kill, MapOperation, Options,
    SeedOption, Servers, Trouble, parse_group, parse_measure, parse_shape, parse_step,
    parse_strategy,
};
use plans::request::{DualWrite, Measure, Mode};
use plans::step::StepKind;
use std::path::PathBuf;

/// Split, merge or move live shards on private servers of this machine while an application writes, and check the
/// result.
#[derive(Debug, Args)]
pub(super) struct Demo {
    /// What to do: split, merge, move, isolate, drain or rebalance; by default split, drain with schemas, move with
    /// groups.
    #[arg(long)]
    operation: Option<MapOperation>,
    /// How the map divides keys: range, hash or list. With schema or group each key is a schema or a group of whole
    /// tables. With dependents the map is a range map, and one table has no key column: its rows belong to those of
    /// another.
    #[arg(long, default_value = "range", value_parser = parse_strategy)]
    strategy: KeyDivision,
    /// Move this group of tables: billing, sales, stock or support.
    #[arg(long, value_name = "NAME", value_parser = parse_group, conflicts_with = "strategy")]
    group: Option<i64>,
    /// Make the moving keys read-only until the flip, instead of capturing writes to them.
    #[arg(long)]
    offline: bool,
    /// Types of the shard key's columns: bigint, or for a range map "text,bigint" or timestamptz.
    #[arg(long, value_name = "TYPES", default_value = "bigint", value_parser = parse_shape)]
    key: KeyShape,
    /// Parts of a split.
    #[arg(long, default_value_t = 2)]
    parts: u32,
    /// Merge one live shard into another one, instead of both into a new one.
    #[arg(long)]
    into_live: bool,
    /// The measure of the load in a rebalance: rows, bytes or writes.
    #[arg(long, value_name = "MEASURE", default_value = "rows", value_parser = parse_measure)]
    by: Measure,
    /// Move or isolate one tenant, which gets this share of the transactions, for example 0.9.
    #[arg(long, value_name = "SHARE")]
    hot: Option<f64>,
    /// Major version of PostgreSQL on the servers of sources; by default the newest installed one.
    #[arg(long, value_name = "MAJOR")]
    source_postgres: Option<u32>,
    /// Major version of PostgreSQL on the servers of targets.
    #[arg(long, value_name = "MAJOR")]
    target_postgres: Option<u32>,
    /// Size of the shop: 1 is about two million rows.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// The number of concurrent clients.
    #[arg(long, default_value_t = 8)]
    clients: u32,
    /// Transactions per second of all clients together, at most.
    #[arg(long, default_value_t = 800.0)]
    rate: f64,
    /// The least number of acknowledged transactions; 20,500 at scale 1.
    #[arg(long)]
    transactions: Option<u64>,
    /// Write the report as JSON to this file.
    #[arg(long)]
    report: Option<PathBuf>,
    /// Write the report of the migration, with its charts, as one HTML file.
    #[arg(long, value_name = "FILE", default_value = "shardwright-demo.html")]
    evidence: PathBuf,
    /// Write every append and read of the lists to this file as JSON lines, in the format of Jepsen and Elle.
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    /// Kill -9 a process in a step and start it again: agent, controller, source, target or store, for example
    /// agent@copy.
    #[arg(long, value_name = "PROCESS@STEP")]
    kill: Option<Kill>,
    /// Dual-write mode: asynchronous or synchronous. Synchronous is only possible with an online split in two parts.
    #[arg(long, default_value = "asynchronous")]
    dual_write: DualWrite,
    /// Roll back after the flip.
    #[arg(long, conflicts_with = "abort_at")]
    rollback: bool,
    /// Abort in this step, which must be before the flip; may be given several times, one migration after the other.
    #[arg(long, value_name = "STEP", value_parser = parse_step)]
    abort_at: Vec<StepKind>,
    /// Pause and resume in this step; may be given several times.
    #[arg(long, value_name = "STEP", value_parser = parse_step)]
    pause_in: Vec<StepKind>,
    /// Cause a failure of the target in a step, wait until the migration has failed, and repair the failure: password
    /// (it is changed), disk (it is full; requires root and the permission to mount), or down (the server is stopped
    /// until all attempts of the step have failed). Or away: the server is stopped for a while, and nothing fails. For
    /// example disk@copy. May be given several times.
    #[arg(long, value_name = "KIND@STEP", conflicts_with_all = ["kill", "abort_at", "rollback"])]
    trouble: Vec<Trouble>,
    /// The command after the repair of the failure: resume or abort.
    #[arg(
        long,
        value_name = "COMMAND",
        default_value = "resume",
        requires = "trouble"
    )]
    then: AfterRepair,
    /// With --trouble away: for how many seconds the target is stopped. The demo observes how much log the source
    /// retains.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    away: u32,
    /// Kill -9 the controller and both agents at a moment of the cutover, start none of them for some seconds, and
    /// report which shard accepts writes: fenced, before_check, before_seal, sealed or flipped.
    #[arg(long, value_name = "MOMENT", conflicts_with_all = ["kill", "abort_at", "trouble"])]
    orphan: Option<CutoverMoment>,
    /// Stop an agent at a moment of the cutover until the source accepts writes again: the attempt ends
    /// within the budget of the write-blocked window, and the next one succeeds.
    #[arg(long, value_name = "MOMENT", conflicts_with_all = ["kill", "abort_at", "trouble", "orphan"])]
    stall: Option<CutoverMoment>,
    /// Keep clusters, logs and ledger.
    #[arg(long)]
    keep: bool,
    /// A number makes the run repeatable, as far as concurrency allows. "standby": the target is a physical standby of
    /// the source, which the migration promotes, only with an online split in two parts; "copy": the agent copies the
    /// rows. May be given once with a number and once with a word.
    #[arg(long, value_name = "NUMBER|copy|standby")]
    seed: Vec<SeedOption>,
}

impl Demo {
    pub(super) async fn run(self) -> Result<u8, DemoError> {
        let (seed, seeding) = SeedOption::split(&self.seed);
        let then = |trouble| Trouble {
            then: self.then,
            ..trouble
        };
        let division = match self.group {
            Some(_) => parse_strategy("group")?,
            None => self.strategy,
        };
        let shape = division.shape.unwrap_or(self.key);
        let usual = match shape {
            KeyShape::Schema => MapOperation::Drain,
            KeyShape::Group => MapOperation::Move,
            KeyShape::BigInt
            | KeyShape::TextBigInt
            | KeyShape::Timestamp
            | KeyShape::Dependents => MapOperation::Split,
        };
        let task = DemoTask {
            operation: self.operation.unwrap_or(usual),
            strategy: division.strategy,
            mode: if self.offline {
                Mode::Offline
            } else {
                Mode::Online
            },
            shape,
            parts: self.parts,
            into_live: self.into_live,
            by: self.by,
            group: self.group,
            hot: self.hot,
        };
        let options = Options {
            task,
            servers: Servers {
                source: self.source_postgres,
                target: self.target_postgres,
            },
            scale: self.scale,
            clients: self.clients,
            rate: self.rate,
            transactions: self.transactions,
            report: self.report,
            evidence: Some(self.evidence),
            history: self.history,
            kill: self.kill,
            dual_write: self.dual_write,
            rollback: self.rollback,
            abort_at: self.abort_at,
            pause_in: self.pause_in,
            troubles: self.trouble.into_iter().map(then).collect(),
            outage_s: self.away,
            orphan: self.orphan,
            stall: self.stall,
            keep: self.keep,
            seed: seed.unwrap_or(Options::default().seed),
            seeding,
            programs: None,
        };
        demo::run(options).await?;
        Ok(0)
    }
}
