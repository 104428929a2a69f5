//! Makes cutovers and rollbacks of one migration repeatedly, on its own servers, and returns the result that the agent
//! reported for each.

use super::database::Database;
use super::setup::BenchmarkSetup;
use super::shardwright;
use anyhow::{Context, bail};
use plans::step::cutover::CutoverResult;
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// The number of rows of the largest table.
pub(crate) const ITEMS: u64 = 200_000;
/// The longest time for a cutover with all of its attempts.
const LIMIT: Duration = Duration::from_secs(300);
/// The time between two reads of the state of the migration.
const PAUSE: Duration = Duration::from_millis(200);

/// A migration that is cut over and rolled back in turn.
#[derive(Debug)]
pub(crate) struct Cutovers {
    setup: BenchmarkSetup,
    /// The source and the target. The source owns the keys before the first cutover.
    pub(crate) shards: [Database; 2],
    /// The id of the migration.
    id: String,
    /// The number of cutovers and rollbacks that were made.
    completed: i64,
    /// The number of cutover attempts that were given up and repeated.
    given_up: i64,
}

impl Cutovers {
    /// Starts the servers and programs, and a migration. Returns when the migration waits for its first approval.
    pub(crate) fn start(programs: &Path) -> anyhow::Result<Self> {
        let setup = BenchmarkSetup::start(programs)?;
        let source = Database::new(&setup.source, "bench")?;
        let target = Database::new(&setup.target, "ours")?;
        source.recreate()?;
        target.recreate()?;
        source.script(include_str!("data.sql"), &[("items", ITEMS)])?;
        shardwright::register(&setup, &source, &target)?;
        let (id, _) = shardwright::copy_and_verify(&setup, &shardwright::half_request())?;
        Ok(Self {
            setup,
            shards: [source, target],
            id,
            completed: 0,
            given_up: 0,
        })
    }

    /// Returns the folder for the files of the run.
    pub(crate) fn folder(&self) -> &Path {
        self.setup.folder()
    }

    /// Returns the number of cutover attempts that were given up and repeated so far.
    pub(crate) fn given_up(&self) -> i64 {
        self.given_up
    }

    /// Makes the next cutover, or the rollback of the last one, and returns its result.
    pub(crate) fn next(&mut self) -> anyhow::Result<CutoverResult> {
        let (verb, cutover_step, hold_step) = match self.completed % 2 {
            0 => ("approve", "cutover", "hold"),
            _ => ("rollback", "rollback", "hold_back"),
        };
        self.setup.shardwright(&[verb, &self.id, "--yes"])?;
        let begun = Instant::now();
        loop {
            std::thread::sleep(PAUSE);
            let shown = self.setup.show(&self.id)?;
            if shardwright::step(&shown, hold_step).is_ok_and(|step| step["state"] == "running") {
                let cut = output(shardwright::step(&shown, cutover_step)?)?;
                self.completed += 1;
                self.given_up = cut.attempt.0 - self.completed;
                return Ok(cut);
            }
            if begun.elapsed() > LIMIT || shown["state"] == "failed" {
                bail!(
                    "{verb} is not complete after {:?}: {shown}",
                    begun.elapsed()
                );
            }
        }
    }
}

/// Returns the result that the agent reported for a step.
fn output(step: &Value) -> anyhow::Result<CutoverResult> {
    let output = step.get("output").context("the step has no output")?;
    Ok(serde_json::from_value(output.clone())?)
}
