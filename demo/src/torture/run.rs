//! One run: load, fault, recovery, the requested end, and the checks.
//!
//! It starts proxies, databases, and programs with the fail point of the place armed. It loads rows and starts clients
//! that write. The fault waits at its place while the operator sends commands. Then the clients stop, every row is
//! checked, and leftover objects on shards and servers are counted.

use super::backup::PlannedBackup;
use super::case::{FaultCase, OperatorPath};
use super::check::FAILED;
use super::equality::EqualityCheck;
use super::fault::ExpectedOutcome;
use super::follow::MigrationFollower;
use super::mode::RunMode;
use super::operator::RunOperator;
use super::operator_sql::WAL_CAP_MB;
use super::place::{self, END_OF_COPY};
use super::planned_fault::{self, FaultContext, FaultProgress, PlannedFault};
use super::proxies::Proxies;
use super::record::RunRecord;
use super::run_log::RunLog;
use super::source_restore::RestoredCopy;
use super::standby::Standby;
use crate::api::Api;
use crate::drive;
use crate::error::DemoError;
use crate::fleet::{Fleet, ServerGroup, free_port};
use crate::ledger::{Ledger, LedgerPhase};
use crate::options::{DemoTask, KeyDivision, Options};
use crate::report::RunOutcome;
use crate::scenario::Scenario;
use crate::workload::{Workload, WorkloadSettings};
use fail_point::Rendezvous;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;

const CLIENTS: u32 = 6;
/// The maximum number of transactions per second of all clients together.
const RATE: f64 = 140.0;
/// The size of the data: 1 is about two million rows.
const SCALE: f64 = 0.003;
/// The least number of acknowledged transactions of a run.
const GOAL: u64 = 2_100;
/// The number of acknowledged transactions with moving keys before the migration is submitted.
const WRITES_BEFORE: u64 = 100;
/// The time limit from the submission to the requested end, without the time of the fault.
const DEADLINE: Duration = Duration::from_secs(400);
/// The time limit until the application has written enough, after the migration has ended.
const ENOUGH_LIMIT: Duration = Duration::from_secs(90);
/// The time limit for sessions to end.
const SESSIONS_LIMIT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The time limit for a place that is passed after the operator's last command.
const ARRIVAL_LIMIT: Duration = Duration::from_secs(20);

/// The data that all runs of an injection session have in common.
#[derive(Debug, Clone)]
pub(super) struct RunTerms {
    pub(super) lasts: Duration,
    pub(super) keep: bool,
    pub(super) keys: KeyDivision,
    pub(super) programs: Option<PathBuf>,
}

/// A run that is in progress.
pub(super) struct FaultRun<'r> {
    pub(super) standby: Option<Arc<Standby>>,
    pub(super) source_copy: Arc<RestoredCopy>,
    case: &'r FaultCase,
    seed: u64,
    path: OperatorPath,
    mode: RunMode,
    terms: &'r RunTerms,
    pub(super) scenario: Scenario,
    pub(super) fleet: Arc<Fleet>,
    proxies: Arc<Proxies>,
    pub(super) run_log: Arc<RunLog>,
}

/// The result of a migration.
struct RunResult {
    ended: Result<RunOutcome, DemoError>,
    resumed: u32,
    submissions: u32,
    diverged: u64,
    windows: Vec<f64>,
    capture: String,
}

