//! The execution of a fault: from the moment at which a process waits at the place to the end of the disturbance.
//!
//! A process waits at the fail point, and the fault is caused. If the process still exists, it continues. Killed
//! processes start again, stopped processes continue, and held network data is delivered.

use super::backup::{self, PlannedBackup};
use super::case::FaultCase;
use super::fault::Fault;
use super::operator_sql;
use super::place::{END_OF_COPY, PathLeg};
use super::proxies::{NetworkParty, Proxies};
use super::proxy::Proxy;
use super::run_log::RunLog;
use super::source_restore::{RestoreContext, RestoredCopy};
use super::standby::Standby;
use crate::api::{Api, ApiError};
use crate::drive::{blocking, crash};
use crate::error::DemoError;
use crate::fleet::{AGENTS, Fleet, SOURCE, TARGET};
use crate::ledger::Ledger;
use crate::options::Process;
use crate::points::PassedBy;
use crate::workload::WorkloadClients;
use cluster::Cluster;
use fail_point::{Arrival, Rendezvous};
use plans::state::migration::MigrationState;
use rustix::process::{Pid, Signal, kill_process};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

const RESTART_AFTER: Duration = Duration::from_millis(200);
/// Longer than a lease (4 s) and the time until its end is noticed.
const STOPPED_FOR: Duration = Duration::from_secs(6);
/// The time limit until another agent owns the migration of a stopped agent.
const SUCCESSOR_LIMIT: Duration = Duration::from_secs(15);
/// The longest time for which a disk is full, a clock is wrong or connection strings are exchanged.
const SHORT_FAULT_LIMIT: Duration = Duration::from_secs(10);
/// The time limit until a second agent with a name has started and was refused.
const REFUSED_LIMIT: Duration = Duration::from_secs(30);
/// The text in the log of an agent whose name another process has.
const NAME_IN_USE: &str = "is in use by a process on host";
/// The text in the log of an agent that executes a step.
const STEP_BEGINS: &str = "step begins";
const HOUR: i64 = 3_600;
/// By how many seconds a server's clock may differ from the time that was set.
const CLOCK_TOLERANCE_S: i64 = 60;
const CALL_LIMIT: Duration = Duration::from_secs(2);
/// The time limit for a change of connection strings, to which an agent must first connect.
const SET_LIMIT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often a process passes a fail point of the rollback at most. A process can pass the same point before the
/// rollback too, in the cutover.
const MAX_PASSAGES: u32 = 12;

/// The progress of the fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(super) enum FaultProgress {
    NotYet,
    Now,
    Ended,
}

/// What the fault needs to know about the migration.
#[derive(Debug, Clone, Default)]
pub(super) struct FaultContext {
    /// The id of the migration, once it is submitted.
    pub(super) id: Option<String>,
    /// True if the operator has requested a rollback.
    pub(super) rollback_requested: bool,
}

/// A fault that is prepared.
#[derive(Debug)]
pub(super) struct PlannedFault {
    pub(super) case: FaultCase,
    pub(super) seed: u64,
    /// For how long network data is held, and a long transaction stays open.
    pub(super) lasts: Duration,
    pub(super) fleet: Arc<Fleet>,
    /// The standby of the affected server, if the fault is a failover.
    pub(super) standby: Option<Arc<Standby>>,
    /// Whether the end of the copy waits until the standby has a copy of the slot.
    pub(super) waits_for_slot_in_copy: bool,
    /// The copy that the fault restores.
    pub(super) backup: Option<PlannedBackup>,
    pub(super) source_copy: Arc<RestoredCopy>,
    pub(super) proxies: Arc<Proxies>,
    pub(super) ledger: Arc<Ledger>,
    /// The clients, which a fault may pause.
    pub(super) clients: WorkloadClients,
    pub(super) api: Api,
    pub(super) context: watch::Receiver<FaultContext>,
    pub(super) fault_progress: watch::Sender<FaultProgress>,
    pub(super) run_log: Arc<RunLog>,
}

/// Returns the text that arms the fail point of the place.
pub(super) fn arms(case: &FaultCase, meeting: &Rendezvous) -> String {
    let point = &case.place.point;
    match case.place.leg {
        PathLeg::Back | PathLeg::BackFinish => {
            let arms = (1..=MAX_PASSAGES).map(|nth| meeting.arms(&format!("{point}#{nth}")));
            arms.collect::<Vec<_>>().join(",")
        }
        PathLeg::Before | PathLeg::Flipped | PathLeg::Finish | PathLeg::Unwind => {
            meeting.arms(point)
        }
    }
}

