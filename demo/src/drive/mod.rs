//! A run of the demo, from the first server to the report.
//!
//! The order is: fleet, tables and rows, baseline, workload, migration (repeated if it was aborted without a command)
//! or operation, end of the workload, checks. The workload writes all the time. Each gate waits until enough
//! transactions of its phase were acknowledged.

mod balance;
mod check;
mod cutovers;
mod follow;
mod held_points;
mod kill;
mod migrate;
mod operate;
mod orphan;
mod progress;
mod stall;
mod standby_writes;
mod step_action;
mod trouble;

use crate::api::Api;
use crate::error::DemoError;
use crate::fleet::Fleet;
use crate::ledger::{Baseline, Ledger, LedgerPhase};
use crate::options::Options;
use crate::report::{RunOutcome, RunReport};
use crate::scenario::Scenario;
use crate::workload::{StandbyWriter, TenantMix, Workload, WorkloadSettings};
pub(crate) use check::is_shard;
use client::{Map, ShardAccess};
pub use cutovers::{TimeSpread, WriteBlocks, write_stops};
pub(crate) use follow::ready;
use futures::future::LocalBoxFuture;
use held_points::HeldPoints;
use kill::PlannedKill;
pub(crate) use kill::{blocking, crash};
use plans::id::ShardName;
use progress::print_line;
pub(crate) use standby_writes::start as start_standby_writer;
use std::collections::HashMap;
use std::io::{ErrorKind, Write};
use std::sync::Arc;
use step_action::StepAction;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Mutex;

/// The maximum number of migrations that are aborted without a command. After each other one, the driver submits
/// another migration.
const MAX_UNREQUESTED_ABORTS: u32 = 3;

/// The data that the parts of a run share.
#[derive(Debug)]
struct DemoRun<'r> {
    options: &'r Options,
    scenario: Scenario,
    mix: Arc<TenantMix>,
    fleet: Arc<Fleet>,
    api: Api,
    map: Map,
    ledger: Arc<Ledger>,
    /// The client that tries to write to the standby that becomes the target.
    standby_writer: Mutex<Option<StandbyWriter>>,
}

/// Runs the demo. It prints progress to stderr, writes the report, and prints the report to stdout.
///
/// # Errors
/// [`DemoError`] if the run did not complete, or if its result is wrong ([`DemoError::Unclean`], after the report was
/// written).
pub fn run(options: Options) -> LocalBoxFuture<'static, Result<RunReport, DemoError>> {
    Box::pin(run_demo(options))
}

async fn run_demo(options: Options) -> Result<RunReport, DemoError> {
    options.check()?;
    let mut terminate =
        signal(SignalKind::terminate()).map_err(DemoError::io("listen for signals"))?;
    let report = tokio::select! {
        ended = run_with_new_fleet(&options) => ended?,
        _ = tokio::signal::ctrl_c() => return Err(DemoError::Interrupted),
        _ = terminate.recv() => return Err(DemoError::Interrupted),
    };
    if let Some(path) = &options.report {
        let text = serde_json::to_vec_pretty(&report).unwrap_or_default();
        std::fs::write(path, text).map_err(DemoError::io(format!("write {}", path.display())))?;
    }
    print(&report.text())?;
    let problems = report.problems();
    if problems.is_empty() {
        Ok(report)
    } else {
        Err(DemoError::Unclean { problems })
    }
}

/// Starts a fleet, and runs the demo with it. After an error it prints the ends of the logs.
async fn run_with_new_fleet(options: &Options) -> Result<RunReport, DemoError> {
    // Remove clusters of earlier runs that were killed.
    cluster::sweep(&cluster::temporary_base())?;
    let scenario = Scenario::new(options, migrate::request_options(options));
    let shards = scenario.shards.len();
    print_line(&format!("starting {shards} shards and the control store"));
    let fleet = Arc::new(Fleet::start(options, &scenario.shards).await?);
    let ended = with_fleet(options, scenario, Arc::clone(&fleet)).await;
    if ended
        .as_ref()
        .map_or(true, |report| !report.problems().is_empty())
    {
        eprint!("{}", fleet.logs());
    }
    let stopped = fleet.stop_programs().await;
    let report = ended?;
    stopped?;
    Ok(report)
}

