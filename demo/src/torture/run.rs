//! One run: load, fault, recovery, the end that was asked for, and the judgement.
//!
//! Order: proxies, databases, programs with the place armed, rows, clients that write; the fault waits at its place
//! while the operator goes his way; clients stop, every row is checked, then what is left on shards and servers.

use super::backup::Backup;
use super::blow::{self, Blow, Journey, Struck};
use super::case::{Case, Way};
use super::course::Course;
use super::fault::{Expected, Fault};
use super::journey::Operator;
use super::judge::FAILED;
use super::level::Level;
use super::lines::Lines;
use super::mode::Mode;
use super::record::Record;
use super::setback::Setback;
use super::standby::Standby;
use super::story::Story;
use crate::api::Api;
use crate::drive;
use crate::error::DemoError;
use crate::fleet::{Fleet, Ground, free_port};
use crate::ledger::{Ledger, Phase};
use crate::options::Options;
use crate::report::Outcome;
use crate::scenario::Scenario;
use crate::workload::{Settings, Workload};
use fail_point::Rendezvous;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;

const CLIENTS: u32 = 6;
/// Transactions per second of all clients together, at most.
const RATE: f64 = 140.0;
const SCALE: f64 = 0.003;
/// Acknowledged transactions of a run, at least.
const GOAL: u64 = 2_100;
const BEFORE: u64 = 100;
/// From the submission to the end that was asked for, without the fault's own time.
const DEADLINE: Duration = Duration::from_secs(400);
/// Until the application has written enough, once the migration has ended.
const ENOUGH_LIMIT: Duration = Duration::from_secs(90);
/// Sessions of ours may take a moment to end.
const SESSIONS_LIMIT: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// For a place that lies behind the end of the operator's way.
const ARRIVAL_LIMIT: Duration = Duration::from_secs(20);

/// What all runs of a sitting have in common.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    pub(super) lasts: Duration,
    pub(super) keep: bool,
    pub(super) programs: Option<PathBuf>,
}

/// A run under way.
pub(super) struct Run<'r> {
    standby: Option<Arc<Standby>>,
    pub(super) setback: Arc<Setback>,
    case: &'r Case,
    seed: u64,
    way: Way,
    mode: Mode,
    terms: &'r Terms,
    pub(super) scenario: Scenario,
    pub(super) fleet: Arc<Fleet>,
    lines: Arc<Lines>,
    pub(super) story: Arc<Story>,
}

/// How the migration went.
struct Travelled {
    ended: Result<Outcome, DemoError>,
    resumed: u32,
    attempts: u32,
    diverged: u64,
    windows: Vec<f64>,
}