impl PlannedFault {
    /// Waits for a process, causes the fault, and returns when the disturbance has ended.
    pub(super) async fn inject(mut self, meeting: Rendezvous) -> Result<(), DemoError> {
        if let Some(backup) = self.backup.take() {
            backup.make(&self.fleet, &self.run_log).await?;
        }
        let arrival = loop {
            let arrival = meeting.arrived().await;
            let arrival = arrival.map_err(DemoError::io("meet a process"))?;
            if self.waits_for_slot_in_copy && arrival.name == END_OF_COPY {
                if let Some(standby) = &self.standby {
                    standby.wait_for_slot().await?;
                }
                continue;
            }
            let in_rollback = matches!(self.case.place.leg, PathLeg::Back | PathLeg::BackFinish);
            if !in_rollback || self.context.borrow().rollback_requested {
                break arrival;
            }
        };
        // Other processes with this fail point are released immediately.
        drop(meeting);
        let party = self.find_party(&arrival).await;
        let case = &self.case;
        self.run_log.write(&format!(
            "process {} waits at {}: the fault {case} begins; {} performs the migration, controller {} leads",
            arrival.pid,
            arrival.name,
            party.agent,
            party.leader + 1
        ));
        self.fault_progress.send_replace(FaultProgress::Now);
        let begun = Instant::now();
        self.cause(arrival, party).await?;
        self.fault_progress.send_replace(FaultProgress::Ended);
        let seconds = begun.elapsed().as_secs_f64();
        self.run_log
            .write(&format!("the fault {case} has ended after {seconds:.1} s"));
        Ok(())
    }

    async fn cause(&self, arrival: Arrival, party: NetworkParty) -> Result<(), DemoError> {
        let affected = || self.proxies.affected(party).into_iter();
        match self.case.fault {
            Fault::Kill => self.kill(arrival, party).await,
            Fault::Stop => self.stop(arrival, party).await,
            Fault::Cut => {
                affected().for_each(Proxy::cut);
                Ok(())
            }
            Fault::Reply => {
                affected().for_each(Proxy::lose_replies);
                Ok(())
            }
            Fault::Hole => {
                affected().for_each(Proxy::hold);
                drop(arrival);
                tokio::time::sleep(self.lasts).await;
                affected().for_each(Proxy::resume);
                Ok(())
            }
            Fault::Terminate => operator_sql::terminate(&self.affected_shard()?).await,
            Fault::SlotDropped => operator_sql::drop_slots(&self.affected_shard()?).await,
            Fault::SlotLost => {
                // No agent may read the slots while the server removes their log: the server terminates a walsender
                // that reads such a slot and waits for its end, and a walsender whose client does not read does not
                // end.
                affected().for_each(Proxy::hold);
                affected().for_each(Proxy::cut);
                let lost = operator_sql::lose_slots(&self.affected_shard()?).await;
                affected().for_each(Proxy::resume);
                lost
            }
            Fault::ForeignWrite => operator_sql::foreign_write(&self.affected_shard()?).await,
            Fault::LongWriter => {
                let writer = operator_sql::open_writer(&self.affected_shard()?).await?;
                drop(arrival);
                tokio::time::sleep(self.lasts).await;
                operator_sql::end_writer(writer).await
            }
            Fault::Failover => self.fail_over(arrival).await,
            Fault::LaggingFailover => self.fail_over_to_lagging(arrival).await,
            Fault::Restored if self.case.restores_source() => {
                let context = RestoreContext {
                    fleet: &self.fleet,
                    ledger: &self.ledger,
                    api: &self.api,
                    run_log: &self.run_log,
                };
                self.source_copy.restore(arrival, context).await
            }
            Fault::Restored => {
                let context = (&*self.fleet, &self.api, &*self.run_log);
                backup::restore(self.case.place.leg, arrival, context).await
            }
            Fault::Prepared => {
                operator_sql::prepare(&self.affected_shard()?).await?;
                drop(arrival);
                tokio::time::sleep(self.lasts).await;
                operator_sql::roll_back_prepared(&self.affected_shard()?).await
            }
            Fault::SwappedDsn => self.swap_shards(arrival).await,
            Fault::DuplicateAgentName => {
                drop(arrival);
                self.start_duplicate(party.agent).await
            }
            Fault::DiskFull => self.fill_disk_for_a_while(arrival).await,
            Fault::ClockForward => self.change_clock(arrival, HOUR).await,
            Fault::ClockBack => self.change_clock(arrival, -HOUR).await,
        }
    }

