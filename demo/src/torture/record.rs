//! The file of results: the result of every run, and the sums.
//!
//! An injection session reads the file, adds its runs, and writes the file after each run. Results of another commit
//! are moved to another file.

use super::case::FaultCase;
use crate::error::DemoError;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The result of one run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunRecord {
    /// `COMPONENT@PLACE/FAULT`.
    pub case: String,
    /// The seed, with which the case can be repeated.
    pub seed: u64,
    /// The component that had the fault.
    pub component: String,
    /// The step in which the fault occurred.
    pub step: String,
    /// The fault.
    pub fault: String,
    /// What the operator did: forward, back, back and forth, or abort.
    #[serde(rename = "way")]
    pub path: String,
    /// The mode of the migration: asynchronous, synchronous, or offline.
    #[serde(default)]
    pub mode: String,
    /// How the map divides keys, or what a key is: range, hash, list, schema, group or
    /// dependents.
    #[serde(default)]
    pub strategy: String,
    /// How the migration ended.
    pub outcome: String,
    /// True if the checks found no problem.
    pub survived: bool,
    /// The problems that the checks found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// The time in seconds from the first program's start to the last check.
    pub seconds: f64,
    /// The number of transactions whose commit was acknowledged to their client.
    pub acknowledged: u64,
    /// The number of transactions with an unknown outcome: they may exist or not.
    pub in_doubt: u64,
    /// The number of transactions that failed after all retries of the client. None of them may exist.
    pub given_up: u64,
    /// The number of acknowledged transactions that are missing on the owner.
    pub lost: u64,
    /// The number of transactions that exist more than once.
    pub duplicated: u64,
    /// The number of rows that no transaction wrote.
    pub phantom: u64,
    /// The number of rows on a shard that does not own their key.
    pub misplaced: u64,
    /// The number of rows whose values do not agree with the transactions.
    pub wrong: u64,
    /// The number of append lists whose history is not linearizable.
    #[serde(default)]
    pub not_linearizable: u64,
    /// The number of violations of the rules of the bank workload.
    #[serde(default)]
    pub money: u64,
    /// The number of tables that differed between the shards during the hold.
    #[serde(default)]
    pub diverged: u64,
    /// 1 if the migration did not end as requested within the time limit.
    pub stuck: u64,
    /// The number of leftover objects, sessions and files.
    pub leaked: u64,
    /// The longest write-blocked window in milliseconds, in either direction. It has no value if the cutover was
    /// offline or never completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_ms: Option<f64>,
    /// 1 if the longest window is longer than its budget because the fault occurred after the seal, when neither shard
    /// may open without a controller and an agent.
    #[serde(default)]
    pub over_budget: u64,
    /// What became of the capture when a server failed over: `continued` on the promoted server, `resynchronized`, or
    /// `kept`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub capture: String,
    /// How often the operator had to resume a failed migration.
    pub resumed: u32,
    /// The number of migrations that were aborted without a command and submitted again.
    pub resubmitted: u32,
    /// The folder with logs and ledger of a run that was not survived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<PathBuf>,
}

/// The sums of several runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RecordSums {
    /// The number of runs.
    pub runs: u64,
    /// The number of runs in which the checks found no problem.
    pub survived: u64,
    /// The number of transactions whose commit was acknowledged to their client.
    pub acknowledged: u64,
    /// The number of acknowledged transactions that are missing on the owner.
    pub lost: u64,
    /// The number of transactions that exist more than once.
    pub duplicated: u64,
    /// The number of rows that no transaction wrote.
    pub phantom: u64,
    /// The number of rows on a shard that does not own their key.
    pub misplaced: u64,
    /// The number of rows whose values do not agree with the transactions.
    pub wrong: u64,
    /// The number of append lists whose history is not linearizable.
    #[serde(default)]
    pub not_linearizable: u64,
    /// The number of violations of the rules of the bank workload.
    #[serde(default)]
    pub money: u64,
    /// The number of tables that differed between the shards during the hold.
    #[serde(default)]
    pub diverged: u64,
    /// The number of migrations that did not end as requested within the time limit.
    pub stuck: u64,
    /// The number of leftover objects, sessions and files.
    pub leaked: u64,
    /// The number of runs whose write-blocked window was longer than its budget because the fault occurred after the
    /// seal.
    #[serde(default)]
    pub over_budget: u64,
}

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ResultsFile {
    /// The commit that was tested.
    pub commit: String,
    /// The seed that determines the order of the cases and their seeds.
    pub seed: u64,
    /// The sums of all runs.
    #[serde(flatten)]
    pub sums: RecordSums,
    /// The number of all cases.
    pub cases_in_all: u64,
    /// The number of cases that were run at least once.
    pub cases_run: u64,
    /// The cases that cannot run on this machine and are not counted: their number, their faults, and the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// The sums by component.
    pub by_component: BTreeMap<String, RecordSums>,
    /// The sums by the step in which the fault occurred.
    pub by_step: BTreeMap<String, RecordSums>,
    /// The sums by fault.
    pub by_fault: BTreeMap<String, RecordSums>,
    /// The sums by the mode of the migration.
    #[serde(default)]
    pub by_mode: BTreeMap<String, RecordSums>,
    /// All runs.
    pub cases: Vec<RunRecord>,
}