/// Runs a case; everything that goes wrong is in the record.
///
/// # Errors
/// [`DemoError`] when no run was possible at all.
pub(super) async fn perform(
    ground: &Ground,
    case: &Case,
    (seed, number): (u64, u64),
    terms: &Terms,
) -> Result<Record, DemoError> {
    let ports = vec![free_port()?, free_port()?];
    let lines = Arc::new(Lines::start(ground, &ports).await?);
    let fleet = ground.fleet(number, terms.programs.as_ref(), ports, lines.doors());
    let fleet = Arc::new(fleet.await?);
    let story = Arc::new(Story::begin(fleet.dir())?);
    let way = case.way(seed);
    let mode = Mode::of(case, seed);
    story.tell(&format!("{case} with seed {seed}: {mode}, {way}"));
    let standby = match (case.fault, fleet.server(case.component)) {
        (Fault::Failover, Some(primary)) => Some(Arc::new(Standby::start(primary).await?)),
        (_, Some(_) | None) => None,
    };
    let run = Run {
        standby,
        setback: Arc::default(),
        case,
        seed,
        way,
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
    run.last_look(ground, &mut record).await;
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

fn scenario(seed: u64, mode: Mode) -> Scenario {
    let options = Options {
        scale: SCALE,
        seed,
        ..Options::default()
    };
    Scenario::new(&options, mode.options())
}

impl Run<'_> {
    fn record(&self) -> Record {
        Record {
            case: self.case.to_string(),
            seed: self.seed,
            component: self.case.component.to_string(),
            step: self.case.place.step.to_string(),
            fault: self.case.fault.to_string(),
            way: self.way.to_string(),
            mode: self.mode.to_string(),
            ..Record::default()
        }
    }

    /// How long writes may be refused in one attempt, milliseconds.
    fn budget(&self) -> f64 {
        f64::from(self.scenario.request.options().write_stop_budget_ms)
    }

    async fn go(&self, record: &mut Record) -> Result<(), DemoError> {
        let meeting = Rendezvous::bind(self.fleet.dir().join("meet"));
        let meeting = meeting.map_err(DemoError::io("make a socket"))?;
        let armed = (self.case.place.armed(), blow::arms(self.case, &meeting));
        let backup = Backup::prepare(self.case, self.seed, &self.fleet)?;
        let mut armed = vec![armed];
        armed.extend(backup.as_ref().map(Backup::armed));
        let started = self.fleet.start_programs(&armed);
        let loaded = drive::load(&self.scenario, &self.fleet);
        let (_, ledger) = tokio::try_join!(started, loaded)?;
        let ledger = Arc::new(ledger);
        for url in self.fleet.urls() {
            drive::ready(&Api::new(vec![url], &self.fleet.identity())?).await?;
        }
        let api = Api::new(self.fleet.urls(), &self.fleet.identity())?;
        let map = drive::register(&api, &self.scenario, &self.fleet).await?;
        let settings = Settings {
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
        self.story.tell("the clients have stopped");
        record.judge_windows(&travelled.windows, self.budget(), &self.case.place);
        let outcome = travelled.enter(record);
        match (enough, stopped) {
            (Ok(()), Ok(Ok(()))) => {}
            (Err(error), _) => record.stick(chain(&error)),
            (_, Ok(Err(error))) => record.problems.push(error.to_string()),
            (_, Err(_)) => record.stick("the clients did not end".to_owned()),
        }
        self.check(&api, outcome, &ledger, record).await?;
        self.look_for_leftovers(outcome, record).await
    }

    /// The operator's way beside the fault.
    async fn travel(
        &self,
        api: &Api,
        ledger: &Arc<Ledger>,
        workload: &Workload,
        (meeting, backup): (Rendezvous, Option<Backup>),
    ) -> Travelled {
        let journey = watch::Sender::new(Journey::default());
        let struck = watch::Sender::new(Struck::NotYet);
        let told = struck.subscribe();
        let blow = Blow {
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
        let blow = Falling(tokio::spawn(blow.fall(meeting)));
        let mut course = Course {
            api,
            ledger,
            story: &self.story,
            struck: told.clone(),
            deadline: Instant::now() + DEADLINE + self.terms.lasts,
            moved: Instant::now(),
            id: String::new(),
            resumes: 0,
            resumable: self.case.fault.expected() == Expected::Ends,
            told: String::new(),
        };
        let mut operator = Operator {
            case: self.case,
            way: self.way,
            hasty: self.seed.is_multiple_of(3) && self.case.fault.lets_hurry(),
            offline: self.mode == Mode::Offline,
            level: Level {
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
        if let Err(error) = self.fallen(blow, told, course.deadline).await {
            ended = ended.and(Err(error));
        }
        Travelled {
            ended,
            resumed: course.resumes,
            attempts: operator.attempts,
            diverged: operator.diverged,
            windows: operator.windows,
        }
    }

    /// Waits for the end of the fault, where the operator has come to his.
    async fn fallen(
        &self,
        blow: Falling,
        mut told: watch::Receiver<Struck>,
        deadline: Instant,
    ) -> Result<(), DemoError> {
        let left = deadline.saturating_duration_since(Instant::now());
        // The last places lie behind what the operator sees as the end.
        let came = async {
            // The value is not kept: whoever reports the next one would wait for that.
            let struck = told.wait_for(|struck| *struck != Struck::NotYet).await;
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

    /// Waits until enough was acknowledged, some of it on moving keys after everything else.
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
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Leaves everything that tells what happened.
    fn keep(&self, ground: &Ground, record: &mut Record) {
        record.problems.iter().for_each(|it| self.story.tell(it));
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

/// Waits until the application has written a little.
async fn before(ledger: &Ledger, course: &mut Course<'_>) -> Result<(), DemoError> {
    let some = || ledger.tally().moving_by_phase[Phase::Before.index()] >= BEFORE;
    course.wait("the first transactions", some).await
}

impl Travelled {
    /// `None` if the migration did not end as it was asked to.
    fn enter(self, record: &mut Record) -> Option<Outcome> {
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
                    Outcome::Completed => "completed",
                    Outcome::Unwound => "unwound",
                    Outcome::RolledBack => "rolled back",
                    Outcome::Failed => FAILED,
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

impl Record {
    fn stick(&mut self, problem: String) {
        self.stuck = 1;
        self.problems.push(problem);
    }
}

/// The fault's task; drop ends it.
struct Falling(JoinHandle<Result<(), DemoError>>);

impl Falling {
    async fn ended(mut self) -> Result<(), DemoError> {
        let joined = (&mut self.0).await.map_err(std::io::Error::other);
        joined.map_err(DemoError::io("bring about a fault"))?
    }
}

impl Drop for Falling {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// An error with its causes, on one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.join(": ")
}
