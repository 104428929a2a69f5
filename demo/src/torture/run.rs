//! One run: load, fault, recovery, the requested end, and the checks.
//!
//! It starts proxies, databases, and programs with the fail point of the place armed. It loads rows and starts clients
//! that write. The fault waits at its place while the operator sends commands. Then the clients stop, every row is
//! checked, and leftover objects on shards and servers are counted.

use super::backup::PlannedBackup;
use super::blow::{self, FaultContext, FaultProgress, PlannedFault};
use super::case::{FaultCase, OperatorPath};
use super::course::MigrationCourse;
use super::fault::{ExpectedOutcome, Fault};
use super::journey::RunOperator;
use super::judge::FAILED;
use super::level::ComparisonLevel;
use super::lines::NetworkLines;
use super::mode::RunMode;
use super::record::RunRecord;
use super::setback::RestoredCopy;
use super::standby::Standby;
use super::story::StoryFile;
use crate::api::Api;
use crate::drive;
use crate::error::DemoError;
use crate::fleet::{Fleet, ServerGroup, free_port};
use crate::ledger::{Ledger, LedgerPhase};
use crate::options::Options;
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
const SCALE: f64 = 0.003;
/// The least number of acknowledged transactions of a run.
const GOAL: u64 = 2_100;
const BEFORE: u64 = 100;
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
    pub(super) programs: Option<PathBuf>,
}

/// A run that is in progress.
pub(super) struct FaultRun<'r> {
    standby: Option<Arc<Standby>>,
    pub(super) setback: Arc<RestoredCopy>,
    case: &'r FaultCase,
    seed: u64,
    path: OperatorPath,
    mode: RunMode,
    terms: &'r RunTerms,
    pub(super) scenario: Scenario,
    pub(super) fleet: Arc<Fleet>,
    lines: Arc<NetworkLines>,
    pub(super) story: Arc<StoryFile>,
}

/// The result of a migration.
struct RunResult {
    ended: Result<RunOutcome, DemoError>,
    resumed: u32,
    attempts: u32,
    diverged: u64,
    windows: Vec<f64>,
}

/// Runs a case. The record contains everything that goes wrong.
///
/// # Errors
/// [`DemoError`] if no run was possible.
pub(super) async fn perform(
    ground: &ServerGroup,
    case: &FaultCase,
    (seed, number): (u64, u64),
    terms: &RunTerms,
) -> Result<RunRecord, DemoError> {
    let ports = vec![free_port()?, free_port()?];
    let lines = Arc::new(NetworkLines::start(ground, &ports).await?);
    let fleet = ground.fleet(number, terms.programs.as_ref(), ports, lines.doors());
    let fleet = Arc::new(fleet.await?);
    let story = Arc::new(StoryFile::begin(fleet.dir())?);
    let path = case.operator_path(seed);
    let mode = RunMode::of(case, seed);
    story.write(&format!("{case} with seed {seed}: {mode}, {path}"));
    let standby = match (case.fault, fleet.server(case.component)) {
        (Fault::Failover, Some(primary)) => Some(Arc::new(Standby::start(primary).await?)),
        (_, Some(_) | None) => None,
    };
    let run = FaultRun {
        standby,
        setback: Arc::default(),
        case,
        seed,
        path,
        mode,
        terms,
        scenario: scenario(seed, mode),
        fleet,
        lines,
        story,
    };
    let mut record = run.record();
    if let Err(error) = run.go(&mut record).await {
        record.problems.push(chain(&error));
    }
    let stopped = run.fleet.stop_programs().await;
    run.final_recheck(ground, &mut record).await;
    if let Err(error) = stopped {
        record.problems.push(chain(&error));
    }
    record.seconds = (run.story.seconds() * 10.0).round() / 10.0;
    record.survived = record.problems.is_empty();
    if !record.survived || terms.keep {
        run.keep(ground, &mut record);
    }
    Ok(record)
}

