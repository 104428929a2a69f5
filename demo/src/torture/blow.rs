//! The execution of a fault: from the moment at which a process waits at the place to the end of the disturbance.
//!
//! A process waits at the fail point, and the fault is caused. If the process still exists, it continues. Killed
//! processes start again, stopped processes continue, and held network data is delivered.

use super::backup::{self, PlannedBackup};
use super::case::FaultCase;
use super::deed;
use super::fault::Fault;
use super::lines::{NetworkLines, NetworkParty};
use super::place::PathLeg;
use super::proxy::Proxy;
use super::setback::{RestoreContext, RestoredCopy};
use super::standby::Standby;
use super::story::StoryFile;
use crate::api::{Api, ApiError};
use crate::drive::{blocking, crash};
use crate::error::DemoError;
use crate::fleet::{AGENTS, Fleet, SOURCE, TARGET};
use crate::ledger::Ledger;
use crate::options::Process;
use crate::points::PassedBy;
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
/// The longest time for which a disk is full or a clock is wrong, if this ends.
const SHORT: Duration = Duration::from_secs(10);
/// The time limit until a second agent with a name has started and was refused.
const REFUSED_LIMIT: Duration = Duration::from_secs(30);
/// The text in the log of an agent whose name another process has, and in that of an agent that works.
const NAME_IN_USE: &str = "is in use by a process on host";
const STEP_BEGINS: &str = "step begins";
const HOUR: i64 = 3_600;
/// The tolerance in seconds when a server's time is checked.
const CLOCKS_DIFFER: i64 = 60;
const CALL_LIMIT: Duration = Duration::from_secs(2);
/// The time limit for a change of connection strings, to which an agent must first connect.
const SET_LIMIT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// A fail point of the rollback may have been passed several times before the rollback.
const PASSAGES: u32 = 12;

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
    pub(super) back: bool,
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
    /// The copy that the fault restores.
    pub(super) backup: Option<PlannedBackup>,
    pub(super) setback: Arc<RestoredCopy>,
    pub(super) lines: Arc<NetworkLines>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) api: Api,
    pub(super) journey: watch::Receiver<FaultContext>,
    pub(super) struck: watch::Sender<FaultProgress>,
    pub(super) story: Arc<StoryFile>,
}

/// Returns the text that arms the fail point of the place.
pub(super) fn arms(case: &FaultCase, meeting: &Rendezvous) -> String {
    let point = &case.place.point;
    match case.place.leg {
        PathLeg::Back | PathLeg::BackFinish => {
            let arms = (1..=PASSAGES).map(|nth| meeting.arms(&format!("{point}#{nth}")));
            arms.collect::<Vec<_>>().join(",")
        }
        PathLeg::Before | PathLeg::Flipped | PathLeg::Finish | PathLeg::Unwind => {
            meeting.arms(point)
        }
    }
}

impl PlannedFault {
    /// Waits for a process, causes the fault, and returns when the disturbance has ended.
    pub(super) async fn fall(mut self, meeting: Rendezvous) -> Result<(), DemoError> {
        if let Some(backup) = self.backup.take() {
            backup.take(&self.fleet, &self.story).await?;
        }
        let arrival = loop {
            let arrival = meeting.arrived().await;
            let arrival = arrival.map_err(DemoError::io("meet a process"))?;
            let back = matches!(self.case.place.leg, PathLeg::Back | PathLeg::BackFinish);
            if !back || self.journey.borrow().back {
                break arrival;
            }
        };
        // Other processes with this fail point are released immediately.
        drop(meeting);
        let party = self.party(&arrival).await;
        let case = &self.case;
        self.story.write(&format!(
            "process {} stands at {}: {case} strikes; {} performs the migration, controller {} leads",
            arrival.pid,
            arrival.name,
            party.agent,
            party.leader + 1
        ));
        self.struck.send_replace(FaultProgress::Now);
        let begun = Instant::now();
        self.strike(arrival, party).await?;
        self.struck.send_replace(FaultProgress::Ended);
        let seconds = begun.elapsed().as_secs_f64();
        self.story
            .write(&format!("{case} is over after {seconds:.1} s"));
        Ok(())
    }

