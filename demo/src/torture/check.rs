//! Checks the result of a run: rows, histories and bank with the checker, then leftover objects of the migration.
//!
//! While the agents run, it checks every row, and the objects on the shards and in the spools. After all programs have
//! ended, it checks sessions, slots and temporary files. The comparison of the rows on both shards is in
//! [`super::equality`], because it is possible only during the hold: a completed migration has removed the old rows,
//! and rows of an unfinished one need not be equal.

use super::place::FaultPlace;
use super::record::RunRecord;
use super::run::{FaultRun, error_chain};
use crate::api::Api;
use crate::checker::{self, CheckInput, CheckReport};
use crate::drive;
use crate::error::DemoError;
use crate::fleet::{SOURCE, ServerGroup, TARGET};
use crate::ledger::Ledger;
use crate::leftovers::Leftovers;
use crate::report::RunOutcome;
use plans::id::ShardName;
use std::path::Path;
use std::time::{Duration, Instant};

/// Sessions need time to end, and agents need time to find spools that are no longer needed.
const LEFTOVERS_LIMIT: Duration = Duration::from_secs(60);
/// The outcome of a migration that failed because of a permitted effect of the fault.
pub(super) const FAILED: &str = "failed";
const POLL_INTERVAL: Duration = Duration::from_millis(200);

impl FaultRun<'_> {
    pub(super) async fn check(
        &self,
        api: &Api,
        outcome: Option<RunOutcome>,
        ledger: &Ledger,
        record: &mut RunRecord,
    ) -> Result<(), DemoError> {
        let hold = match outcome {
            Some(RunOutcome::Completed | RunOutcome::Unwound | RunOutcome::RolledBack) => false,
            Some(RunOutcome::Failed) | None => true,
        };
        let checked = self.run_checker(api, ledger, hold).await?;
        self.run_log.write(&format!("{checked:?}"));
        record.add_check(&checked);
        Ok(())
    }

    /// Runs the checker. `hold`: the migration is in the hold, and the old owner still has rows of the moving keys.
    pub(super) async fn run_checker(
        &self,
        api: &Api,
        ledger: &Ledger,
        hold: bool,
    ) -> Result<CheckReport, DemoError> {
        ledger.flush().map_err(DemoError::io("write the ledger"))?;
        let map = api.map(&self.scenario.map.name).await?;
        let shards = self.fleet.admins()?.into_iter();
        let input = CheckInput {
            shards: shards
                .filter(|(shard, _)| drive::is_shard(&self.scenario, &map, shard.as_str()))
                .collect(),
            map,
            ledger: self.fleet.dir().join("ledger.jsonl"),
            hold,
        };
        Ok(checker::check(&input).await?)
    }

    /// Counts the objects that an ended migration has left on the shards and in the agents' spools.
    pub(super) async fn count_leftovers(
        &self,
        outcome: Option<RunOutcome>,
        record: &mut RunRecord,
    ) -> Result<(), DemoError> {
        let sources: &[ShardName] = match outcome {
            // A seeded target refuses the keys of the rows that it had as a standby.
            Some(RunOutcome::Completed) if self.is_seeded() => &[SOURCE.into(), TARGET.into()],
            Some(RunOutcome::Completed) => &[SOURCE.into()],
            Some(RunOutcome::Unwound | RunOutcome::RolledBack) => &[],
            // Objects of an unfinished migration are not leftovers.
            Some(RunOutcome::Failed) | None => return Ok(()),
        };
        let spools = self.fleet.dir().join("spool");
        let begun = Instant::now();
        let (left, spooled) = loop {
            let left = Leftovers::count(&self.fleet.admins()?, sources).await?;
            let spooled = count_files(&spools);
            if left.total() + spooled == 0 || begun.elapsed() > LEFTOVERS_LIMIT {
                break (left, spooled);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        };
        record.leaked += left.total() + spooled;
        if left.total() > 0 {
            record
                .problems
                .push(format!("objects that remain on the shards: {left}"));
        }
        if spooled > 0 {
            record
                .problems
                .push(format!("{spooled} spool files that remain"));
        }
        Ok(())
    }

    /// After all programs have ended, checks that they left nothing on the servers or in their folder.
    pub(super) async fn check_after_exit(&self, servers: &ServerGroup, record: &mut RunRecord) {
        // Objects of an unfinished migration are not leftovers.
        if record.stuck > 0 || record.outcome == FAILED {
            return;
        }
        if self.is_seeded()
            && let Err(error) = self.fleet.drop_unused_standby_slot().await
        {
            record.problems.push(error_chain(&error));
        }
        let begun = Instant::now();
        let mut remaining = servers.count_remaining().await;
        while remaining.as_ref().is_ok_and(|count| *count > 0) && begun.elapsed() < LEFTOVERS_LIMIT
        {
            tokio::time::sleep(POLL_INTERVAL).await;
            remaining = servers.count_remaining().await;
        }
        match remaining {
            Ok(0) => {}
            Ok(count) => {
                record.leaked += count.unsigned_abs();
                record.problems.push(format!(
                    "{count} sessions, slots, prepared transactions or entries in synchronous_standby_names remain after all programs have ended"
                ));
            }
            Err(error) => record.problems.push(error_chain(&error)),
        }
        let files = count_files(&self.fleet.scratch());
        if files > 0 {
            record.leaked += files;
            record
                .problems
                .push(format!("{files} temporary files that remain"));
        }
        // The servers of a seeded run are used only once, and a standby drops no database.
        if self.is_seeded() {
            return;
        }
        if let Err(error) = servers.drop_databases(&self.fleet).await {
            record.problems.push(error_chain(&error));
        }
    }
}

