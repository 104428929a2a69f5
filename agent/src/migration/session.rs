//! A migration that this process owns: what lives on from one step to the next.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plans::id::{Epoch, MigrationId};
use plans::names::Direction;
use plans::wire::{Progress, StreamStatus};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::error::StepError;
use crate::shard::database::Shard;
use crate::shard::snapshot::SnapshotHolders;
use crate::shard::user_code::CodeProver;
use crate::shared_scan::participants::ExpectedParticipant;
use crate::stream::ApplyStream;
use crate::throttle::MigrationThrottle;

/// What lives as long as this process owns the migration under one epoch.
#[derive(Debug)]
pub(crate) struct MigrationSession {
    pub(crate) migration: MigrationId,
    pub(crate) epoch: Epoch,
    /// Both shards know this epoch; false while a take-over is under way, or was cut short.
    pub(crate) taken_over: AtomicBool,
    /// The running change stream, if any.
    pub(crate) stream: tokio::sync::Mutex<Option<ApplyStream>>,
    /// Sessions that keep the copy's snapshot.
    pub(crate) snapshot_holders: tokio::sync::Mutex<Option<SnapshotHolders>>,
    /// Who prove what tables run, by shard.
    code_provers: tokio::sync::Mutex<BTreeMap<String, Arc<CodeProver>>>,
    /// How fast heavy work may go.
    pub(crate) throttle: MigrationThrottle,
    /// Moves of its operation wait for its copy to begin.
    expected: Mutex<Option<ExpectedParticipant>>,
    /// Where this agent keeps spools.
    pub(super) spools: PathBuf,
    /// The controller wants the `hold` step to end.
    pub(crate) end_hold: Notify,
    progress: Mutex<Progress>,
    /// When the running step ends, as far as anybody can tell.
    expected_end: Mutex<Option<Instant>>,
    last_status: Mutex<Option<StreamStatus>>,
}

impl MigrationSession {
    pub(crate) fn new(migration: MigrationId, epoch: Epoch, spools: &Path) -> Self {
        Self {
            throttle: MigrationThrottle::default(),
            expected: Mutex::default(),
            spools: spools.to_owned(),
            migration,
            epoch,
            taken_over: AtomicBool::new(false),
            stream: tokio::sync::Mutex::new(None),
            snapshot_holders: tokio::sync::Mutex::new(None),
            code_provers: tokio::sync::Mutex::default(),
            end_hold: Notify::new(),
            progress: Mutex::new(Progress::default()),
            expected_end: Mutex::new(None),
            last_status: Mutex::new(None),
        }
    }

    /// Who proves what tables of the shard run: the same session from step to step, which has planned the look.
    ///
    /// # Errors
    /// As [`CodeProver::open`].
    pub(crate) async fn code_prover(&self, shard: &Shard) -> Result<Arc<CodeProver>, StepError> {
        let mut code_provers = self.code_provers.lock().await;
        let known = code_provers
            .get(&shard.name)
            .filter(|known| !known.must_be_replaced());
        if let Some(prover) = known {
            return Ok(prover.clone());
        }
        let prover = Arc::new(CodeProver::open(shard).await?);
        code_provers.insert(shard.name.clone(), prover.clone());
        Ok(prover)
    }

    /// The figures of the running step, as of now.
    pub(crate) fn progress(&self) -> Progress {
        let mut progress = self.progress.lock().map(|p| p.clone()).unwrap_or_default();
        let expected_end = self
            .expected_end
            .lock()
            .ok()
            .and_then(|expected_end| *expected_end);
        let left =
            expected_end.map(|expected_end| expected_end.saturating_duration_since(Instant::now()));
        progress.eta_seconds = left.map(|left| left.as_secs_f64());
        progress
    }

    /// The migration is on its way to its copy, or it is not any more.
    pub(crate) fn set_expected_participant(&self, expected: Option<ExpectedParticipant>) {
        if let Ok(mut known) = self.expected.lock() {
            *known = expected;
        }
    }

    /// Forgets the figures of the step before.
    pub(crate) fn begin_step(&self) {
        self.update(|progress| *progress = Progress::default());
        self.set_eta_seconds(None);
    }

    /// The running step takes so many seconds still, all of it; `None` when nobody can tell.
    pub(crate) fn set_eta_seconds(&self, seconds: Option<f64>) {
        let left = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let expected_end = left.and_then(|left| Instant::now().checked_add(left));
        if let Ok(mut known) = self.expected_end.lock() {
            *known = expected_end;
        }
    }

    /// Changes the figures of the running step.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Progress)) {
        if let Ok(mut progress) = self.progress.lock() {
            change(&mut progress);
        }
    }

    /// The stream's figures; the last ones known while a step holds the stream.
    pub(crate) fn stream_status(&self) -> Option<StreamStatus> {
        let mut last_status = self.last_status.lock().ok()?;
        if let Ok(stream) = self.stream.try_lock() {
            *last_status = stream.as_ref().map(|stream| stream.seen().status);
        }
        last_status.clone()
    }

    /// Lets the stream apply nothing more; it goes on capturing where it has a spool, and ends where it has none.
    pub(crate) async fn stop_applying(&self) {
        let mut slot = self.stream.lock().await;
        match slot.as_ref() {
            Some(stream) if stream.direction == Direction::Forward && stream.runs() => {
                stream.apply(false);
            }
            _ => {
                if let Some(stream) = slot.take() {
                    stream.stop().await;
                }
            }
        }
    }

    /// Stops the stream, if one runs, and waits until its sessions are closed.
    pub(crate) async fn stop_stream(&self) {
        if let Some(stream) = self.stream.lock().await.take() {
            stream.stop().await;
        }
    }
}