async fn with_fleet(
    options: &Options,
    scenario: Scenario,
    fleet: Arc<Fleet>,
) -> Result<RunReport, DemoError> {
    let planned_kill = PlannedKill::prepare(options, &fleet)?;
    let held_points = HeldPoints::prepare(options, &fleet)?;
    let mut armed = held_points.armed().to_vec();
    armed.extend(planned_kill.as_ref().map(PlannedKill::armed));
    fleet.start_programs(&armed).await?;
    print_line(&format!(
        "loading a shop of {} tenants",
        scenario.shop.tenants
    ));
    let ledger = load(&scenario, &fleet).await?;

    let api = Api::new(fleet.urls(), &fleet.identity())?;
    follow::ready(&api).await?;
    let map = register(&api, &scenario, &fleet).await?;
    let run = DemoRun {
        options,
        mix: Arc::new(scenario.mix()),
        scenario,
        fleet,
        api,
        map,
        ledger: Arc::new(ledger),
        standby_writer: Mutex::default(),
    };
    run.drive(planned_kill, &held_points).await
}

/// Registers the shards and the map at the controller, and connects the application.
pub(crate) async fn register(
    api: &Api,
    scenario: &Scenario,
    fleet: &Fleet,
) -> Result<Map, DemoError> {
    for (name, dsn) in fleet.registered_shards() {
        api.register_shard(name, &dsn).await?;
    }
    api.register_map(&scenario.map).await?;
    let options = client::Options {
        identity: fleet.identity(),
        ..client::Options::default()
    };
    let (url, name) = (fleet.url(), &scenario.map.name);
    let map = Map::connect_with(&url, name, shard_access(fleet)?, options).await?;
    Ok(map)
}

/// Fills the shards that own keys, and begins the ledger.
pub(crate) async fn load(scenario: &Scenario, fleet: &Fleet) -> Result<Ledger, DemoError> {
    let shop = scenario.shop;
    let admins = fleet.admins()?;
    let mut loads = Vec::new();
    for (shard, dsn) in &admins {
        let owned = scenario.owned_by(shard.as_str());
        if !owned.is_empty() {
            loads.push(async move { shop.load(dsn, &owned, scenario.keys_with_most_rows()).await });
        }
    }
    futures::future::try_join_all(loads).await?;
    let owners = scenario.map.mappings.clone();
    let moving = scenario.moving.clone();
    let baseline = Baseline::read(&admins, shop.shape, owners, moving).await?;
    let file = fleet.dir().join("ledger.jsonl");
    Ledger::create(&file, baseline).map_err(DemoError::io("create the ledger"))
}

