//! The worker: claims work from the controller, executes it, sends heartbeats, and reports results.
//!
//! Three loops run concurrently: one claims work (long poll), one sends heartbeats and follows the directives in the
//! replies, and one removes files that are no longer needed. Each migration of this agent has at most one running step.

mod assignment;
mod process;
mod stream_end;
mod unknown_work;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use plans::id::{AgentName, Epoch, MigrationId};
use plans::names::Direction;
use plans::wire::{
    Action, Claim, ClaimedWork, Directive, Heartbeat, MigrationStatus, NEWEST_PROTOCOL,
    OLDEST_PROTOCOL, Report, Work,
};
use tokio::sync::Mutex;

use crate::controller::{Controller, ControllerError};
use crate::inspect;
use crate::spool::{self, SpoolLocation};
use assignment::Assignment;
use process::WorkerProcess;

/// The interval between two heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// The interval if a migration has a limit on the application's latency, because the replies to heartbeats contain the
/// latency that the application reported.
const LATENCY_HEARTBEAT: Duration = Duration::from_millis(250);
/// The interval between two removals of obsolete spools.
const CLEAN_UP_INTERVAL: Duration = Duration::from_secs(5);
/// The pause before the agent tries to reach a controller again.
const RETRY_PAUSE: Duration = Duration::from_millis(300);
/// The pause after a refused claim: an operator must fix the cause, or another process used the agent's name a short
/// time ago.
const REFUSED_PAUSE: Duration = Duration::from_secs(1);
/// The pause after work that this version does not understand and cannot report as failed: the controller assigns the
/// work again.
const UNKNOWN_WORK_PAUSE: Duration = Duration::from_secs(5);

/// The files that keep the rows that repairs delete.
#[derive(Debug, Clone)]
pub struct DeletedRows {
    /// The folder of the files.
    pub folder: PathBuf,
    /// The time for which the files are kept.
    pub keep: Duration,
}

/// The worker of an agent's process.
#[derive(Debug)]
pub struct Worker {
    name: AgentName,
    process: WorkerProcess,
    controller: Controller,
    /// The folder of the spools: captured changes that cannot be applied yet.
    spools: PathBuf,
    deleted_rows: DeletedRows,
    assignments: Mutex<HashMap<MigrationId, Assignment>>,
    /// The ids of the running inspections.
    inspecting: Arc<Mutex<BTreeSet<String>>>,
}

impl Worker {
    /// Creates the worker of the agent `name`, which works for `controller`. It keeps captured changes in the folder
    /// `spools` while they cannot be applied; these files contain rows.
    pub fn new(
        name: &str,
        controller: Controller,
        spools: PathBuf,
        deleted_rows: DeletedRows,
    ) -> Arc<Self> {
        let name = AgentName(name.to_owned());
        Arc::new(Self {
            process: WorkerProcess::start(&name, &spools),
            name,
            controller,
            spools,
            deleted_rows,
            assignments: Mutex::new(HashMap::new()),
            inspecting: Arc::default(),
        })
    }

