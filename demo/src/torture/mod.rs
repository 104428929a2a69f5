//! Fault injection: runs with one fault each, for every component at every place, and counts of the runs that were
//! survived.
//!
//! [`missing_equipment`] omits what the machine does not permit. Servers are started once; then the cases run in an
//! order that depends on the seed ([`case`]). Each run has its own databases and programs ([`run`]), and its own
//! servers if the fault needs a special disk or clock. Every result is in the file before the next run begins
//! ([`record`]). A run that was not survived keeps its folder, and the next run gets new servers.

mod backup;
mod case;
mod check;
mod equality;
mod failover;
mod fault;
mod follow;
mod missing_equipment;
mod mode;
mod operator;
mod operator_sql;
mod place;
mod planned_fault;
mod proxies;
mod proxy;
mod record;
mod run;
mod run_log;
mod source_restore;
mod standby;
mod text;

pub use case::CaseFilter;
pub use record::{RecordSums, ResultsFile, RunRecord};
pub use text::summary;

use crate::error::DemoError;
use crate::fleet::{ServerGroup, TestEquipment};
use crate::options::{KeyDivision, OptionError};
use case::FaultCase;
use futures::future::LocalBoxFuture;
use missing_equipment::MissingEquipment;
use plans::request::Seed;
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
    /// With `Seed::Standby`, every migration is seeded from a standby.
    pub seeding: Seed,
    /// The keys of the split shard. With whole tables some cases are left out.
    pub keys: KeyDivision,
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
    missing_equipment: MissingEquipment,
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
    Box::pin(run_session(injection))
}

async fn run_session(injection: &FaultInjection) -> Result<ResultsFile, DemoError> {
    // Remove clusters of earlier runs that were killed.
    cluster::sweep(&cluster::temporary_base())?;
    let session = InjectionSession::begin(injection)?;
    let mut terminate =
        signal(SignalKind::terminate()).map_err(DemoError::io("listen for signals"))?;
    let workers = (0..injection.jobs.max(1)).map(|_| session.work());
    tokio::select! {
        worked = futures::future::try_join_all(workers) => worked.map(|_| ())?,
        _ = tokio::signal::ctrl_c() => return Err(DemoError::Interrupted),
        _ = terminate.recv() => return Err(DemoError::Interrupted),
    }
    let results = session.state.into_inner().results;
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
        let missing_equipment = MissingEquipment::find();
        if injection.keys.shape.is_some() && injection.seeding == Seed::Standby {
            let reason =
                "a standby can become the target only if every table has the key's columns";
            return Err(OptionError::Contradiction { reason }.into());
        }
        let cases = cases_of(injection, results.seed);
        let (cases, left_out) = missing_equipment.split_possible(cases);
        results.cases_in_all = u64::try_from(cases.len()).unwrap_or_default();
        left_out.iter().for_each(|it| println!("not run: {it}"));
        results.left_out = left_out;
        let queue = match injection.only.is_empty() {
            true => Vec::new(),
            false => named_cases(injection, cases),
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
                keys: injection.keys,
                programs: injection.programs.clone(),
            },
            missing_equipment,
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
        let mut servers = None;
        while let Some((case, seed)) = self.next().await {
            let equipment = case.equipment();
            let is_plain = equipment == TestEquipment::Plain;
            let own = match servers.take_if(|_| is_plain) {
                Some(own) => own,
                None => ServerGroup::start(equipment).await?,
            };
            let number = self.started.fetch_add(1, Ordering::Relaxed);
            let record = run::perform(&own, &case, (seed, number), &self.terms).await?;
            // The next run gets new servers after a failed run, because objects that remain could make the next run
            // fail too.
            if is_plain {
                // A failover or a restore of the source replaces a server.
                let has_same_servers = !case.fault.promotes_standby() && !case.restores_source();
                let is_reusable = record.survived && has_same_servers;
                servers = Some(own).filter(|_| is_reusable);
            }
            self.add_record(record).await?;
        }
        Ok(())
    }

    /// Returns the next case and its seed, unless the injection session has ended.
    async fn next(&self) -> Option<(FaultCase, u64)> {
        let mut state = self.state.lock().await;
        let runs_reached = self.injection.runs.is_some_and(|max| state.runs >= max);
        let time_reached = self
            .injection
            .time
            .is_some_and(|max| self.begun.elapsed() >= max);
        if runs_reached || time_reached {
            return None;
        }
        if state.queue.is_empty() {
            if !self.injection.only.is_empty() {
                return None;
            }
            let cases = cases_of(self.injection, state.results.seed);
            let strategy = self.injection.keys.to_string();
            let (results, missing) = (&state.results, &self.missing_equipment);
            state.queue = least_run_cases(results, missing, (cases, &strategy));
        }
        state.runs += 1;
        state.queue.pop()
    }

    async fn add_record(&self, record: RunRecord) -> Result<(), DemoError> {
        let mut state = self.state.lock().await;
        state.results.push(record.clone());
        println!("{}", text::line(&record, state.results.sums.runs));
        match &self.injection.json {
            Some(path) => state.results.save(path),
            None => Ok(()),
        }
    }
}

/// Returns the cases that are possible with the keys, in the order of this seed.
fn cases_of(injection: &FaultInjection, seed: u64) -> Vec<FaultCase> {
    let mut cases = case::shuffled(seed, injection.seeding);
    let keys = injection.keys.shape.unwrap_or_default();
    cases.retain(|case| case.is_possible_with(keys));
    cases
}

/// Returns the cases that were named, once each.
fn named_cases(injection: &FaultInjection, cases: Vec<FaultCase>) -> Vec<(FaultCase, u64)> {
    let admitted = |case: &FaultCase| injection.only.iter().any(|only| only.admits(case));
    let chosen = cases.into_iter().filter(admitted);
    let seed = |case: &FaultCase| injection.seed.unwrap_or_else(|| case.seed(1, 0));
    let mut queue: Vec<(FaultCase, u64)> = chosen.map(|case| (case.clone(), seed(&case))).collect();
    queue.reverse();
    queue
}

/// Returns the cases with fewer runs than others, or all cases with new seeds.
fn least_run_cases(
    results: &ResultsFile,
    missing_equipment: &MissingEquipment,
    (cases, strategy): (Vec<FaultCase>, &str),
) -> Vec<(FaultCase, u64)> {
    let (cases, _) = missing_equipment.split_possible(cases);
    let run_counts: Vec<u64> = cases
        .iter()
        .map(|case| results.run_count(case, strategy))
        .collect();
    let pass = run_counts.iter().copied().min().unwrap_or_default();
    let due = cases
        .into_iter()
        .zip(run_counts)
        .filter(|(_, n)| *n == pass);
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
    fn a_session_continues_after_the_cases_of_the_last_one_and_then_repeats_all() {
        let mut results = ResultsFile::begin("aaa", 3);
        let least_run = |results: &ResultsFile| {
            let cases = case::shuffled(results.seed, Seed::Copy);
            least_run_cases(results, &MissingEquipment::default(), (cases, "range"))
        };
        let all = least_run(&results);
        let record = |(case, seed): &(FaultCase, u64)| RunRecord {
            case: case.to_string(),
            seed: *seed,
            ..RunRecord::default()
        };
        results.push(record(all.last().unwrap()));
        let rest = least_run(&results);
        assert_eq!(rest, all[..all.len() - 1]);
        for run in rest.iter().rev() {
            results.push(record(run));
        }
        let again = least_run(&results);
        assert_eq!(again.len(), all.len());
        assert_ne!(again[0].1, all[0].1);
    }
}