    async fn strike(&self, arrival: Arrival, party: NetworkParty) -> Result<(), DemoError> {
        let lines = || self.lines.of(party).into_iter();
        match self.case.fault {
            Fault::Kill => self.kill(arrival, party).await,
            Fault::Stop => self.stop(arrival, party).await,
            Fault::Cut => {
                lines().for_each(Proxy::cut);
                Ok(())
            }
            Fault::Reply => {
                lines().for_each(Proxy::lose_replies);
                Ok(())
            }
            Fault::Hole => {
                lines().for_each(Proxy::hold);
                drop(arrival);
                tokio::time::sleep(self.lasts).await;
                lines().for_each(Proxy::resume);
                Ok(())
            }
            Fault::Terminate => deed::terminate(&self.shard()?).await,
            Fault::SlotDropped => deed::drop_slots(&self.shard()?).await,
            Fault::SlotLost => {
                // No agent may read the slots while their log is removed: a server waits for a reader that it ends, and
                // a reader that cannot report this to its client does not end.
                // that it ends, and a reader that cannot tell its client so does not end.
                lines().for_each(Proxy::hold);
                lines().for_each(Proxy::cut);
                let lost = deed::lose_slots(&self.shard()?).await;
                lines().for_each(Proxy::resume);
                lost
            }
            Fault::ForeignWrite => deed::foreign_write(&self.shard()?).await,
            Fault::LongWriter => {
                let writer = deed::open_writer(&self.shard()?).await?;
                drop(arrival);
                tokio::time::sleep(self.lasts).await;
                deed::end_writer(writer).await
            }
            Fault::Failover => self.fail_over(arrival).await,
            Fault::Restored if self.case.is_setback() => {
                let around = RestoreContext {
                    fleet: &self.fleet,
                    ledger: &self.ledger,
                    api: &self.api,
                    story: &self.story,
                };
                self.setback.strike(arrival, around).await
            }
            Fault::Restored => {
                let around = (&*self.fleet, &self.api, &*self.story);
                backup::restore(self.case.place.leg, arrival, around).await
            }
            Fault::Prepared => {
                deed::prepare(&self.shard()?).await?;
                drop(arrival);
                tokio::time::sleep(self.lasts).await;
                deed::give_up_prepared(&self.shard()?).await
            }
            Fault::SwappedDsn => self.swap_shards(arrival).await,
            Fault::DuplicateAgentName => {
                drop(arrival);
                self.start_duplicate(party.agent).await
            }
            Fault::DiskFull => self.fill(arrival).await,
            Fault::ClockForward => self.jump(arrival, HOUR).await,
            Fault::ClockBack => self.jump(arrival, -HOUR).await,
        }
    }

    /// An operator tries to exchange the connection strings. Then the proxies exchange them without any command.
    async fn swap_shards(&self, arrival: Arrival) -> Result<(), DemoError> {
        let shards = self.fleet.registered_shards();
        for ((name, _), (other, dsn)) in [(&shards[0], &shards[1]), (&shards[1], &shards[0])] {
            let set = tokio::time::timeout(SET_LIMIT, self.api.set_dsn(name, dsn)).await;
            let Ok(set) = set else {
                self.story.write(&format!("shard set {name}: no answer"));
                continue;
            };
            match set {
                Err(ApiError::Refused { status: 409, .. }) => {}
                Ok(()) => {
                    let problems = vec![format!(
                        "shard {name} took the connection string of {other}"
                    )];
                    return Err(DemoError::Unclean { problems });
                }
                // Another error, for example that no controller leads, proves nothing about the connection string.
                Err(error) => self.story.write(&format!("shard set {name}: {error}")),
            }
        }
        self.lines.exchange_shards();
        drop(arrival);
        tokio::time::sleep(self.lasts.min(SHORT)).await;
        self.lines.exchange_shards();
        self.resume_failed().await;
        Ok(())
    }

