//! The position that a stream may confirm to its slot: every standby of the downstream shard has flushed the progress
//! up to it, so that a promoted standby lacks nothing that the slot no longer sends (I3, ADR 63).
//!
//! A task probes the downstream shard on a session of its own, and only while a durable position is not confirmable
//! yet. It reads the progress row, then the end of the flushed log, then what the standbys have flushed. In this order
//! the log up to that end contains the commit of the progress row. All of it comes from one server: the task does not
//! use the positions that the run has committed, because the server of the run may have failed over meanwhile.
//!
//! Under synchronous dual-write the confirmed position acknowledges the application's commits, so it follows the
//! progress and does not wait for standbys.

use std::collections::VecDeque;
use std::time::Duration;

use connect::Connected;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::task::AbortOnDropHandle;

use super::StreamSpec;
use crate::error::StepError;
use crate::postgres::lsn::Lsn;
use crate::postgres::standbys::{self, SlowestStandby, StandbySlots};
use crate::shard::apply_progress;
use crate::shard::monitor_session::MonitorSession;

/// The shortest interval between two probes.
const PROBE_INTERVAL: Duration = Duration::from_millis(250);
/// The maximum number of commits that are remembered. Beyond it every second one is forgotten, which only makes a
/// position confirmable later.
const MAX_COMMITS: usize = 1024;

/// The position that a run may confirm to its slot. When this value is dropped, the probes end.
pub(super) struct ConfirmablePosition {
    /// The durable progress of the run.
    durable: watch::Sender<Lsn>,
    /// The part of the progress that the standbys have flushed; `None` if the confirmed position follows the progress.
    flushed: Option<watch::Receiver<Lsn>>,
    _probes: Option<AbortOnDropHandle<()>>,
}

impl ConfirmablePosition {
    /// Starts the probes for a run that continues after `progress`, which it has read on `session`.
    pub(super) async fn start(
        spec: &StreamSpec,
        slots: StandbySlots,
        session: &Connected,
        progress: Lsn,
    ) -> Result<Self, StepError> {
        let (durable, watched) = watch::channel(progress);
        if spec.dual_write.is_some() {
            return Ok(Self {
                durable,
                flushed: None,
                _probes: None,
            });
        }
        let (publish, flushed) = watch::channel(Lsn::ZERO);
        let probes = StandbyProbes {
            started: standbys::server_start(session).await?,
            monitor: MonitorSession::new(spec.downstream.clone(), "standbys"),
            commits: VecDeque::new(),
            slots,
            spec: spec.clone(),
        };
        Ok(Self {
            durable,
            flushed: Some(flushed),
            _probes: Some(AbortOnDropHandle::new(tokio::spawn(
                probes.run(watched, publish),
            ))),
        })
    }

    /// Records that the progress up to `position` is durable on the downstream shard.
    pub(super) fn note_durable(&self, position: Lsn) {
        self.durable.send_replace(position);
    }

    /// Returns the position that may be confirmed; [`Lsn::ZERO`] if none is known yet.
    pub(super) fn position(&self) -> Lsn {
        match &self.flushed {
            Some(flushed) => *flushed.borrow(),
            None => *self.durable.borrow(),
        }
    }

    /// Waits until a later position may be confirmed, without a commit of the run. Cancelling the call loses nothing.
    pub(super) async fn advanced(&mut self) {
        if let Some(flushed) = &mut self.flushed
            && flushed.changed().await.is_ok()
        {
            return;
        }
        std::future::pending().await
    }
}

/// A commit on the downstream shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProgressCommit {
    /// The progress that it contains: a position of the upstream log.
    progress: Lsn,
    /// A position of the downstream log that is not before the end of the commit.
    logged: Lsn,
}

/// What one probe has read.
struct StandbyProbe {
    commit: Option<ProgressCommit>,
    slowest: Option<SlowestStandby>,
}

/// The task that probes the downstream shard.
struct StandbyProbes {
    spec: StreamSpec,
    monitor: MonitorSession,
    /// The start time of the server on which the run applies changes.
    started: i64,
    slots: StandbySlots,
    /// Commits that a standby has not flushed, the oldest first. They belong to the log of one server.
    commits: VecDeque<ProgressCommit>,
}

impl StandbyProbes {
    async fn run(mut self, mut durable: watch::Receiver<Lsn>, publish: watch::Sender<Lsn>) {
        let mut probe_times = interval(PROBE_INTERVAL);
        probe_times.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_held_back = false;
        loop {
            let flushed = *publish.borrow();
            let Ok(wanted) = durable
                .wait_for(|position| *position > flushed)
                .await
                .map(|p| *p)
            else {
                return;
            };
            probe_times.tick().await;
            let Some(probe) = self.probe().await else {
                // The next session may lead to another server, whose log is not that of these commits.
                self.commits.clear();
                continue;
            };
            let flushed = self.flushed_progress(&probe);
            publish.send_if_modified(|position| {
                let is_later = flushed > *position;
                *position = flushed.max(*position);
                is_later
            });
            let is_far = wanted.bytes_since(*publish.borrow()) > self.spec.max_retained_bytes / 4;
            if let (true, false, Some(slowest)) = (is_far, is_held_back, &probe.slowest) {
                tracing::warn!(shard = %self.spec.downstream.name, standby = slowest.name, flushed = %slowest.flushed, "a standby has not flushed what the change stream has applied, so the upstream shard retains WAL for it; `ignore_standbys` leaves the standby out");
            }
            is_held_back = is_far;
        }
    }

    /// Adds the commit of the probe, and returns the greatest progress that every standby has flushed.
    fn flushed_progress(&mut self, probe: &StandbyProbe) -> Lsn {
        if let Some(commit) = probe.commit
            && self
                .commits
                .back()
                .is_none_or(|last| last.progress < commit.progress)
        {
            if self.commits.len() >= MAX_COMMITS {
                let mut keep = false;
                self.commits.retain(|_| {
                    keep = !keep;
                    keep
                });
            }
            self.commits.push_back(commit);
        }
        let mut flushed = Lsn::ZERO;
        while let Some(oldest) = self.commits.front()
            && probe
                .slowest
                .as_ref()
                .is_none_or(|slowest| oldest.logged <= slowest.flushed)
        {
            flushed = oldest.progress;
            self.commits.pop_front();
        }
        flushed
    }

    /// Reads the progress and what the standbys have flushed; `None` if the shard does not answer, or if the session
    /// leads to another server than that of the run.
    async fn probe(&mut self) -> Option<StandbyProbe> {
        let (spec, slots, started) = (&self.spec, &self.slots, self.started);
        self.monitor
            .probe(async |session: &Connected| {
                let what = format!("shard {}: reading its standbys", spec.downstream.name);
                if standbys::server_start(session).await? != started {
                    return Err(StepError::passing(
                        plans::failure::StepCode::StreamRestarted,
                        format!("{what}: the server was replaced or restarted"),
                    ));
                }
                // The three reads are in this order: the log up to `logged` contains the commit of the progress, and
                // a standby that has flushed `logged` has flushed it when the agent confirms (I3).
                let progress =
                    apply_progress::read_position(session, &spec.token, spec.direction).await?;
                let logged = standbys::flush_position(session).await?;
                let slowest =
                    standbys::slowest_standby(session, &spec.ignored_standbys, slots).await?;
                Ok(StandbyProbe {
                    commit: progress.map(|progress| ProgressCommit { progress, logged }),
                    slowest,
                })
            })
            .await
    }
}