/// Returns the number of files in a folder and in its subfolders.
fn count_files(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    // An agent permanently keeps the keys of its processes.
    let is_process_key = |path: &Path| path.extension().is_some_and(|end| end == "process");
    entries
        .filter(|entry| !is_process_key(&entry.path()))
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => count_files(&entry.path()),
            Ok(_) | Err(_) => 1,
        })
        .sum()
}

impl RunRecord {
    /// Checks that no write-blocked window is longer than its budget. If the fault occurred after the seal, a longer
    /// window is only counted.
    pub(super) fn add_windows(&mut self, windows: &[f64], budget: f64, place: &FaultPlace) {
        self.window_ms = windows.iter().copied().reduce(f64::max);
        let Some(longest) = self.window_ms.filter(|longest| *longest > budget) else {
            return;
        };
        if place.is_after_seal() {
            self.over_budget = 1;
        } else {
            self.problems.push(format!(
                "writes were refused for {longest:.0} ms, longer than the budget of {budget:.0} ms"
            ));
        }
    }

    pub(super) fn add_check(&mut self, checked: &CheckReport) {
        self.acknowledged = checked.acknowledged;
        self.in_doubt = checked.in_doubt;
        self.given_up = checked.failed;
        self.lost = checked.lost;
        self.duplicated = checked.duplicated;
        self.phantom = checked.phantom;
        self.misplaced = checked.misplaced;
        self.wrong = checked.wrong;
        self.not_linearizable = checked.histories.not_linearizable;
        self.money = checked.bank.violations;
        let zeros = [
            ("acknowledged transactions lost", self.lost),
            ("transactions that exist more than once", self.duplicated),
            ("rows that no transaction wrote", self.phantom),
            ("rows on the wrong shard", self.misplaced),
            ("wrong values", self.wrong),
            (
                "append lists whose history is not linearizable",
                self.not_linearizable,
            ),
            ("violations of the rules of the bank workload", self.money),
            (
                "writes that the standby accepted before it owned the keys",
                checked.standby.accepted,
            ),
        ];
        let bad = zeros.into_iter().filter(|(_, count)| *count > 0);
        self.problems
            .extend(bad.map(|(what, count)| format!("{count} {what}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checker::{Bank, Histories};

    #[test]
    fn not_linearizable_histories_and_bank_violations_are_problems() {
        let mut record = RunRecord::default();
        record.add_check(&CheckReport::default());
        assert!(record.problems.is_empty());
        let checked = CheckReport {
            histories: Histories {
                not_linearizable: 2,
                ..Histories::default()
            },
            bank: Bank {
                violations: 3,
                ..Bank::default()
            },
            ..CheckReport::default()
        };
        record.add_check(&checked);
        assert_eq!((record.not_linearizable, record.money), (2, 3));
        assert_eq!(record.problems.len(), 2, "{:?}", record.problems);
    }

    #[test]
    fn a_window_longer_than_its_budget_is_a_problem_unless_the_fault_occurred_after_the_seal() {
        let result = |name: &str, longest: f64| {
            let place = crate::torture::place::all()
                .into_iter()
                .find(|place| place.name == name)
                .unwrap();
            let mut record = RunRecord::default();
            record.add_windows(&[20.0, longest], 2_000.0, &place);
            (record.problems.len(), record.over_budget, record.window_ms)
        };
        assert_eq!(result("copy.half", 30.0), (0, 0, Some(30.0)));
        assert_eq!(result("copy.half", 2_001.0), (1, 0, Some(2_001.0)));
        assert_eq!(result("cutover.fenced", 2_001.0).0, 1);
        assert_eq!(result("cutover.before_check", 2_001.0).0, 1);
        assert_eq!(result("hold.started", 2_001.0).0, 1);
        for name in [
            "cutover.sealed",
            "rollback.flipped",
            "controller.rollback.after_flip",
        ] {
            assert_eq!(result(name, 2_001.0), (0, 1, Some(2_001.0)), "{name}");
        }
    }

    #[test]
    fn files_are_counted_in_every_folder_and_folders_are_not() {
        let name = format!("shardwright-torture-files-{}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(dir.join("agent-1").join("m-forward")).unwrap();
        assert_eq!(count_files(&dir), 0);
        std::fs::write(dir.join("agent-1").join("m-forward").join("1.spool"), "").unwrap();
        assert_eq!(count_files(&dir), 1);
        std::fs::write(dir.join("agent-1").join("agent-1.process"), "").unwrap();
        assert_eq!(count_files(&dir), 1);
        assert_eq!(count_files(&dir.join("nowhere")), 0);
        std::fs::remove_dir_all(dir).unwrap();
    }
}
