//! `shardwright torture`: faults of every component at every place, one in each run, and a count of the runs that were
//! survived.

use super::DEFECTS;
use clap::Args;
use demo::DemoError;
use demo::torture::{self, CaseFilter};
use std::path::PathBuf;
use std::time::Duration;

/// Strike every component at every step while a live shard is split under load, and count what is survived.
///
/// Each run has one fault; its seed decides what the operator does and whether the migration is asynchronous,
/// synchronous or offline. A sitting continues where the last one at the same commit ended.
#[derive(Debug, Args)]
pub(super) struct FaultInjectionArgs {
    /// Runs of this sitting, at most.
    #[arg(long)]
    runs: Option<u64>,
    /// Begin no run after so many seconds.
    #[arg(long)]
    seconds: Option<u64>,
    /// Decides the order of the cases, their modes and what happens in them; with --only the seed of the run to replay.
    #[arg(long)]
    seed: Option<u64>,
    /// Only these cases, once each: agent, controller, source, target or store, at a step or a place in it, for
    /// example agent@copy/kill; without a fault all of them; may be given several times.
    #[arg(long, value_name = "COMPONENT@STEP/FAULT")]
    only: Vec<CaseFilter>,
    /// File of results, which is continued.
    #[arg(long)]
    json: Option<PathBuf>,
    /// The commit that was built; results of another one are put aside.
    #[arg(long, env = "SHARDWRIGHT_COMMIT", default_value = "unknown")]
    commit: String,
    /// How long a black hole and a writer that does not end last; a full disk and a wrong clock end after 10 at most.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    lasts: u64,
    /// Runs side by side, each with servers of its own.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Keep the folder of every run, not only of those that were not survived.
    #[arg(long)]
    keep: bool,
}

impl FaultInjectionArgs {
    pub(super) async fn run(self) -> Result<u8, DemoError> {
        let injection = torture::FaultInjection {
            runs: self.runs,
            time: self.seconds.map(Duration::from_secs),
            seed: self.seed,
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