    /// Runs until the future is dropped.
    ///
    /// The future is boxed, so that this crate compiles it, and not each program that awaits it.
    pub fn run(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            tokio::join!(
                self.clone().claim_forever(),
                self.send_heartbeats_forever(),
                self.clean_up_forever()
            );
        })
    }

    /// Returns how many migrations are assigned to the agent.
    pub async fn assignment_count(&self) -> usize {
        self.assignments.lock().await.len()
    }

    async fn claim_forever(self: Arc<Self>) {
        // The last logged error. It is logged only once, because a controller may be unreachable, or refuse this
        // version, for a long time.
        let mut logged = None;
        loop {
            let claim = Claim {
                protocol: NEWEST_PROTOCOL,
                oldest: Some(OLDEST_PROTOCOL),
                agent: self.name.clone(),
                instance: self.process.instance.clone(),
                holding: self.claimed_work().await,
                inspecting: Some(self.inspecting.lock().await.iter().cloned().collect()),
                host: Some(self.process.host.clone()),
                key: Some(self.process.key.clone()),
                outlived: self.process.ended_keys.clone(),
            };
            match self.controller.claim(&claim).await {
                Ok(work) => {
                    logged = None;
                    if let Some(work) = work {
                        self.start_work(work).await;
                    }
                }
                Err(ControllerError::UnknownWork { work, reason }) => {
                    self.report_unknown_work(&work, &reason).await;
                }
                Err(error) => {
                    let text = error.to_string();
                    if logged.as_ref() != Some(&text) {
                        tracing::warn!(%error, "claiming work from the controller failed");
                        logged = Some(text);
                    }
                    let is_refused = error.is_final();
                    tokio::time::sleep(if is_refused {
                        REFUSED_PAUSE
                    } else {
                        RETRY_PAUSE
                    })
                    .await;
                }
            }
        }
    }

    /// Reports work of a newer controller as failed, with a hint.
    async fn report_unknown_work(&self, work: &str, reason: &str) {
        tracing::warn!(
            reason,
            "the controller assigned work that this version does not understand"
        );
        match unknown_work::failure_report(work, reason) {
            Some(report) => report_until_received(&self.controller, &report).await,
            None => tokio::time::sleep(UNKNOWN_WORK_PAUSE).await,
        }
    }

    /// Removes expired files of deleted rows, and the spools of migrations that have ended under another agent. Keeps
    /// the spools of migrations that the controller does not know.
    async fn clean_up_forever(&self) {
        loop {
            inspect::repair::delete_expired(&self.deleted_rows.folder, self.deleted_rows.keep);
            for migration in spool::migrations_with_spool(&self.spools) {
                if self.assignments.lock().await.contains_key(&migration) {
                    continue;
                }
                let ended = self.controller.has_ended(&migration).await;
                if matches!(ended, Ok(Some(true)))
                    && !self.assignments.lock().await.contains_key(&migration)
                {
                    // The removal includes the spools of all earlier epochs.
                    let spool = SpoolLocation::new(
                        &self.spools,
                        &migration,
                        Direction::Forward,
                        Epoch(i64::MAX),
                    );
                    if let Err(error) = spool.remove().await {
                        tracing::warn!(%migration, %error, "the spool of an ended migration could not be removed");
                    }
                }
            }
            tokio::time::sleep(CLEAN_UP_INTERVAL).await;
        }
    }

    async fn claimed_work(&self) -> Vec<ClaimedWork> {
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

    async fn start_work(&self, work: Work) {
        match work {
            Work::Inspect(task) => {
                let (controller, deleted_rows) =
                    (self.controller.clone(), self.deleted_rows.clone());
                let inspecting = self.inspecting.clone();
                inspecting.lock().await.insert(task.id.clone());
                tokio::spawn(async move {
                    let report = Report::Inspected {
                        id: task.id.clone(),
                        result: inspect::run(&task.inspection, &deleted_rows.folder).await,
                    };
                    report_until_received(&controller, &report).await;
                    inspecting.lock().await.remove(&task.id);
                });
            }
            Work::Step(dispatch) => {
                let mut assignments = self.assignments.lock().await;
                let previous = assignments.remove(&dispatch.migration);
                let assignment =
                    Assignment::begin(*dispatch, previous, &self.controller, &self.spools).await;
                assignments.insert(assignment.session.migration.clone(), assignment);
            }
        }
    }

    async fn send_heartbeats_forever(&self) {
        loop {
            let heartbeat = Heartbeat {
                agent: self.name.clone(),
                instance: self.process.instance.clone(),
                holding: self.migration_statuses().await,
                key: Some(self.process.key.clone()),
            };
            match self.controller.heartbeat(&heartbeat).await {
                Ok(reply) => {
                    for directive in reply.directives {
                        self.apply_directive(directive).await;
                    }
                }
                Err(error) => tracing::debug!(%error, "the heartbeat did not reach the controller"),
            }
            tokio::time::sleep(self.heartbeat_interval().await).await;
        }
    }

    async fn heartbeat_interval(&self) -> Duration {
        let assignments = self.assignments.lock().await;
        let needs_reports = assignments
            .values()
            .any(|assignment| assignment.session.throttle.needs_latency_reports());
        if needs_reports {
            LATENCY_HEARTBEAT
        } else {
            HEARTBEAT
        }
    }

    async fn migration_statuses(&self) -> Vec<MigrationStatus> {
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

    async fn apply_directive(&self, directive: Directive) {
        let mut assignments = self.assignments.lock().await;
        let Some(assignment) = assignments.get(&directive.migration) else {
            return;
        };
        let throttle = &assignment.session.throttle;
        if let Some(limits) = &directive.limits {
            throttle.set_limits(limits);
        }
        if let Some(latency) = directive.latency {
            throttle.set_application_latency(latency);
        }
        match directive.action {
            Action::Continue => {}
            Action::EndHold => assignment.session.end_hold.notify_one(),
            Action::Pause => assignment.pause().await,
            Action::Release => {
                let released = assignments.remove(&directive.migration);
                // The release may take seconds; heartbeats of other migrations must not wait for it.
                drop(assignments);
                if let Some(assignment) = released {
                    assignment.release().await;
                }
            }
        }
    }
}

/// Sends a report until the controller has received it, or has refused it in a way that a repetition does not change.
pub(crate) async fn report_until_received(controller: &Controller, report: &Report) {
    let mut is_first = true;
    loop {
        match controller.report(report).await {
            Ok(()) => return,
            Err(error @ ControllerError::Refused { .. }) if error.is_final() => {
                tracing::warn!(%error, "the controller refused a report");
                return;
            }
            Err(error) => {
                // One line for each report: without it, the log of an agent that cannot report shows nothing.
                if std::mem::take(&mut is_first) {
                    tracing::warn!(%error, "the controller has not received a report; sending it until it has");
                }
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }
}