fn scenario(seed: u64, mode: RunMode) -> Scenario {
    let options = Options {
        scale: SCALE,
        seed,
        ..Options::default()
    };
    Scenario::new(&options, mode.options())
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
            ..RunRecord::default()
        }
    }

    /// Returns for how many milliseconds one attempt may refuse writes.
    fn budget(&self) -> f64 {
        f64::from(self.scenario.request.options().write_stop_budget_ms)
    }

    async fn go(&self, record: &mut RunRecord) -> Result<(), DemoError> {
        let meeting = Rendezvous::bind(self.fleet.dir().join("meet"));
        let meeting = meeting.map_err(DemoError::io("make a socket"))?;
        let armed = (self.case.place.armed(), blow::arms(self.case, &meeting));
        let backup = PlannedBackup::prepare(self.case, self.seed, &self.fleet)?;
        let mut armed = vec![armed];
        armed.extend(backup.as_ref().map(PlannedBackup::armed));
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
        let travelled = self
            .travel(&api, &ledger, &workload, (meeting, backup))
            .await;
        let enough = self.enough(&ledger).await;
        let stopped = tokio::time::timeout(DEADLINE, workload.stop()).await;
        self.story.write("the clients have stopped");
        record.judge_windows(&travelled.windows, self.budget(), &self.case.place);
        let outcome = travelled.enter(record);
        match (enough, stopped) {
            (Ok(()), Ok(Ok(()))) => {}
            (Err(error), _) => record.stick(chain(&error)),
            (_, Ok(Err(error))) => record.problems.push(error.to_string()),
            (_, Err(_)) => record.stick("the clients did not end".to_owned()),
        }
        self.check(&api, outcome, &ledger, record).await?;
        self.count_leftovers(outcome, record).await
    }

    /// Executes the operator's commands while the fault is prepared and occurs.
    async fn travel(
        &self,
        api: &Api,
        ledger: &Arc<Ledger>,
        workload: &Workload,
        (meeting, backup): (Rendezvous, Option<PlannedBackup>),
    ) -> RunResult {
        let journey = watch::Sender::new(FaultContext::default());
        let struck = watch::Sender::new(FaultProgress::NotYet);
        let progress = struck.subscribe();
        let blow = PlannedFault {
            case: self.case.clone(),
            seed: self.seed,
            lasts: self.terms.lasts,
            fleet: Arc::clone(&self.fleet),
            standby: self.standby.clone(),
            backup,
            setback: Arc::clone(&self.setback),
            lines: Arc::clone(&self.lines),
            ledger: Arc::clone(ledger),
            api: api.clone(),
            journey: journey.subscribe(),
            struck,
            story: Arc::clone(&self.story),
        };
        let blow = FaultTask(tokio::spawn(blow.fall(meeting)));
        let mut course = MigrationCourse {
            api,
            ledger,
            story: &self.story,
            struck: progress.clone(),
            deadline: Instant::now() + DEADLINE + self.terms.lasts,
            moved: Instant::now(),
            id: String::new(),
            resumes: 0,
            resumable: self.case.fault.expected() == ExpectedOutcome::Ends,
            journal_text: String::new(),
        };
        let mut operator = RunOperator {
            case: self.case,
            path: self.path,
            hasty: self.seed.is_multiple_of(3) && self.case.fault.lets_hurry(),
            offline: self.mode == RunMode::Offline,
            level: ComparisonLevel {
                run: self,
                api,
                ledger,
                workload,
            },
            diverged: 0,
            request: &self.scenario.request,
            journey: &journey,
            attempts: 0,
            windows: Vec::new(),
        };
        let ended = async {
            before(ledger, &mut course).await?;
            operator.travel(&mut course).await
        };
        let mut ended = ended.await;
        if let Err(error) = self.fallen(blow, progress, course.deadline).await {
            ended = ended.and(Err(error));
        }
        RunResult {
            ended,
            resumed: course.resumes,
            attempts: operator.attempts,
            diverged: operator.diverged,
            windows: operator.windows,
        }
    }

    /// Waits for the end of the fault, after the operator's last command.
    async fn fallen(
        &self,
        blow: FaultTask,
        mut progress: watch::Receiver<FaultProgress>,
        deadline: Instant,
    ) -> Result<(), DemoError> {
        let left = deadline.saturating_duration_since(Instant::now());
        // The last places are passed after the state that the operator sees as the end.
        let came = async {
            // The value must be dropped: the sender of the next value would wait for it.
            let struck = progress
                .wait_for(|struck| *struck != FaultProgress::NotYet)
                .await;
            drop(struck);
        };
        let came = tokio::time::timeout(ARRIVAL_LIMIT, came).await;
        if came.is_err() {
            return Err(DemoError::Stalled {
                what: format!("a process at {}", self.case.place),
                seconds: ARRIVAL_LIMIT.as_secs(),
            });
        }
        let left = left.max(SESSIONS_LIMIT);
        let ended = tokio::time::timeout(left, blow.ended()).await;
        ended.unwrap_or(Ok(()))
    }

    /// Waits until enough transactions were acknowledged, some of them with moving keys after everything else.
    async fn enough(&self, ledger: &Ledger) -> Result<(), DemoError> {
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
    fn keep(&self, ground: &ServerGroup, record: &mut RunRecord) {
        record.problems.iter().for_each(|it| self.story.write(it));
        self.fleet.keep();
        let standby = self.standby.iter().map(|standby| standby.log());
        for (name, log) in ground.logs().into_iter().chain(standby) {
            let copy = self.fleet.dir().join(format!("{name}.log"));
            if let Err(error) = std::fs::copy(&log, copy) {
                tracing::warn!(%error, log = %log.display(), "log not kept");
            }
        }
        record.evidence = Some(self.fleet.dir().to_owned());
    }
}

/// Waits until the application has written a few transactions.
async fn before(ledger: &Ledger, course: &mut MigrationCourse<'_>) -> Result<(), DemoError> {
    let some = || ledger.tally().moving_by_phase[LedgerPhase::Before.index()] >= BEFORE;
    course.wait("the first transactions", some).await
}

impl RunResult {
    /// Adds the result to the record. `None`: the migration did not end as requested.
    fn enter(self, record: &mut RunRecord) -> Option<RunOutcome> {
        record.resumed = self.resumed;
        record.resubmitted = self.attempts.saturating_sub(1);
        record.diverged = self.diverged;
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
                record.stick(chain(&error));
                None
            }
        }
    }
}

impl RunRecord {
    fn stick(&mut self, problem: String) {
        self.stuck = 1;
        self.problems.push(problem);
    }
}

/// The task of the fault. Dropping the value ends it.
struct FaultTask(JoinHandle<Result<(), DemoError>>);

impl FaultTask {
    async fn ended(mut self) -> Result<(), DemoError> {
        let joined = (&mut self.0).await.map_err(std::io::Error::other);
        joined.map_err(DemoError::io("bring about a fault"))?
    }
}

impl Drop for FaultTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Returns an error with its causes in one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.join(": ")
}
