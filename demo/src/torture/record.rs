//! The file of results: what every run ended with, and the sums that follow from it.
//!
//! A sitting reads it, adds its runs and writes it after each. Runs at another commit are kept under another name.

use super::case::FaultCase;
use crate::error::DemoError;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// One run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunRecord {
    /// `COMPONENT@PLACE/FAULT`.
    pub case: String,
    /// What replays it together with the case.
    pub seed: u64,
    /// Who suffered the fault.
    pub component: String,
    /// The step in which it struck.
    pub step: String,
    /// What it was.
    pub fault: String,
    /// What the operator did: forward, back, back and forth, or abort.
    #[serde(rename = "way")]
    pub path: String,
    /// How it kept both copies in step: asynchronous, synchronous, or offline.
    #[serde(default)]
    pub mode: String,
    /// How the migration ended.
    pub outcome: String,
    /// Nothing is amiss.
    pub survived: bool,
    /// What is amiss.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// From the first program's start to the last check.
    pub seconds: f64,
    /// Transactions that a client holds to be committed.
    pub acknowledged: u64,
    /// Transactions that may be there or not.
    pub in_doubt: u64,
    /// Transactions that failed after all of the client's retries; none of them may be there.
    pub given_up: u64,
    /// Acknowledged transactions that are not on the owner.
    pub lost: u64,
    /// Transactions that are there more than once.
    pub duplicated: u64,
    /// Rows that nobody wrote.
    pub phantom: u64,
    /// Rows on a shard that does not own their key.
    pub misplaced: u64,
    /// Rows with other values than the transactions add up to.
    pub wrong: u64,
    /// Lists whose calls no order explains.
    #[serde(default)]
    pub not_linearizable: u64,
    /// What is wrong with the bank's money.
    #[serde(default)]
    pub money: u64,
    /// Tables that differed between both copies during the hold.
    #[serde(default)]
    pub diverged: u64,
    /// 1 where the migration did not end as it was asked to in time.
    pub stuck: u64,
    /// Objects, sessions and files of ours that were left.
    pub leaked: u64,
    /// The longest write-blocked window, milliseconds, forward or back; none where the cutover was offline or never came
    /// to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_ms: Option<f64>,
    /// 1 where that is longer than the budget, because the fault struck behind the seal, where nothing may open the keys.
    #[serde(default)]
    pub over_budget: u64,
    /// Times that the operator had to resume a failed migration.
    pub resumed: u32,
    /// Migrations that unwound unasked and were submitted again.
    pub resubmitted: u32,
    /// Where logs and ledger of a run that was not survived are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<PathBuf>,
}

/// Sums over runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RecordSums {
    /// Runs.
    pub runs: u64,
    /// Runs after which nothing was amiss.
    pub survived: u64,
    /// Transactions that a client holds to be committed.
    pub acknowledged: u64,
    /// Acknowledged transactions that are not on the owner.
    pub lost: u64,
    /// Transactions that are there more than once.
    pub duplicated: u64,
    /// Rows that nobody wrote.
    pub phantom: u64,
    /// Rows on a shard that does not own their key.
    pub misplaced: u64,
    /// Rows with other values than the transactions add up to.
    pub wrong: u64,
    /// Lists whose calls no order explains.
    #[serde(default)]
    pub not_linearizable: u64,
    /// What is wrong with the bank's money.
    #[serde(default)]
    pub money: u64,
    /// Tables that differed between both copies during the hold.
    #[serde(default)]
    pub diverged: u64,
    /// Migrations that did not end as they were asked to in time.
    pub stuck: u64,
    /// Objects, sessions and files of ours that were left.
    pub leaked: u64,
    /// Runs whose write-blocked window was longer than its budget, because the fault struck behind the seal.
    #[serde(default)]
    pub over_budget: u64,
}

/// The whole file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ResultsFile {
    /// The commit that was tortured.
    pub commit: String,
    /// What the order of the cases and their seeds follow from.
    pub seed: u64,
    /// Over all runs.
    #[serde(flatten)]
    pub sums: RecordSums,
    /// Cases that there are.
    pub cases_in_all: u64,
    /// Cases that were run at least once.
    pub cases_run: u64,
    /// Cases that could not be run on this machine and are in no number: how many, of which faults, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// By who suffered the fault.
    pub by_component: BTreeMap<String, RecordSums>,
    /// By the step in which it struck.
    pub by_step: BTreeMap<String, RecordSums>,
    /// By what it was.
    pub by_fault: BTreeMap<String, RecordSums>,
    /// By how the migration kept both copies in step.
    #[serde(default)]
    pub by_mode: BTreeMap<String, RecordSums>,
    /// Every run.
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
    /// Nothing yet.
    pub(super) fn begin(commit: &str, seed: u64) -> Self {
        Self {
            commit: commit.to_owned(),
            seed,
            ..Self::default()
        }
    }

    /// What earlier sittings at this commit left in the file; `seed` is for a new file.
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
        let same = old.commit == commit && seed.is_none_or(|seed| seed == old.seed);
        if same {
            return Ok(old);
        }
        let kept = kept_name(path, &old);
        std::fs::rename(path, &kept).map_err(failed())?;
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

    /// How often a case was run.
    pub(super) fn times(&self, case: &FaultCase) -> u64 {
        let name = case.to_string();
        let same = self.cases.iter().filter(|record| record.case == name);
        u64::try_from(same.count()).unwrap_or_default()
    }

    /// Writes the file as a whole.
    pub(super) fn save(&self, path: &Path) -> Result<(), DemoError> {
        let failed = || DemoError::io(format!("write {}", path.display()));
        let text = serde_json::to_vec_pretty(self).map_err(std::io::Error::other);
        let new = path.with_extension("new");
        std::fs::write(&new, text.map_err(failed())?).map_err(failed())?;
        std::fs::rename(&new, path).map_err(failed())
    }

    /// Whether every run was survived.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.sums.runs == self.sums.survived
    }
}

/// A name beside the file's that no other file has.
fn kept_name(path: &Path, old: &ResultsFile) -> PathBuf {
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
    fn sittings_at_one_commit_add_up_and_another_commit_begins_anew() {
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
        let kept = kept_name(&path, &second);
        assert!(kept.ends_with("torture-aaa-1-2.json"), "{}", kept.display());
        std::fs::remove_dir_all(dir).unwrap();
    }
}
