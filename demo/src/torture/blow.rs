//! The fault itself, from the moment when a process stands at the place to the end of the disturbance.
//!
//! Order: a process comes to the fail point and waits there; the fault strikes; the process goes on, if it still can;
//! what was killed starts again, what was stopped goes on, what was held back is delivered.

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
/// Longer than a lease (4 s) and the time in which it is noticed.
const STOPPED_FOR: Duration = Duration::from_secs(6);
/// Until the successor of a stopped agent owns the migration.
const SUCCESSOR_LIMIT: Duration = Duration::from_secs(15);
/// How long a disk is full and a clock wrong, at most, where that ends.
const SHORT: Duration = Duration::from_secs(10);
/// Until a second agent of a name has started and was refused.
const REFUSED_LIMIT: Duration = Duration::from_secs(30);
/// What the log of an agent says whose name another one has, and of one that works.
const NAME_IN_USE: &str = "is in use by a process on host";
const STEP_BEGINS: &str = "step begins";
const HOUR: i64 = 3_600;
/// Seconds within which a server is asked for its time.
const CLOCKS_DIFFER: i64 = 60;
const CALL_LIMIT: Duration = Duration::from_secs(2);
/// An agent connects first.
const SET_LIMIT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// A fail point on the way back may have been passed on the way forward, several times.
const PASSAGES: u32 = 12;

/// How far the fault is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(super) enum FaultProgress {
    NotYet,
    Now,
    Ended,
}

/// What the fault's side has to know of the migration.
#[derive(Debug, Clone, Default)]
pub(super) struct FaultContext {
    /// The migration, once it is submitted.
    pub(super) id: Option<String>,
    /// The keys were asked back.
    pub(super) back: bool,
}

/// A fault in preparation.
#[derive(Debug)]
pub(super) struct PlannedFault {
    pub(super) case: FaultCase,
    pub(super) seed: u64,
    /// How long a black hole lasts, and a writer that does not end.
    pub(super) lasts: Duration,
    pub(super) fleet: Arc<Fleet>,
    /// Of the server that the fault is for, where that fails over.
    pub(super) standby: Option<Arc<Standby>>,
    /// Made before, where the fault puts it back.
    pub(super) backup: Option<PlannedBackup>,
    pub(super) setback: Arc<RestoredCopy>,
    pub(super) lines: Arc<NetworkLines>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) api: Api,
    pub(super) journey: watch::Receiver<FaultContext>,
    pub(super) struck: watch::Sender<FaultProgress>,
    pub(super) story: Arc<StoryFile>,
}

/// The texts that arm the place.
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
    /// Waits for a process, strikes, and returns when the disturbance is over.
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
        // Whoever else is armed goes on at once.
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
                // Nobody reads the slots, nor comes back to them, while the log is given up: a server waits for a reader
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

    /// An operator tries to exchange the connection strings; then names lead elsewhere, without a word to anybody.
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
                // A fault beside it, such as no leader, says nothing of the connection string.
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

    /// A step may have failed for good meanwhile, as where a name leads to another database: whoever corrects the names
    /// has it go on.
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

    /// A second process of an agent that runs is refused, and stays refused for as long as it tries.
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

    /// The disk is full, and stays so.
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

    /// The server's clock jumps; it jumps back after some time, or never, as the seed says.
    async fn jump(&self, arrival: Arrival, seconds: i64) -> Result<(), DemoError> {
        self.set_clock(seconds).await?;
        drop(arrival);
        // Neither the operator's way nor his haste follows from these bits of the seed.
        if (self.seed / 12).is_multiple_of(2) {
            return Ok(());
        }
        tokio::time::sleep(self.lasts.min(SHORT)).await;
        self.set_clock(0).await
    }

    /// Sets the server's clock, and makes sure that it is set.
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

    /// The process of the program that the fault is for.
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

    /// The server that the fault is for, and which shard it is.
    fn server(&self) -> Option<(Arc<Cluster>, Option<&'static str>)> {
        let shard = match self.case.component {
            Process::Source => Some(SOURCE),
            Process::Target => Some(TARGET),
            Process::Agent | Process::Controller | Process::Store => None,
        };
        let cluster = self.fleet.server(self.case.component)?;
        Some((cluster, shard))
    }

    /// The shard that the fault is for.
    fn shard(&self) -> Result<connect::Dsn, DemoError> {
        let index = usize::from(self.case.component == Process::Target);
        Ok(self.fleet.admins()?.remove(index).1)
    }

    /// Who is at work: whoever stands at the place, or else the migration's owner and the leader.
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

    /// The controller that leads, as far as one of them says.
    async fn leader(&self) -> Option<(usize, &'static str)> {
        let url = tokio::time::timeout(CALL_LIMIT, self.api.leader()).await;
        self.fleet.controller_at(&url.ok()?.ok()??)
    }

    /// The migration's owner, as far as the controller says.
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

/// What was stopped; drop lets it go on.
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
