//! Fault injection: runs with one fault each, for every component at every place, and counts of the runs that were
//! survived.
//!
//! [`means`] omits what the machine does not permit. Servers are started once; then the cases run in an order that
//! depends on the seed ([`case`]). Each run has its own databases and programs ([`run`]), and its own servers if the
//! fault needs a special disk or clock. Every result is in the file before the next run begins ([`record`]). A run that
//! was not survived keeps its folder, and the next run gets new servers.

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

/// The options of an injection session: a series of runs that one command starts.
#[derive(Debug, Clone)]
pub struct FaultInjection {
    /// The maximum number of runs.
    pub runs: Option<u64>,
    /// After this time no new run begins.
    pub time: Option<Duration>,
    /// Determines the order of the cases and their seeds. With `only` it is the seed of the runs themselves.
    pub seed: Option<u64>,
    /// Only these cases, once each.
    pub only: Vec<CaseFilter>,
    /// The file of results. New results are added to it.
    pub json: Option<PathBuf>,
    /// The commit that is tested. Results of another commit are moved to another file.
    pub commit: String,
    /// For how long network data is held, and a long transaction stays open.
    pub lasts: Duration,
    /// The number of concurrent runs, each with its own servers.
    pub jobs: usize,
    /// True to keep the folder of every run.
    pub keep: bool,
    /// The folder of the programs; by default that of this program.
    pub programs: Option<PathBuf>,
}

/// An injection session that is in progress.
#[derive(Debug)]
struct InjectionSession<'s> {
    injection: &'s FaultInjection,
    terms: RunTerms,
    means: MissingMeans,
    begun: Instant,
    /// The number of started runs, which makes names of databases unique.
    started: AtomicU64,
    state: Mutex<SessionState>,
}

#[derive(Debug)]
struct SessionState {
    results: ResultsFile,
    /// The cases that remain, in reverse order.
    queue: Vec<(FaultCase, u64)>,
    runs: u64,
}

/// Executes an injection session. It prints a line for each run, and the tables at the end.
///
/// # Errors
/// [`DemoError`] if no run was possible. A run that was not survived is in the results.
pub fn run(injection: &FaultInjection) -> LocalBoxFuture<'_, Result<ResultsFile, DemoError>> {
    Box::pin(run_sitting(injection))
}

async fn run_sitting(injection: &FaultInjection) -> Result<ResultsFile, DemoError> {
    // Remove clusters of earlier runs that were killed.
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

    /// Executes case after case on its own servers.
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
            // Remains of a failed run on its servers must not make the next run fail.
            if plain {
                // After a failover or a restore of the source, the servers are replaced too.
                let same = case.fault != fault::Fault::Failover && !case.is_setback();
                let whole = record.survived && same;
                ground = Some(own).filter(|_| whole);
            }
            self.keep(record).await?;
        }
        Ok(())
    }

    /// Returns the next case and its seed, unless the injection session has ended.
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

/// Returns the cases that were named, once each.
fn only(injection: &FaultInjection, cases: Vec<FaultCase>) -> Vec<(FaultCase, u64)> {
    let admitted = |case: &FaultCase| injection.only.iter().any(|only| only.admits(case));
    let chosen = cases.into_iter().filter(admitted);
    let seed = |case: &FaultCase| injection.seed.unwrap_or_else(|| case.seed(1, 0));
    let mut queue: Vec<(FaultCase, u64)> = chosen.map(|case| (case.clone(), seed(&case))).collect();
    queue.reverse();
    queue
}

/// Returns the cases with fewer runs than others, or all cases with new seeds.
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
