//! The torture: runs with one fault each, of every component at every place, and the counts of what was survived.
//!
//! Order: what the machine does not allow is left out ([`means`]); servers are started once, then case after case in an
//! order that the seed decides ([`case`]); each run has databases and programs of its own ([`run`]), and servers too
//! where its fault takes a disk or a clock; every result is in the file before the next run begins ([`record`]).
//! A run that was not survived keeps its folder, and gets new servers after it.

mod backup;
mod blow;
mod case;
mod course;
mod deed;
mod fault;
mod journey;
mod judge;
mod level;
mod lines;
mod means;
mod mode;
mod place;
mod proxy;
mod record;
mod run;
mod setback;
mod standby;
mod story;
mod text;

pub use case::CaseFilter;
pub use record::{RecordSums, ResultsFile, RunRecord};
pub use text::summary;

use crate::error::DemoError;
use crate::fleet::{ServerGroup, TestEquipment};
use case::FaultCase;
use futures::future::LocalBoxFuture;
use means::MissingMeans;
use run::RunTerms;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Mutex;

/// What a sitting is to do.
#[derive(Debug, Clone)]
pub struct FaultInjection {
    /// Runs at most.
    pub runs: Option<u64>,
    /// No run is begun after this time.
    pub time: Option<Duration>,
    /// Decides the order of the cases and their seeds; with `only` it is the seed of the runs themselves.
    pub seed: Option<u64>,
    /// Only these cases, once each.
    pub only: Vec<CaseFilter>,
    /// The file of results, which is continued.
    pub json: Option<PathBuf>,
    /// The commit that is tortured; results of another one are put aside.
    pub commit: String,
    /// How long a black hole and a writer that does not end last.
    pub lasts: Duration,
    /// Runs side by side, each with servers of its own.
    pub jobs: usize,
    /// Keep the folder of every run.
    pub keep: bool,
    /// The folder of the programs; by default that of this program.
    pub programs: Option<PathBuf>,
}

/// A sitting under way.
#[derive(Debug)]
struct InjectionSession<'s> {
    injection: &'s FaultInjection,
    terms: RunTerms,
    means: MissingMeans,
    begun: Instant,
    /// Numbers databases.
    started: AtomicU64,
    state: Mutex<SessionState>,
}

#[derive(Debug)]
struct SessionState {
    results: ResultsFile,
    /// What is to be run, the next one last.
    queue: Vec<(FaultCase, u64)>,
    runs: u64,
}

/// Runs a sitting; prints a line for each run and the tables at the end.
///
/// # Errors
/// [`DemoError`] when no runs were possible; a run that was not survived is in the results.
pub fn run(injection: &FaultInjection) -> LocalBoxFuture<'_, Result<ResultsFile, DemoError>> {
    Box::pin(run_sitting(injection))
}

async fn run_sitting(injection: &FaultInjection) -> Result<ResultsFile, DemoError> {
    // Clusters of runs that were killed are nobody's any more.
    cluster::sweep(&cluster::temporary_base())?;
    let sitting = InjectionSession::begin(injection)?;
    let mut terminate =
        signal(SignalKind::terminate()).map_err(DemoError::io("listen for signals"))?;
    let workers = (0..injection.jobs.max(1)).map(|_| sitting.work());
    tokio::select! {
        worked = futures::future::try_join_all(workers) => worked.map(|_| ())?,
        _ = tokio::signal::ctrl_c() => return Err(DemoError::Interrupted),
        _ = terminate.recv() => return Err(DemoError::Interrupted),
    }
    let results = sitting.state.into_inner().results;
    println!("\n{}", summary(&results));
    Ok(results)
}

impl<'s> InjectionSession<'s> {
    fn begin(injection: &'s FaultInjection) -> Result<Self, DemoError> {
        let seed = injection.seed.filter(|_| injection.only.is_empty());
        let mut results = match &injection.json {
            Some(path) => ResultsFile::load(path, &injection.commit, seed)?,
            None => ResultsFile::begin(&injection.commit, seed.unwrap_or(1)),
        };
        let means = MissingMeans::find();
        let (cases, left_out) = means.part(case::shuffled(results.seed));
        results.cases_in_all = u64::try_from(cases.len()).unwrap_or_default();
        left_out.iter().for_each(|it| println!("left out: {it}"));
        results.left_out = left_out;
        let queue = match injection.only.is_empty() {
            true => Vec::new(),
            false => only(injection, cases),
        };
        if queue.is_empty() && !injection.only.is_empty() {
            let reasons = results.left_out;
            return Err(DemoError::LeftOut { reasons });
        }
        Ok(Self {
            injection,
            terms: RunTerms {
                lasts: injection.lasts,
                keep: injection.keep,
                programs: injection.programs.clone(),
            },
            means,
            begun: Instant::now(),
            started: AtomicU64::new(0),
            state: Mutex::new(SessionState {
                results,
                queue,
                runs: 0,
            }),
        })
    }