/// Runs a case. The record contains everything that goes wrong.
///
/// # Errors
/// [`DemoError`] if no run was possible.
pub(super) async fn perform(
    servers: &ServerGroup,
    case: &FaultCase,
    (seed, number): (u64, u64),
    terms: &RunTerms,
) -> Result<RunRecord, DemoError> {
    let ports = vec![free_port()?, free_port()?];
    let proxies = Arc::new(Proxies::start(servers, &ports).await?);
    let fleet = servers.fleet(
        number,
        terms.programs.as_ref(),
        ports,
        proxies.listen_addresses(),
    );
    let fleet = Arc::new(fleet.await?);
    let run_log = Arc::new(RunLog::begin(fleet.dir())?);
    let path = case.operator_path(seed);
    let mode = RunMode::of(case, seed);
    run_log.write(&format!("{case} with seed {seed}: {mode}, {path}"));
    let affected = fleet.server(case.component);
    let standby = match affected.filter(|_| case.fault.promotes_standby()) {
        Some(primary) => Some(Arc::new(Standby::start(primary, case.fault).await?)),
        None => None,
    };
    let run = FaultRun {
        standby,
        source_copy: Arc::default(),
        case,
        seed,
        path,
        mode,
        terms,
        scenario: scenario(seed, mode, case, terms.keys),
        fleet,
        proxies,
        run_log,
    };
    let mut record = run.record();
    if let Err(error) = run.execute(&mut record).await {
        record.problems.push(error_chain(&error));
    }
    let stopped = run.fleet.stop_programs().await;
    run.check_after_exit(servers, &mut record).await;
    if let Err(error) = stopped {
        record.problems.push(error_chain(&error));
    }
    record.seconds = (run.run_log.seconds() * 10.0).round() / 10.0;
    record.survived = record.problems.is_empty();
    if !record.survived || terms.keep {
        run.keep_files(servers, &mut record);
    }
    Ok(record)
}

fn scenario(seed: u64, mode: RunMode, case: &FaultCase, keys: KeyDivision) -> Scenario {
    let options = Options {
        task: DemoTask::split_of(keys),
        scale: SCALE,
        seed,
        ..Options::default()
    };
    let mut request = mode.options();
    if case.fault.promotes_standby() {
        request.wal_cap_mb = WAL_CAP_MB;
    }
    Scenario::new(&options, request)
}

