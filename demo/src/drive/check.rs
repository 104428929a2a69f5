//! The checks of a run: during the hold, and at the end.

use super::DemoRun;
use super::progress::print_line;
use crate::checker::{self, CheckInput, CheckReport};
use crate::error::DemoError;
use crate::fleet::TARGET;
use crate::ledger;
use crate::leftovers::Leftovers;
use crate::report::{RunOutcome, RunReport};
use crate::scenario::Scenario;
use crate::workload::Workload;
use plans::id::ShardName;
use plans::request::Seed;
use plans::shard_map::ShardMap;
use std::time::{Duration, Instant};

const EQUALITY_LIMIT: Duration = Duration::from_secs(60);
const SESSIONS_LIMIT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Pauses the clients that write, and waits until the old owner's rows equal the new owner's.
pub(super) async fn compare_during_hold(
    run: &DemoRun<'_>,
    workload: &Workload,
) -> Result<(), DemoError> {
    print_line("the clients pause until the rows of both shards are compared");
    workload.pause().await;
    let begun = Instant::now();
    let checked = loop {
        let checked = run.run_checker(true).await?;
        if checked.is_clean() || begun.elapsed() > EQUALITY_LIMIT {
            break checked;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    };
    workload.resume();
    if checked.is_clean() {
        print_line("the rows of both shards are equal during the hold");
        return Ok(());
    }
    let problems = vec![format!(
        "the checker found problems during the hold: {checked:?}"
    )];
    Err(DemoError::Unclean { problems })
}

impl DemoRun<'_> {
    /// Checks after an abort that no object of the migration remains, and that the source accepts writes to the keys.
    pub(super) async fn check_after_abort(&self) -> Result<(), DemoError> {
        let left = self.leftovers(&[]).await?;
        if left.total() > 0 {
            let problems = vec![format!("objects that remain after the abort: {left}")];
            return Err(DemoError::Unclean { problems });
        }
        let phase = self.ledger.phase();
        let before = self.ledger.tally().moving_by_phase[phase.index()];
        self.wait_for_moving(phase, before + 20).await
    }

    /// Returns the remaining objects. It waits for a moment, because sessions need time to end.
    async fn leftovers(&self, sources: &[ShardName]) -> Result<Leftovers, DemoError> {
        let begun = Instant::now();
        loop {
            let left = Leftovers::count(&self.fleet.admins()?, sources).await?;
            if left.total() == 0 || begun.elapsed() > SESSIONS_LIMIT {
                return Ok(left);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Carries out all checks after the clients have stopped.
    pub(super) async fn check(&self, report: &mut RunReport) -> Result<(), DemoError> {
        print_line("checking every row against the ledger");
        report.map_version.after = self.api.map(&self.scenario.map.name).await?.version.0;
        report.clients = self.map.stats().into();
        if self.options.is_seeded() {
            self.fleet.drop_unused_standby_slot().await?;
        }
        report.ledger = match report.result {
            // A failed migration keeps its copied rows, which need not be equal.
            RunOutcome::Failed => CheckReport {
                diverged: 0,
                ..self.run_checker(true).await?
            },
            RunOutcome::Completed | RunOutcome::Unwound | RunOutcome::RolledBack => {
                self.run_checker_program().await?
            }
        };
        self.write_history()?;
        self.balance_after(report).await?;
        report.leftovers = self
            .leftovers(&self.shards_with_fewer_keys(report).await?)
            .await?;
        Ok(())
    }

    /// Writes the histories of lists to the file that the user has named.
    fn write_history(&self) -> Result<(), DemoError> {
        let Some(file) = &self.options.history else {
            return Ok(());
        };
        let ledger = self.fleet.dir().join("ledger.jsonl");
        let written = ledger::export(&ledger, file);
        let events = written.map_err(DemoError::io(format!("write {}", file.display())))?;
        print_line(&format!(
            "{events} events of histories are in {}",
            file.display()
        ));
        Ok(())
    }

    /// Returns the shards with fewer keys than initially. After a completed move the source keeps a guard permanently;
    /// after an abort or a rollback no object remains.
    async fn shards_with_fewer_keys(
        &self,
        report: &RunReport,
    ) -> Result<Vec<ShardName>, DemoError> {
        match report.result {
            RunOutcome::Completed => {}
            RunOutcome::Unwound | RunOutcome::RolledBack | RunOutcome::Failed => {
                return Ok(Vec::new());
            }
        }
        let first = &self.scenario.map;
        let now = self.api.map(&first.name).await?;
        let shards = first.shards().into_iter();
        let smaller = shards.filter(|shard| !now.owned_by(shard).covers(&first.owned_by(shard)));
        // A seeded target refuses the keys of the rows that it had as a standby.
        let seeded = self.options.is_seeded().then(|| TARGET.into());
        Ok(smaller.chain(seeded).collect())
    }

    /// Runs the checker in this process. `hold`: old owners still have rows of the moving keys.
    async fn run_checker(&self, hold: bool) -> Result<CheckReport, DemoError> {
        self.ledger
            .flush()
            .map_err(DemoError::io("write the ledger"))?;
        let map = self.api.map(&self.scenario.map.name).await?;
        let input = CheckInput {
            shards: self
                .fleet
                .admins()?
                .into_iter()
                .filter(|(shard, _)| is_shard(&self.scenario, &map, shard.as_str()))
                .collect(),
            map,
            ledger: self.fleet.dir().join("ledger.jsonl"),
            hold,
        };
        Ok(checker::check(&input).await?)
    }

    /// Runs the checker as a separate program, or in this process if the program is not installed.
    async fn run_checker_program(&self) -> Result<CheckReport, DemoError> {
        let program = self.fleet.programs().join("shardwright-ledger");
        if !program.is_file() {
            return self.run_checker(false).await;
        }
        self.ledger
            .flush()
            .map_err(DemoError::io("write the ledger"))?;
        let mut command = tokio::process::Command::new(&program);
        command.kill_on_drop(true);
        if let Some(file) = self.fleet.identity().token_file {
            command.env("SHARDWRIGHT_TOKEN_FILE", file);
        }
        command.args([
            "check",
            "--map-url",
            &self.api.map_url(&self.scenario.map.name),
        ]);
        command
            .arg("--ledger")
            .arg(self.fleet.dir().join("ledger.jsonl"));
        let map = self.api.map(&self.scenario.map.name).await?;
        let shards = self.fleet.shards().into_iter();
        for (name, dsn) in shards.filter(|(name, _)| is_shard(&self.scenario, &map, name)) {
            command.arg("--shard").arg(format!("{name}={dsn}"));
        }
        let output = command.output().await;
        let output = output.map_err(DemoError::io(format!("run {}", program.display())))?;
        serde_json::from_slice(&output.stdout).map_err(|_| DemoError::Program {
            program: program.display().to_string(),
            output: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

/// Returns whether a server is one of the shards that the checker reads. A standby that does not own keys yet, or any
/// more, is none: whether it was promoted or not, it has all rows of the source.
pub(crate) fn is_shard(scenario: &Scenario, map: &ShardMap, shard: &str) -> bool {
    let is_seeded = scenario.request.options().seed == Seed::Standby;
    !is_seeded || shard != TARGET || !map.owned_by(&shard.into()).is_empty()
}
