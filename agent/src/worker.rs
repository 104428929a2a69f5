//! The worker: claims work, performs it, shows signs of life, reports.
//!
//! Two loops run side by side: one asks for work (long poll), one sends a heartbeat each second and
//! obeys the directives in the answer. Each owned migration has at most one running task.

mod assignment;
mod foreign;
mod process;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use plans::id::{AgentName, Epoch, MigrationId};
use plans::names::Direction;
use plans::wire::{
    Action, Claim, ClaimedWork, Directive, Heartbeat, MigrationStatus, OLDEST_PROTOCOL, PROTOCOL,
    Report, Work,
};
use tokio::sync::Mutex;

use crate::controller::{Controller, ControllerError};
use crate::inspect;
use crate::spool::{self, SpoolLocation};
use assignment::Assignment;
use process::WorkerProcess;

/// Between two heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// The same while an application's latency is held: they bring what it reports.
const HELD_HEARTBEAT: Duration = Duration::from_millis(250);
/// Between two looks for spools that are over.
const CLEAR_EVERY: Duration = Duration::from_secs(5);
/// Between two tries to reach a controller that is away.
const PAUSE: Duration = Duration::from_millis(300);
/// After a claim that was refused: another process has the name for a while, or somebody has to mend something.
const REFUSED_PAUSE: Duration = Duration::from_secs(1);
/// After work that this version does not understand: what is given back is given again.
const FOREIGN_PAUSE: Duration = Duration::from_secs(5);

/// Where the rows are kept that repairs delete.
#[derive(Debug, Clone)]
pub struct DeletedRows {
    /// The agent's folder.
    pub folder: PathBuf,
    /// For how long they are kept.
    pub keep: Duration,
}

/// An agent's process.
#[derive(Debug)]
pub struct Worker {
    name: AgentName,
    process: WorkerProcess,
    controller: Controller,
    /// Where captured changes are kept that cannot be applied yet.
    spools: PathBuf,
    files: DeletedRows,
    assignments: Mutex<HashMap<MigrationId, Assignment>>,
    /// The inspections under way, by their ids.
    inspecting: Arc<Mutex<BTreeSet<String>>>,
}

impl Worker {
    /// An agent called `name` that works for `controller`, and keeps captured changes in `spools` while they cannot
    /// be applied; they hold rows.
    pub fn new(
        name: &str,
        controller: Controller,
        spools: PathBuf,
        files: DeletedRows,
    ) -> Arc<Self> {
        let name = AgentName(name.to_owned());
        Arc::new(Self {
            process: WorkerProcess::start(&name, &spools),
            name,
            controller,
            spools,
            files,
            assignments: Mutex::new(HashMap::new()),
            inspecting: Arc::default(),
        })
    }

    /// Works until it is dropped.
    pub async fn run(self: Arc<Self>) {
        tokio::join!(
            self.clone().claim_for_ever(),
            self.beat_for_ever(),
            self.clear_spools()
        );
    }

    /// How many migrations it holds.
    pub async fn held(&self) -> usize {
        self.assignments.lock().await.len()
    }

    async fn claim_for_ever(self: Arc<Self>) {
        // What is said once: a controller may be away, or refuse this version, for long.
        let mut said = None;
        loop {
            let claim = Claim {
                protocol: PROTOCOL,
                oldest: Some(OLDEST_PROTOCOL),
                agent: self.name.clone(),
                instance: self.process.instance.clone(),
                holding: self.holding().await,
                inspecting: Some(self.inspecting.lock().await.iter().cloned().collect()),
                host: Some(self.process.host.clone()),
                key: Some(self.process.key.clone()),
                outlived: self.process.outlived.clone(),
            };
            match self.controller.claim(&claim).await {
                Ok(work) => {
                    said = None;
                    if let Some(work) = work {
                        self.take(work).await;
                    }
                }
                Err(ControllerError::UnknownWork { work, reason }) => {
                    self.give_back(&work, &reason).await;
                }
                Err(error) => {
                    let text = error.to_string();
                    if said.as_ref() != Some(&text) {
                        tracing::warn!(%error, "no work from the controller");
                        said = Some(text);
                    }
                    let refused = error.is_final();
                    tokio::time::sleep(if refused { REFUSED_PAUSE } else { PAUSE }).await;
                }
            }
        }
    }

    /// Work of a newer controller: its step fails with what mends that, before anything else is asked for.
    async fn give_back(&self, work: &str, reason: &str) {
        tracing::warn!(reason, "work that this version does not understand");
        match foreign::refusal(work, reason) {
            Some(report) => report_until_heard(&self.controller, &report).await,
            None => tokio::time::sleep(FOREIGN_PAUSE).await,
        }
    }