impl RecordSums {
    fn add(&mut self, record: &RunRecord) {
        self.runs += 1;
        self.survived += u64::from(record.survived);
        self.acknowledged += record.acknowledged;
        self.lost += record.lost;
        self.duplicated += record.duplicated;
        self.phantom += record.phantom;
        self.misplaced += record.misplaced;
        self.wrong += record.wrong;
        self.not_linearizable += record.not_linearizable;
        self.money += record.money;
        self.diverged += record.diverged;
        self.stuck += record.stuck;
        self.leaked += record.leaked;
        self.over_budget += record.over_budget;
    }
}

impl ResultsFile {
    /// Creates an empty file.
    pub(super) fn begin(commit: &str, seed: u64) -> Self {
        Self {
            commit: commit.to_owned(),
            seed,
            ..Self::default()
        }
    }

    /// Reads the results of earlier injection sessions for this commit. `seed` is used for a new file.
    pub(super) fn load(path: &Path, commit: &str, seed: Option<u64>) -> Result<Self, DemoError> {
        let failed = || DemoError::io(format!("read {}", path.display()));
        let new = Self::begin(commit, seed.unwrap_or(1));
        let text = match std::fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(new),
            read => read.map_err(failed())?,
        };
        let old: Self = serde_json::from_slice(&text)
            .map_err(std::io::Error::other)
            .map_err(failed())?;
        let is_same_session = old.commit == commit && seed.is_none_or(|seed| seed == old.seed);
        if is_same_session {
            return Ok(old);
        }
        let old_file = unused_name(path, &old);
        std::fs::rename(path, &old_file).map_err(failed())?;
        Ok(new)
    }

    /// Adds a run.
    pub(super) fn push(&mut self, record: RunRecord) {
        self.sums.add(&record);
        let by = [
            (&mut self.by_component, &record.component),
            (&mut self.by_step, &record.step),
            (&mut self.by_fault, &record.fault),
            (&mut self.by_mode, &record.mode),
        ];
        for (sums, name) in by {
            sums.entry(name.clone()).or_default().add(&record);
        }
        self.cases.push(record);
        let names: BTreeSet<&str> = self.cases.iter().map(|it| it.case.as_str()).collect();
        self.cases_run = u64::try_from(names.len()).unwrap_or_default();
    }

    /// Returns how often a case was run with this strategy. Records of earlier versions have none: they are of range maps.
    pub(super) fn run_count(&self, case: &FaultCase, strategy: &str) -> u64 {
        let name = case.to_string();
        let is_same = |record: &&RunRecord| {
            let is_range = record.strategy.is_empty() && strategy == "range";
            record.case == name && (is_range || record.strategy == strategy)
        };
        let same = self.cases.iter().filter(is_same);
        u64::try_from(same.count()).unwrap_or_default()
    }

    /// Writes the whole file.
    pub(super) fn save(&self, path: &Path) -> Result<(), DemoError> {
        let failed = || DemoError::io(format!("write {}", path.display()));
        let text = serde_json::to_vec_pretty(self).map_err(std::io::Error::other);
        let new = path.with_extension("new");
        std::fs::write(&new, text.map_err(failed())?).map_err(failed())?;
        std::fs::rename(&new, path).map_err(failed())
    }

    /// Returns whether every run was survived.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.sums.runs == self.sums.survived
    }
}

/// Returns an unused name in the same folder.
fn unused_name(path: &Path, old: &ResultsFile) -> PathBuf {
    let commit: String = old.commit.chars().take(12).collect();
    let name = |number: u32| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        path.with_file_name(format!("{stem}-{commit}-{}-{number}.json", old.seed))
    };
    let free = (1..).map(name).find(|name| !name.exists());
    free.unwrap_or_else(|| path.with_extension("old"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(case: &str, survived: bool) -> RunRecord {
        let (component, rest) = case.split_once('@').unwrap();
        let (step, fault) = rest.split_once('/').unwrap();
        RunRecord {
            case: case.to_owned(),
            component: component.to_owned(),
            step: step.to_owned(),
            fault: fault.to_owned(),
            survived,
            acknowledged: 10,
            ..RunRecord::default()
        }
    }

    #[test]
    fn sessions_at_one_commit_add_up_and_another_commit_gets_a_new_file() {
        let name = format!("shardwright-torture-file-{}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("torture.json");
        let mut first = ResultsFile::load(&path, "aaa", None).unwrap();
        first.push(record("agent@copy/kill", true));
        first.save(&path).unwrap();
        let mut second = ResultsFile::load(&path, "aaa", None).unwrap();
        assert_eq!(second, first);
        second.push(record("store@copy/kill", false));
        second.save(&path).unwrap();
        assert_eq!((second.sums.runs, second.sums.survived), (2, 1));
        assert_eq!(second.by_step["copy"].acknowledged, 20);
        assert!(!second.is_clean());
        let third = ResultsFile::load(&path, "bbb", None).unwrap();
        assert_eq!(third.sums, RecordSums::default());
        let old_file = unused_name(&path, &second);
        assert!(
            old_file.ends_with("torture-aaa-1-2.json"),
            "{}",
            old_file.display()
        );
        std::fs::remove_dir_all(dir).unwrap();
    }
}
