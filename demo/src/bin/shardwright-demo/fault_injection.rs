//! `shardwright torture`: faults of every component at every place, one in each run, and a count of the runs that were
//! survived.

use super::DEFECTS;
use clap::Args;
use demo::torture::{self, CaseFilter};
use demo::{DemoError, KeyDivision, SeedOption, parse_strategy};
use std::path::PathBuf;
use std::time::Duration;

/// Cause a fault of each component at each step while a shard is split under load, and count the runs without a
/// problem.
///
/// Each run has one fault; its seed decides what the operator does and whether the migration is asynchronous,
/// synchronous or offline. A session continues after the cases of the last session at the same commit.
#[derive(Debug, Args)]
pub(super) struct FaultInjectionArgs {
    /// The maximum number of runs of this session.
    #[arg(long)]
    runs: Option<u64>,
    /// Begin no run after this number of seconds.
    #[arg(long)]
    seconds: Option<u64>,
    /// Determines the order of the cases, their modes and the commands of the operator; with --only the seed of the run
    /// to replay. "standby": every migration promotes a standby of the source; otherwise only those with a fault in the
    /// steps promote and drop_surplus do. May be given once with a number and once with a word.
    #[arg(long, value_name = "NUMBER|copy|standby")]
    seed: Vec<SeedOption>,
    /// How the map divides keys: range, hash or list. With schema or group each key is a schema or a group of whole
    /// tables; cases whose fault writes rows itself are then left out. With dependents the map is a range map, and one
    /// table has no key column: its rows belong to those of another.
    #[arg(long, default_value = "range", value_parser = parse_strategy)]
    strategy: KeyDivision,
    /// Only these cases, once each: agent, controller, source, target or store, at a step or a place in it, for
    /// example agent@copy/kill. Without a fault: all faults. May be given several times.
    #[arg(long, value_name = "COMPONENT@STEP/FAULT")]
    only: Vec<CaseFilter>,
    /// The file of results. New results are added to it.
    #[arg(long)]
    json: Option<PathBuf>,
    /// The commit that was built; results of another commit are moved to another file.
    #[arg(long, env = "SHARDWRIGHT_COMMIT", default_value = "unknown")]
    commit: String,
    /// How long network data is held and a transaction stays open; a full disk and a wrong clock end after at most 10.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    lasts: u64,
    /// The number of concurrent runs, each with its own servers.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Keep the folder of every run, not only of those with a problem.
    #[arg(long)]
    keep: bool,
}

impl FaultInjectionArgs {
    pub(super) async fn run(self) -> Result<u8, DemoError> {
        let (seed, seeding) = SeedOption::split(&self.seed);
        let injection = torture::FaultInjection {
            runs: self.runs,
            time: self.seconds.map(Duration::from_secs),
            seed,
            seeding,
            keys: self.strategy,
            only: self.only,
            json: self.json,
            commit: self.commit,
            lasts: Duration::from_secs(self.lasts),
            jobs: self.jobs,
            keep: self.keep,
            programs: None,
        };
        let results = torture::run(&injection).await?;
        Ok(if results.is_clean() { 0 } else { DEFECTS })
    }
}