    /// An operator tries to exchange the connection strings. Then the proxies exchange them without any command.
    async fn swap_shards(&self, arrival: Arrival) -> Result<(), DemoError> {
        let shards = self.fleet.registered_shards();
        for ((name, _), (other, dsn)) in [(&shards[0], &shards[1]), (&shards[1], &shards[0])] {
            let set = tokio::time::timeout(SET_LIMIT, self.api.set_dsn(name, dsn)).await;
            let Ok(set) = set else {
                self.run_log.write(&format!("shard set {name}: no answer"));
                continue;
            };
            match set {
                Err(ApiError::Refused { status: 409, .. }) => {}
                Ok(()) => {
                    let problems = vec![format!(
                        "the controller accepted the connection string of shard {other} for shard {name}"
                    )];
                    return Err(DemoError::Unclean { problems });
                }
                // Another error, for example that no controller leads, proves nothing about the connection string.
                Err(error) => self.run_log.write(&format!("shard set {name}: {error}")),
            }
        }
        self.proxies.exchange_shards();
        drop(arrival);
        tokio::time::sleep(self.lasts.min(SHORT_FAULT_LIMIT)).await;
        self.proxies.exchange_shards();
        self.resume_failed().await;
        Ok(())
    }

    /// Resumes the migration if a step failed during the fault, for example because a connection string led to the
    /// other shard's database. The operator who corrects the connection strings does this too.
    async fn resume_failed(&self) {
        let Some(id) = self.context.borrow().id.clone() else {
            return;
        };
        let begun = Instant::now();
        while begun.elapsed() < SHORT_FAULT_LIMIT {
            let state = self.api.migration(&id).await.map(|m| m.state);
            if matches!(state, Ok(MigrationState::Failed)) {
                let resumed = self.api.command(&id, "resume").await;
                self.run_log.write(&format!("resume {id}: {resumed:?}"));
                return;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    async fn kill(&self, arrival: Arrival, party: NetworkParty) -> Result<(), DemoError> {
        let Some((cluster, shard)) = self.affected_server() else {
            let pid = self.affected_pid(&arrival, party).await;
            if let Some(pid) = pid {
                self.fleet.kill_program(pid).await?;
            }
            drop(arrival);
            tokio::time::sleep(RESTART_AFTER).await;
            return self.fleet.restart_programs().await;
        };
        crash(&cluster, shard, &self.ledger).await?;
        drop(arrival);
        tokio::time::sleep(RESTART_AFTER).await;
        blocking(move || cluster.start()).await
    }

    async fn stop(&self, arrival: Arrival, party: NetworkParty) -> Result<(), DemoError> {
        let frozen = match self.affected_server() {
            Some((cluster, _)) => {
                let server = Arc::clone(&cluster);
                let frozen = FrozenProcess::Server(cluster);
                blocking(move || server.freeze()).await?;
                frozen
            }
            None => {
                let pid = self.affected_pid(&arrival, party).await;
                let pid = pid.and_then(Pid::from_raw);
                signal(pid, Signal::STOP);
                FrozenProcess::Program(pid)
            }
        };
        drop(arrival);
        let begun = Instant::now();
        tokio::time::sleep(STOPPED_FOR).await;
        while self.case.component == Process::Agent
            && begun.elapsed() < SUCCESSOR_LIMIT
            && self.owning_agent().await.as_deref() == Some(party.agent)
        {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        drop(frozen);
        Ok(())
    }

    /// Starts a second process with the name of a running agent. The controller must refuse it until it is killed.
    async fn start_duplicate(&self, agent: &str) -> Result<(), DemoError> {
        let mut duplicate = self.fleet.start_duplicate(agent)?;
        let begun = Instant::now();
        while !duplicate.has_logged(NAME_IN_USE) && begun.elapsed() < REFUSED_LIMIT {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        let refused = duplicate.has_logged(NAME_IN_USE);
        tokio::time::sleep(self.lasts.min(SHORT_FAULT_LIMIT)).await;
        duplicate.kill().await?;
        let mut problems = Vec::new();
        if !refused {
            problems.push(format!("a second agent {agent} was not refused"));
        }
        if duplicate.has_logged(STEP_BEGINS) {
            problems.push(format!("a second agent {agent} received a step"));
        }
        if problems.is_empty() {
            self.run_log
                .write(&format!("a second agent {agent} was refused"));
            return Ok(());
        }
        Err(DemoError::Unclean { problems })
    }

    /// Fills the disk, keeps it full for a while, and empties it.
    async fn fill_disk_for_a_while(&self, arrival: Arrival) -> Result<(), DemoError> {
        let fill = async || {
            let fleet = Arc::clone(&self.fleet);
            let filled = tokio::task::spawn_blocking(move || fleet.fill_disk()).await;
            let filled = filled.map_err(std::io::Error::other);
            filled.map_err(DemoError::io("fill a disk"))?
        };
        fill().await?;
        drop(arrival);
        let begun = Instant::now();
        while begun.elapsed() < self.lasts.min(SHORT_FAULT_LIMIT) {
            tokio::time::sleep(POLL_INTERVAL).await;
            fill().await?;
        }
        self.fleet.empty_disk()
    }

    /// Changes the server's clock. The seed decides whether it is corrected after some time or stays wrong.
    async fn change_clock(&self, arrival: Arrival, seconds: i64) -> Result<(), DemoError> {
        self.set_clock(seconds).await?;
        drop(arrival);
        // The operator's path and timing depend on other bits of the seed.
        if (self.seed / 12).is_multiple_of(2) {
            return Ok(());
        }
        tokio::time::sleep(self.lasts.min(SHORT_FAULT_LIMIT)).await;
        self.set_clock(0).await
    }

    /// Sets the server's clock, and checks the result.
    async fn set_clock(&self, seconds: i64) -> Result<(), DemoError> {
        self.fleet.set_clock(seconds)?;
        let Some(server) = self.fleet.operator_dsn(self.case.component)? else {
            return Ok(());
        };
        let ahead = operator_sql::seconds_ahead(&server).await?;
        self.run_log
            .write(&format!("the server's clock is {ahead} s ahead"));
        if (ahead - seconds).abs() < CLOCK_TOLERANCE_S {
            return Ok(());
        }
        Err(DemoError::Unclean {
            problems: vec![format!(
                "the server's clock is {ahead} s ahead instead of {seconds} s"
            )],
        })
    }

    /// Returns the process id of the program that the fault affects.
    async fn affected_pid(&self, arrival: &Arrival, party: NetworkParty) -> Option<i32> {
        match (party.component, self.case.place.passed_by) {
            (Process::Agent, PassedBy::Agents) | (Process::Controller, PassedBy::Controller) => {
                Some(arrival.pid)
            }
            (Process::Agent, PassedBy::Controller) => self.fleet.pid(party.agent).await,
            (Process::Controller, PassedBy::Agents) => {
                let (_, name) = self.fleet.controllers().nth(party.leader)?;
                self.fleet.pid(name).await
            }
            (Process::Source | Process::Target | Process::Store, _) => None,
        }
    }

    /// Returns the server that the fault affects, and its shard; `None` if the fault affects a program.
    pub(super) fn affected_server(&self) -> Option<(Arc<Cluster>, Option<&'static str>)> {
        let shard = match self.case.component {
            Process::Source => Some(SOURCE),
            Process::Target => Some(TARGET),
            Process::Agent | Process::Controller | Process::Store => None,
        };
        let cluster = self.fleet.server(self.case.component)?;
        Some((cluster, shard))
    }

    /// Returns the connection string of the affected shard.
    pub(super) fn affected_shard(&self) -> Result<connect::Dsn, DemoError> {
        let index = usize::from(self.case.component == Process::Target);
        Ok(self.fleet.admins()?.remove(index).1)
    }

    /// Returns the affected component. Its agent and its leader are the process that waits at the fail point and, for
    /// the other one, the agent that owns the migration or the leading controller.
    async fn find_party(&self, arrival: &Arrival) -> NetworkParty {
        let program = self.fleet.program(arrival.pid).await;
        let known_agent = |name: Option<String>| {
            let name = name?;
            AGENTS.into_iter().find(|agent| *agent == name)
        };
        let agent = match known_agent(program.clone()) {
            Some(agent) => agent,
            None => known_agent(self.owning_agent().await)
                .unwrap_or(AGENTS[usize::try_from(self.seed % 2).unwrap_or_default()]),
        };
        let controllers = || self.fleet.controllers();
        let leader = controllers().find(|(_, name)| program.as_deref() == Some(name));
        let leader = match leader {
            Some(leader) => Some(leader),
            None => self.leader().await,
        };
        NetworkParty {
            component: self.case.component,
            agent,
            leader: leader.map_or(0, |(index, _)| index),
        }
    }

    /// Returns the leading controller, if any controller reports it.
    async fn leader(&self) -> Option<(usize, &'static str)> {
        let url = tokio::time::timeout(CALL_LIMIT, self.api.leader()).await;
        self.fleet.controller_at(&url.ok()?.ok()??)
    }

    /// Returns the name of the agent that owns the migration, if the controller reports it.
    async fn owning_agent(&self) -> Option<String> {
        let mut context = self.context.clone();
        let answer = async {
            let known_agent = context.wait_for(|context| context.id.is_some()).await;
            let id = known_agent.ok()?.id.clone()?;
            self.api.migration(&id).await.ok()?.owner
        };
        let owner = tokio::time::timeout(CALL_LIMIT, answer).await.ok()??;
        Some(owner.agent)
    }
}

/// A stopped process. Dropping the value continues it.
enum FrozenProcess {
    Program(Option<Pid>),
    Server(Arc<Cluster>),
}

impl Drop for FrozenProcess {
    fn drop(&mut self) {
        match self {
            Self::Program(pid) => signal(*pid, Signal::CONT),
            Self::Server(cluster) => cluster.thaw(),
        }
    }
}

fn signal(pid: Option<Pid>, signal: Signal) {
    if let Some(pid) = pid
        && let Err(error) = kill_process(pid, signal)
    {
        tracing::debug!(%error, "signal not delivered");
    }
}
