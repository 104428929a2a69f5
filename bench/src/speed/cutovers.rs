//! Cutover after cutover of one migration, forward and back, on servers of its own: what the agents say of each.

use super::ground::Ground;
use super::ours;
use super::place::Place;
use anyhow::{Context, bail};
use plans::step::cutover::CutoverResult;
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// Rows of the largest table.
pub(crate) const ITEMS: u64 = 200_000;
/// A cutover may take this long, with all attempts.
const LIMIT: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(200);

/// A migration whose keys go back and forth.
#[derive(Debug)]
pub(crate) struct Cutovers {
    ground: Ground,
    /// Who has the keys by turns, the first at first.
    pub(crate) shards: [Place; 2],
    id: String,
    made: i64,
    given_up: i64,
}

impl Cutovers {
    /// Starts everything and lets the migration wait for its first cutover.
    pub(crate) fn start(programs: &Path) -> anyhow::Result<Self> {
        let ground = Ground::start(programs)?;
        let source = Place::new(&ground.source, "bench")?;
        let target = Place::new(&ground.target, "ours")?;
        source.remake()?;
        target.remake()?;
        source.script(include_str!("data.sql"), &[("items", ITEMS)])?;
        ours::register(&ground, &source, &target)?;
        let (id, _) = ours::copy_and_verify(&ground, &ours::half())?;
        Ok(Self {
            ground,
            shards: [source, target],
            id,
            made: 0,
            given_up: 0,
        })
    }

    /// Files of the run.
    pub(crate) fn folder(&self) -> &Path {
        self.ground.folder()
    }

    /// Attempts that were given up and made again, so far.
    pub(crate) fn given_up(&self) -> i64 {
        self.given_up
    }

    /// Makes the next one: what it took.
    pub(crate) fn next(&mut self) -> anyhow::Result<CutoverResult> {
        let (verb, step, then) = match self.made % 2 {
            0 => ("approve", "cutover", "hold"),
            _ => ("rollback", "rollback", "hold_back"),
        };
        self.ground.shardwright(&[verb, &self.id, "--yes"])?;
        let begun = Instant::now();
        loop {
            std::thread::sleep(PAUSE);
            let shown = self.ground.show(&self.id)?;
            if ours::step(&shown, then).is_ok_and(|step| step["state"] == "running") {
                let cut = output(ours::step(&shown, step)?)?;
                self.made += 1;
                self.given_up = cut.attempt - self.made;
                return Ok(cut);
            }
            if begun.elapsed() > LIMIT || shown["state"] == "failed" {
                bail!("no {verb} after {:?}: {shown}", begun.elapsed());
            }
        }
    }
}

fn output(step: &Value) -> anyhow::Result<CutoverResult> {
    let output = step.get("output").context("a cutover without an output")?;
    Ok(serde_json::from_value(output.clone())?)
}