    /// A step may have failed meanwhile, for example because a name led to another database. The operator who corrects
    /// the names resumes the migration.
    async fn resume_failed(&self) {
        let Some(id) = self.journey.borrow().id.clone() else {
            return;
        };
        let begun = Instant::now();
        while begun.elapsed() < SHORT {
            let state = self.api.migration(&id).await.map(|m| m.state);
            if matches!(state, Ok(MigrationState::Failed)) {
                let resumed = self.api.command(&id, "resume").await;
                self.story.write(&format!("resume {id}: {resumed:?}"));
                return;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    async fn kill(&self, arrival: Arrival, party: NetworkParty) -> Result<(), DemoError> {
        let Some((cluster, shard)) = self.server() else {
            let pid = self.program(&arrival, party).await;
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

    async fn fail_over(&self, arrival: Arrival) -> Result<(), DemoError> {
        let (Some((cluster, shard)), Some(standby)) = (self.server(), &self.standby) else {
            return Ok(());
        };
        crash(&cluster, shard, &self.ledger).await?;
        drop(arrival);
        standby.promote().await
    }

    async fn stop(&self, arrival: Arrival, party: NetworkParty) -> Result<(), DemoError> {
        let frozen = match self.server() {
            Some((cluster, _)) => {
                let server = Arc::clone(&cluster);
                let frozen = FrozenProcess::Server(cluster);
                blocking(move || server.freeze()).await?;
                frozen
            }
            None => {
                let pid = self.program(&arrival, party).await;
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
            && self.owner().await.as_deref() == Some(party.agent)
        {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        drop(frozen);
        Ok(())
    }

    /// Starts a second process of a running agent. It must be refused for as long as it tries.
    async fn start_duplicate(&self, agent: &str) -> Result<(), DemoError> {
        let mut duplicate = self.fleet.start_duplicate(agent)?;
        let begun = Instant::now();
        while !duplicate.has_logged(NAME_IN_USE) && begun.elapsed() < REFUSED_LIMIT {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        let refused = duplicate.has_logged(NAME_IN_USE);
        tokio::time::sleep(self.lasts.min(SHORT)).await;
        duplicate.kill().await?;
        let mut problems = Vec::new();
        if !refused {
            problems.push(format!("a second agent {agent} was not refused"));
        }
        if duplicate.has_logged(STEP_BEGINS) {
            problems.push(format!("a second agent {agent} was given a step"));
        }
        if problems.is_empty() {
            self.story
                .write(&format!("a second agent {agent} was refused"));
            return Ok(());
        }
        Err(DemoError::Unclean { problems })
    }

    /// Fills the disk and leaves it full for a while.
    async fn fill(&self, arrival: Arrival) -> Result<(), DemoError> {
        let fill = async || {
            let fleet = Arc::clone(&self.fleet);
            let filled = tokio::task::spawn_blocking(move || fleet.fill_disk()).await;
            let filled = filled.map_err(std::io::Error::other);
            filled.map_err(DemoError::io("fill a disk"))?
        };
        fill().await?;
        drop(arrival);
        let begun = Instant::now();
        while begun.elapsed() < self.lasts.min(SHORT) {
            tokio::time::sleep(POLL_INTERVAL).await;
            fill().await?;
        }
        self.fleet.empty_disk()
    }

    /// Changes the server's clock. The seed decides whether it is corrected after some time or stays wrong.
    async fn jump(&self, arrival: Arrival, seconds: i64) -> Result<(), DemoError> {
        self.set_clock(seconds).await?;
        drop(arrival);
        // The operator's path and timing depend on other bits of the seed.
        if (self.seed / 12).is_multiple_of(2) {
            return Ok(());
        }
        tokio::time::sleep(self.lasts.min(SHORT)).await;
        self.set_clock(0).await
    }

    /// Sets the server's clock, and checks the result.
    async fn set_clock(&self, seconds: i64) -> Result<(), DemoError> {
        self.fleet.set_clock(seconds)?;
        let Some(server) = self.fleet.operator(self.case.component)? else {
            return Ok(());
        };
        let ahead = deed::seconds_ahead(&server).await?;
        self.story
            .write(&format!("the server's clock is {ahead} s ahead"));
        if (ahead - seconds).abs() < CLOCKS_DIFFER {
            return Ok(());
        }
        Err(DemoError::Unclean {
            problems: vec![format!("a clock {ahead} s ahead instead of {seconds} s")],
        })
    }

    /// Returns the process id of the program for which the fault is.
    async fn program(&self, arrival: &Arrival, party: NetworkParty) -> Option<i32> {
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

    /// Returns the server for which the fault is, and its shard.
    fn server(&self) -> Option<(Arc<Cluster>, Option<&'static str>)> {
        let shard = match self.case.component {
            Process::Source => Some(SOURCE),
            Process::Target => Some(TARGET),
            Process::Agent | Process::Controller | Process::Store => None,
        };
        let cluster = self.fleet.server(self.case.component)?;
        Some((cluster, shard))
    }

    /// Returns the connection string of the affected shard.
    fn shard(&self) -> Result<connect::Dsn, DemoError> {
        let index = usize::from(self.case.component == Process::Target);
        Ok(self.fleet.admins()?.remove(index).1)
    }

    /// Returns the agent and the leader that work: the process at the fail point, or else the migration's owner and the
    /// leader.
    async fn party(&self, arrival: &Arrival) -> NetworkParty {
        let program = self.fleet.program(arrival.pid).await;
        let known = |name: Option<String>| {
            let name = name?;
            AGENTS.into_iter().find(|agent| *agent == name)
        };
        let agent = match known(program.clone()) {
            Some(agent) => agent,
            None => known(self.owner().await)
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
            leader: leader.map_or(0, |(place, _)| place),
        }
    }

    /// Returns the leading controller, if any controller reports it.
    async fn leader(&self) -> Option<(usize, &'static str)> {
        let url = tokio::time::timeout(CALL_LIMIT, self.api.leader()).await;
        self.fleet.controller_at(&url.ok()?.ok()??)
    }

    /// Returns the migration's owner, if the controller reports it.
    async fn owner(&self) -> Option<String> {
        let mut journey = self.journey.clone();
        let answer = async {
            let known = journey.wait_for(|journey| journey.id.is_some()).await;
            let id = known.ok()?.id.clone()?;
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