    /// Removes spools that nobody will read any more: those of migrations that have ended under another agent.
    /// What the controller does not know is left alone.
    async fn clear_spools(&self) {
        loop {
            inspect::mend::clear(&self.files.folder, self.files.keep);
            for migration in spool::migrations_with_spool(&self.spools) {
                if self.assignments.lock().await.contains_key(&migration) {
                    continue;
                }
                let ended = self.controller.has_ended(&migration).await;
                if matches!(ended, Ok(Some(true)))
                    && !self.assignments.lock().await.contains_key(&migration)
                {
                    let place = SpoolLocation::new(
                        &self.spools,
                        &migration,
                        Direction::Forward,
                        Epoch(i64::MAX),
                    );
                    if let Err(error) = place.remove().await {
                        tracing::warn!(%migration, %error, "a spool that is over could not be removed");
                    }
                }
            }
            tokio::time::sleep(CLEAR_EVERY).await;
        }
    }

    async fn holding(&self) -> Vec<ClaimedWork> {
        let assignments = self.assignments.lock().await;
        assignments
            .values()
            .map(|assignment| ClaimedWork {
                migration: assignment.session.migration.clone(),
                epoch: assignment.session.epoch,
                step: assignment.running_step(),
                secret: assignment.secret.clone(),
            })
            .collect()
    }

    async fn take(&self, work: Work) {
        match work {
            Work::Inspect(task) => {
                let (controller, files) = (self.controller.clone(), self.files.clone());
                let inspecting = self.inspecting.clone();
                inspecting.lock().await.insert(task.id.clone());
                tokio::spawn(async move {
                    let report = Report::Inspected {
                        id: task.id.clone(),
                        result: inspect::run(&task.inspection, &files.folder).await,
                    };
                    report_until_heard(&controller, &report).await;
                    inspecting.lock().await.remove(&task.id);
                });
            }
            Work::Step(dispatch) => {
                let mut assignments = self.assignments.lock().await;
                let before = assignments.remove(&dispatch.migration);
                let next =
                    Assignment::begin(*dispatch, before, &self.controller, &self.spools).await;
                assignments.insert(next.session.migration.clone(), next);
            }
        }
    }

    async fn beat_for_ever(&self) {
        loop {
            let beat = Heartbeat {
                agent: self.name.clone(),
                instance: self.process.instance.clone(),
                holding: self.holdings().await,
                key: Some(self.process.key.clone()),
            };
            match self.controller.heartbeat(&beat).await {
                Ok(reply) => {
                    for directive in reply.directives {
                        self.obey(directive).await;
                    }
                }
                Err(error) => tracing::debug!(%error, "heartbeat was not heard"),
            }
            tokio::time::sleep(self.until_next_beat().await).await;
        }
    }

    async fn until_next_beat(&self) -> Duration {
        let assignments = self.assignments.lock().await;
        let holds = assignments
            .values()
            .any(|assignment| assignment.session.throttle.holds_latency());
        if holds { HELD_HEARTBEAT } else { HEARTBEAT }
    }

    async fn holdings(&self) -> Vec<MigrationStatus> {
        let assignments = self.assignments.lock().await;
        assignments
            .values()
            .map(|assignment| MigrationStatus {
                migration: assignment.session.migration.clone(),
                epoch: assignment.session.epoch,
                step: assignment.running_step(),
                progress: assignment.session.progress(),
                stream: assignment.session.stream_status(),
                secret: assignment.secret.clone(),
            })
            .collect()
    }

    async fn obey(&self, directive: Directive) {
        let mut assignments = self.assignments.lock().await;
        let Some(assignment) = assignments.get(&directive.migration) else {
            return;
        };
        let throttle = &assignment.session.throttle;
        if let Some(limits) = &directive.limits {
            throttle.limit(limits);
        }
        if let Some(latency) = directive.latency {
            throttle.hear(latency);
        }
        match directive.action {
            Action::Continue => {}
            Action::EndHold => assignment.session.end_hold.notify_one(),
            Action::Pause => assignment.pause().await,
            Action::Release => {
                let released = assignments.remove(&directive.migration);
                // Its end may take seconds; the heartbeats of the others do not wait for it.
                drop(assignments);
                if let Some(assignment) = released {
                    assignment.release().await;
                }
            }
        }
    }
}

/// Reports until the controller has heard it, or refuses it for good.
pub(crate) async fn report_until_heard(controller: &Controller, report: &Report) {
    loop {
        match controller.report(report).await {
            Ok(()) => return,
            Err(error @ ControllerError::Refused { .. }) if error.is_final() => {
                tracing::warn!(%error, "a report was refused");
                return;
            }
            Err(error) => {
                tracing::debug!(%error, "reporting again");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}