    /// Runs case after case on servers of its own.
    async fn work(&self) -> Result<(), DemoError> {
        let mut ground = None;
        while let Some((case, seed)) = self.next().await {
            let outfit = case.outfit();
            let plain = outfit == TestEquipment::Plain;
            let own = match ground.take_if(|_| plain) {
                Some(own) => own,
                None => ServerGroup::start(outfit).await?,
            };
            let number = self.started.fetch_add(1, Ordering::Relaxed);
            let record = run::perform(&own, &case, (seed, number), &self.terms).await?;
            // Whatever is left on the servers of a run that failed must not fail the next one.
            if plain {
                // Nor may the servers of one that failed over or went back.
                let same = case.fault != fault::Fault::Failover && !case.is_setback();
                let whole = record.survived && same;
                ground = Some(own).filter(|_| whole);
            }
            self.keep(record).await?;
        }
        Ok(())
    }

    /// The next case and its seed, unless the sitting is over.
    async fn next(&self) -> Option<(FaultCase, u64)> {
        let mut state = self.state.lock().await;
        let runs = self.injection.runs.is_some_and(|most| state.runs >= most);
        let time = self
            .injection
            .time
            .is_some_and(|most| self.begun.elapsed() >= most);
        if runs || time {
            return None;
        }
        if state.queue.is_empty() {
            if !self.injection.only.is_empty() {
                return None;
            }
            state.queue = next_pass(&state.results, &self.means);
        }
        state.runs += 1;
        state.queue.pop()
    }

    async fn keep(&self, record: RunRecord) -> Result<(), DemoError> {
        let mut state = self.state.lock().await;
        state.results.push(record.clone());
        println!("{}", text::line(&record, state.results.sums.runs));
        match &self.injection.json {
            Some(path) => state.results.save(path),
            None => Ok(()),
        }
    }
}

/// The cases that were named, once each.
fn only(injection: &FaultInjection, cases: Vec<FaultCase>) -> Vec<(FaultCase, u64)> {
    let admitted = |case: &FaultCase| injection.only.iter().any(|only| only.admits(case));
    let chosen = cases.into_iter().filter(admitted);
    let seed = |case: &FaultCase| injection.seed.unwrap_or_else(|| case.seed(1, 0));
    let mut queue: Vec<(FaultCase, u64)> = chosen.map(|case| (case.clone(), seed(&case))).collect();
    queue.reverse();
    queue
}

/// The cases that were run less often than others; all of them, with new seeds, where none was.
fn next_pass(results: &ResultsFile, means: &MissingMeans) -> Vec<(FaultCase, u64)> {
    let (cases, _) = means.part(case::shuffled(results.seed));
    let times: Vec<u64> = cases.iter().map(|case| results.times(case)).collect();
    let pass = times.iter().copied().min().unwrap_or_default();
    let due = cases.into_iter().zip(times).filter(|(_, n)| *n == pass);
    let mut queue: Vec<(FaultCase, u64)> = due
        .map(|(case, _)| (case.clone(), case.seed(results.seed, pass)))
        .collect();
    queue.reverse();
    queue
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sitting_goes_on_where_the_last_one_ended_and_then_begins_again() {
        let mut results = ResultsFile::begin("aaa", 3);
        let all = next_pass(&results, &MissingMeans::default());
        let record = |(case, seed): &(FaultCase, u64)| RunRecord {
            case: case.to_string(),
            seed: *seed,
            ..RunRecord::default()
        };
        results.push(record(all.last().unwrap()));
        let rest = next_pass(&results, &MissingMeans::default());
        assert_eq!(rest, all[..all.len() - 1]);
        for run in rest.iter().rev() {
            results.push(record(run));
        }
        let again = next_pass(&results, &MissingMeans::default());
        assert_eq!(again.len(), all.len());
        assert_ne!(again[0].1, all[0].1);
    }
}