impl DemoRun<'_> {
    async fn drive(
        &self,
        planned_kill: Option<PlannedKill>,
        held_points: &HeldPoints,
    ) -> Result<RunReport, DemoError> {
        let servers = self.fleet.versions();
        let mut report = RunReport::empty(&self.scenario.task, servers, self.evidence_text());
        report.map_version.before = self.map.current().version.0;
        report.seeding = self.options.seeding;
        let workload = self.start_workload();
        self.start_standby_writer().await?;
        let ticker = progress::ticker(Arc::clone(&self.ledger));
        self.wait_for_moving(LedgerPhase::Before, self.goal(10))
            .await?;
        let pending_kill =
            planned_kill.map(|kill| kill.start(&self.fleet, &self.ledger, self.api.clone()));
        if self.scenario.task.is_single_move() {
            self.migrations(held_points, &workload, &mut report).await?;
        } else {
            self.operation(&workload, &mut report).await?;
        }
        drop(ticker);
        self.wait_for_acknowledged(self.ledger.tally().acknowledged + 200)
            .await?;
        workload
            .stop()
            .await
            .map_err(DemoError::io("write the ledger"))?;
        self.stop_standby_writer().await?;
        report.kill = match pending_kill {
            Some(kill) => kill.result().await?,
            None => None,
        };
        self.check(&mut report).await?;
        self.add_operation_report(&mut report).await?;
        Ok(report)
    }

    /// Adds the controller's report of the operation, and writes it to a file.
    async fn add_operation_report(&self, report: &mut RunReport) -> Result<(), DemoError> {
        let Some(id) = self.api.newest_operation().await? else {
            return Ok(());
        };
        report.forecasts = self.api.forecasts(&id).await?;
        if let Some(path) = &self.options.evidence {
            let page = self.api.html_report(&id).await?;
            let file = path.display();
            std::fs::write(path, page).map_err(DemoError::io(format!("write {file}")))?;
            report.evidence += &format!("; the migration's report is {file}");
        }
        Ok(())
    }

    /// Executes one migration, or several: first those that are to be aborted, and again after an abort without a
    /// command.
    async fn migrations(
        &self,
        held_points: &HeldPoints,
        workload: &Workload,
        report: &mut RunReport,
    ) -> Result<(), DemoError> {
        let mut unrequested_aborts = 0;
        loop {
            report.submitted_migrations += 1;
            let aborted = report.aborted_at.len();
            let actions = StepAction::for_migration(self.options, aborted);
            report.result = match self.migrate(&actions, held_points, workload, report).await {
                Err(stopped @ DemoError::Stopped { .. }) => {
                    print_line(&stopped.to_string());
                    RunOutcome::Failed
                }
                ended => ended?,
            };
            if report.result != RunOutcome::Unwound {
                return Ok(());
            }
            self.check_after_abort().await?;
            if self.options.is_seeded() {
                // The target may be no standby any more, and another migration needs one.
                return Ok(());
            }
            if report.aborted_at.len() > aborted {
                if report.aborted_at.len() >= self.options.abort_at.len() {
                    return Ok(());
                }
                print_line("aborted; submitting the next one");
                continue;
            }
            unrequested_aborts += 1;
            if unrequested_aborts == MAX_UNREQUESTED_ABORTS {
                return Ok(());
            }
            print_line("the migration was aborted before the flip; submitting it again");
        }
    }

    fn start_workload(&self) -> Workload {
        let settings = WorkloadSettings {
            clients: self.options.clients,
            rate: self.options.rate,
            seed: self.options.seed,
            mix: Arc::clone(&self.mix),
        };
        print_line(&format!(
            "{} clients write, at most {} transactions a second",
            settings.clients, settings.rate
        ));
        Workload::start(settings, self.scenario.shop, &self.map, &self.ledger)
    }

    /// Returns the number of transactions to wait for at a gate: `percent` of half of the run's goal, but at least 20.
    fn goal(&self, percent: u64) -> u64 {
        (self.options.goal() * percent / 200).max(20)
    }

    /// Waits until this number of transactions with moving keys were acknowledged in a phase.
    async fn wait_for_moving(&self, phase: LedgerPhase, goal: u64) -> Result<(), DemoError> {
        let what = format!("{goal} transactions on moving keys in phase {phase}");
        follow::until(&what, || {
            self.ledger.tally().moving_by_phase[phase.index()] >= goal
        })
        .await
    }

    /// Waits until this number of transactions were acknowledged.
    async fn wait_for_acknowledged(&self, goal: u64) -> Result<(), DemoError> {
        let what = format!("{goal} transactions");
        follow::until(&what, || self.ledger.tally().acknowledged >= goal).await
    }

    fn evidence_text(&self) -> String {
        let dir = self.fleet.dir().display();
        if self.options.keep {
            format!("ledger and logs are in {dir}")
        } else {
            format!("ledger and logs were in {dir}; run with --keep to keep them")
        }
    }
}

fn shard_access(fleet: &Fleet) -> Result<ShardAccess, DemoError> {
    let mut shards: HashMap<ShardName, connect::Dsn> = HashMap::new();
    for (name, _) in fleet.shards() {
        shards.insert(name.into(), fleet.app_dsn(name)?);
    }
    Ok(ShardAccess::fixed(shards))
}

/// Prints a text. If its reader has closed the pipe, the run continues.
fn print(text: &str) -> Result<(), DemoError> {
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(DemoError::io("print the report")(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