impl FaultRun<'_> {
    fn record(&self) -> RunRecord {
        RunRecord {
            case: self.case.to_string(),
            seed: self.seed,
            component: self.case.component.to_string(),
            step: self.case.place.step.to_string(),
            fault: self.case.fault.to_string(),
            path: self.path.to_string(),
            mode: self.mode.to_string(),
            strategy: self.terms.keys.to_string(),
            ..RunRecord::default()
        }
    }

    /// Returns whether the target is a standby of the source.
    pub(super) fn is_seeded(&self) -> bool {
        self.mode == RunMode::Seeded
    }

    fn waits_for_slot_in_copy(&self) -> bool {
        self.mode != RunMode::Offline && self.case.waits_for_slot_in_copy()
    }

    /// Returns for how many milliseconds one attempt may refuse writes.
    fn budget(&self) -> f64 {
        f64::from(self.scenario.request.options().write_stop_budget_ms)
    }

    async fn execute(&self, record: &mut RunRecord) -> Result<(), DemoError> {
        let meeting = Rendezvous::bind(self.fleet.dir().join("meet"));
        let meeting = meeting.map_err(DemoError::io("make a socket"))?;
        let armed = (
            self.case.place.armed(),
            planned_fault::arms(self.case, &meeting),
        );
        let backup = PlannedBackup::prepare(self.case, self.seed, &self.fleet)?;
        let mut armed = vec![armed];
        armed.extend(backup.as_ref().map(PlannedBackup::armed));
        armed.extend(
            self.waits_for_slot_in_copy()
                .then(|| (place::end_of_copy(), meeting.arms(END_OF_COPY))),
        );
        let started = self.fleet.start_programs(&armed);
        let loaded = drive::load(&self.scenario, &self.fleet);
        let (_, ledger) = tokio::try_join!(started, loaded)?;
        let ledger = Arc::new(ledger);
        for url in self.fleet.urls() {
            drive::ready(&Api::new(vec![url], &self.fleet.identity())?).await?;
        }
        let api = Api::new(self.fleet.urls(), &self.fleet.identity())?;
        let map = drive::register(&api, &self.scenario, &self.fleet).await?;
        let settings = WorkloadSettings {
            clients: CLIENTS,
            rate: RATE,
            seed: self.seed,
            mix: Arc::new(self.scenario.mix()),
        };
        let workload = Workload::start(settings, self.scenario.shop, &map, &ledger);
        let standby_writer = match self.is_seeded() {
            true => Some(drive::start_standby_writer(
                &self.scenario,
                &self.fleet,
                &api,
                &ledger,
            )?),
            false => None,
        };
        let result = self
            .run_operator(&api, &ledger, &workload, (meeting, backup))
            .await;
        let enough = self.wait_for_enough_writes(&ledger).await;
        let stopped = tokio::time::timeout(DEADLINE, workload.stop()).await;
        if let Some(writer) = standby_writer {
            let stopped = writer.stop().await;
            stopped.map_err(DemoError::io("write the ledger"))?;
        }
        self.run_log.write("the clients have stopped");
        record.add_windows(&result.windows, self.budget(), &self.case.place);
        let outcome = result.add_to(record);
        if self.case.fault.promotes_standby() {
            record.check_failover();
        }
        match (enough, stopped) {
            (Ok(()), Ok(Ok(()))) => {}
            (Err(error), _) => record.record_stuck(error_chain(&error)),
            (_, Ok(Err(error))) => record.problems.push(error.to_string()),
            (_, Err(_)) => record.record_stuck("the clients did not end".to_owned()),
        }
        self.check(&api, outcome, &ledger, record).await?;
        self.count_leftovers(outcome, record).await
    }

    /// Executes the operator's commands while the fault is prepared and occurs.
    async fn run_operator(
        &self,
        api: &Api,
        ledger: &Arc<Ledger>,
        workload: &Workload,
        (meeting, backup): (Rendezvous, Option<PlannedBackup>),
    ) -> RunResult {
        let context = watch::Sender::new(FaultContext::default());
        let fault_progress = watch::Sender::new(FaultProgress::NotYet);
        let progress = fault_progress.subscribe();
        let fault = PlannedFault {
            case: self.case.clone(),
            seed: self.seed,
            lasts: self.terms.lasts,
            fleet: Arc::clone(&self.fleet),
            standby: self.standby.clone(),
            waits_for_slot_in_copy: self.waits_for_slot_in_copy(),
            backup,
            source_copy: Arc::clone(&self.source_copy),
            proxies: Arc::clone(&self.proxies),
            ledger: Arc::clone(ledger),
            clients: workload.clients(),
            api: api.clone(),
            context: context.subscribe(),
            fault_progress,
            run_log: Arc::clone(&self.run_log),
        };
        let fault = FaultTask(tokio::spawn(fault.inject(meeting)));
        let mut follower = MigrationFollower {
            api,
            ledger,
            run_log: &self.run_log,
            fault_progress: progress.clone(),
            deadline: Instant::now() + DEADLINE + self.terms.lasts,
            last_change: Instant::now(),
            id: String::new(),
            resumes: 0,
            resumable: self.case.expected() == ExpectedOutcome::Ends,
            last_line: String::new(),
        };
        let mut operator = RunOperator {
            case: self.case,
            path: self.path,
            hasty: self.seed.is_multiple_of(3) && self.case.fault.permits_hasty_operator(),
            offline: self.mode == RunMode::Offline,
            equality: EqualityCheck {
                run: self,
                api,
                ledger,
                workload,
            },
            diverged: 0,
            request: &self.scenario.request,
            context: &context,
            submissions: 0,
            windows: Vec::new(),
            capture: String::new(),
        };
        let mut ended = async {
            wait_for_first_writes(ledger, &mut follower).await?;
            operator.follow_path(&mut follower).await
        }
        .await;
        let fault_ended = self.wait_for_fault(fault, progress, follower.deadline);
        if let Err(error) = fault_ended.await {
            ended = ended.and(Err(error));
        }
        RunResult {
            ended,
            resumed: follower.resumes,
            submissions: operator.submissions,
            diverged: operator.diverged,
            windows: operator.windows,
            capture: operator.capture,
        }
    }

    /// Waits for the end of the fault, after the operator's last command.
    async fn wait_for_fault(
        &self,
        fault: FaultTask,
        mut progress: watch::Receiver<FaultProgress>,
        deadline: Instant,
    ) -> Result<(), DemoError> {
        let left = deadline.saturating_duration_since(Instant::now());
        // A process may pass the last places only after the operator has observed the end of the migration.
        let occurred = async {
            // `observed` borrows the channel's value, and the sender cannot send the next value before it is dropped.
            let observed = progress
                .wait_for(|value| *value != FaultProgress::NotYet)
                .await;
            drop(observed);
        };
        let occurred = tokio::time::timeout(ARRIVAL_LIMIT, occurred).await;
        if occurred.is_err() {
            return Err(DemoError::Stalled {
                what: format!("a process at {}", self.case.place),
                seconds: ARRIVAL_LIMIT.as_secs(),
            });
        }
        let left = left.max(SESSIONS_LIMIT);
        let ended = tokio::time::timeout(left, fault.ended()).await;
        ended.unwrap_or(Ok(()))
    }

    /// Waits until enough transactions were acknowledged, at least 20 of them with moving keys after this call.
    async fn wait_for_enough_writes(&self, ledger: &Ledger) -> Result<(), DemoError> {
        let begun = Instant::now();
        let moving = ledger.tally().moving + 20;
        loop {
            let tally = ledger.tally();
            if tally.acknowledged >= GOAL && tally.moving >= moving {
                return Ok(());
            }
            if begun.elapsed() > ENOUGH_LIMIT {
                return Err(DemoError::Stalled {
                    what: "transactions after the end".to_owned(),
                    seconds: ENOUGH_LIMIT.as_secs(),
                });
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Keeps all files that show what happened.
    fn keep_files(&self, servers: &ServerGroup, record: &mut RunRecord) {
        record.problems.iter().for_each(|it| self.run_log.write(it));
        self.fleet.keep();
        let standby = self.standby.iter().map(|standby| standby.log());
        for (name, log) in servers.logs().into_iter().chain(standby) {
            let copy = self.fleet.dir().join(format!("{name}.log"));
            if let Err(error) = std::fs::copy(&log, copy) {
                tracing::warn!(%error, log = %log.display(), "log not kept");
            }
        }
        record.evidence = Some(self.fleet.dir().to_owned());
    }
}

/// Waits until the application has written to moving keys `WRITES_BEFORE` times.
async fn wait_for_first_writes(
    ledger: &Ledger,
    follower: &mut MigrationFollower<'_>,
) -> Result<(), DemoError> {
    let has_written =
        || ledger.tally().moving_by_phase[LedgerPhase::Before.index()] >= WRITES_BEFORE;
    follower.wait("the first transactions", has_written).await
}

impl RunResult {
    /// Adds the result to the record. `None`: the migration did not end as requested.
    fn add_to(self, record: &mut RunRecord) -> Option<RunOutcome> {
        record.resumed = self.resumed;
        record.resubmitted = self.submissions.saturating_sub(1);
        record.diverged = self.diverged;
        record.capture = self.capture;
        if self.diverged > 0 {
            let tables = self.diverged;
            let problem = format!("{tables} tables differ between both copies during the hold");
            record.problems.push(problem);
        }
        match self.ended {
            Ok(outcome) => {
                record.outcome = match outcome {
                    RunOutcome::Completed => "completed",
                    RunOutcome::Unwound => "unwound",
                    RunOutcome::RolledBack => "rolled back",
                    RunOutcome::Failed => FAILED,
                }
                .to_owned();
                Some(outcome)
            }
            Err(error) => {
                record.outcome = "stuck".to_owned();
                record.record_stuck(error_chain(&error));
                None
            }
        }
    }
}

impl RunRecord {
    /// A migration survives a failover without a person.
    fn check_failover(&mut self) {
        if self.resumed + self.resubmitted > 0 {
            self.problems.push(format!(
                "after the failover an operator had to resume the migration {} times and to submit it {} times again",
                self.resumed, self.resubmitted
            ));
        }
        let has_results = !matches!(self.outcome.as_str(), "unwound" | "failed" | "stuck");
        if has_results && self.capture.is_empty() {
            let problem = "the results do not show what became of the capture";
            self.problems.push(problem.to_owned());
        }
    }

    fn record_stuck(&mut self, problem: String) {
        self.stuck = 1;
        self.problems.push(problem);
    }
}

/// The task of the fault. Dropping the value ends it.
struct FaultTask(JoinHandle<Result<(), DemoError>>);

impl FaultTask {
    async fn ended(mut self) -> Result<(), DemoError> {
        let joined = (&mut self.0).await.map_err(std::io::Error::other);
        joined.map_err(DemoError::io("cause a fault"))?
    }
}

impl Drop for FaultTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Returns an error with its causes in one line.
pub(super) fn error_chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.join(": ")
}
