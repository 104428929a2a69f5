//! A migration that is assigned to this process: the state that its steps share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plans::failure::Failure;
use plans::id::{Epoch, MigrationId};
use plans::identity::DatabaseIdentity;
use plans::names::Direction;
use plans::wire::{Progress, StreamStatus};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::error::StepError;
use crate::shard::database::Shard;
use crate::shard::snapshot::SnapshotHolders;
use crate::shard::user_code::CodeProver;
use crate::shared_scan::participants::ExpectedParticipant;
use crate::stream::{ApplyStream, StreamObservation};
use crate::throttle::MigrationThrottle;

/// The state of a migration in this process. It lasts as long as the process has the migration's lease with one epoch.
#[derive(Debug)]
pub(crate) struct MigrationSession {
    pub(crate) migration: MigrationId,
    pub(crate) epoch: Epoch,
    /// True when the take-over of the migration is complete; false while it is in progress or was interrupted.
    pub(crate) taken_over: AtomicBool,
    /// The running change stream, if there is one.
    pub(crate) stream: tokio::sync::Mutex<Option<ApplyStream>>,
    /// The sessions that hold the snapshot of the copy.
    pub(crate) snapshot_holders: tokio::sync::Mutex<Option<SnapshotHolders>>,
    /// The sessions that check the tables of a shard for untrusted code (ADR 49), by shard.
    code_provers: tokio::sync::Mutex<BTreeMap<String, Arc<CodeProver>>>,
    /// The throttle of heavy work.
    pub(crate) throttle: MigrationThrottle,
    /// Set until the copy of this migration begins. The other moves of the operation wait for it, to read the source
    /// together (shared scan).
    expected: Mutex<Option<ExpectedParticipant>>,
    /// The folder in which this agent keeps spools.
    pub(super) spools: PathBuf,
    /// Notified when the controller requests that the step `hold` ends.
    pub(crate) end_hold: Notify,
    progress: Mutex<Progress>,
    /// The estimated end of the running step, if there is an estimate.
    expected_end: Mutex<Option<Instant>>,
    /// The last known status of the stream.
    last_status: Mutex<Option<StreamStatus>>,
    /// The servers that were promoted after the flip, and on which the migration continues.
    promoted: Mutex<PromotedServers>,
    /// The last status of the stream of a hold, with the failure after which it cannot continue.
    stream_end: Mutex<Option<StreamStatus>>,
}

/// The promoted servers of a migration's shards.
#[derive(Debug, Default, Clone)]
pub(crate) struct PromotedServers {
    pub(crate) source: Option<DatabaseIdentity>,
    pub(crate) target: Option<DatabaseIdentity>,
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
            promoted: Mutex::default(),
            stream_end: Mutex::default(),
        }
    }

    /// Returns the failure after which the stream of a hold cannot continue.
    pub(crate) fn stream_end(&self) -> Option<Failure> {
        self.ended_stream().and_then(|status| status.failure)
    }

    fn ended_stream(&self) -> Option<StreamStatus> {
        self.stream_end
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Stops the stream of a hold for good. From now on its status is the last known one, with the failure.
    pub(crate) async fn end_stream(&self, direction: Direction, failure: Failure) {
        let known = self.stream_status().filter(|it| it.direction == direction);
        let status = StreamStatus {
            failure: Some(failure),
            ..known.unwrap_or_else(|| StreamObservation::before_start(direction).status)
        };
        *self
            .stream_end
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(status);
        self.stop_stream().await;
    }

    /// Returns the servers that were promoted after the flip.
    pub(crate) fn promoted_servers(&self) -> PromotedServers {
        self.promoted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Lets the migration continue on promoted servers.
    pub(crate) fn update_promoted_servers(&self, update: impl FnOnce(&mut PromotedServers)) {
        update(&mut self.promoted.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns the session that checks the tables of the shard for untrusted code. Steps share it, so that its queries
    /// are already planned.
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

    /// Returns the current progress of the running step.
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

    /// Sets whether the other moves of the operation wait for the copy of this migration.
    pub(crate) fn set_expected_participant(&self, expected: Option<ExpectedParticipant>) {
        if let Ok(mut known) = self.expected.lock() {
            *known = expected;
        }
    }

    /// Resets the progress at the start of a step.
    pub(crate) fn begin_step(&self) {
        self.update(|progress| *progress = Progress::default());
        self.set_eta_seconds(None);
    }

    /// Sets the estimated remaining time of the running step; `None` if there is no estimate.
    pub(crate) fn set_eta_seconds(&self, seconds: Option<f64>) {
        let left = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let expected_end = left.and_then(|left| Instant::now().checked_add(left));
        if let Ok(mut known) = self.expected_end.lock() {
            *known = expected_end;
        }
    }

    /// Changes the progress of the running step.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Progress)) {
        if let Ok(mut progress) = self.progress.lock() {
            change(&mut progress);
        }
    }

    /// Returns the status of the stream. While a step has locked the stream, and after its end in a hold, this is the last
    /// known status.
    pub(crate) fn stream_status(&self) -> Option<StreamStatus> {
        if let Some(ended) = self.ended_stream() {
            return Some(ended);
        }
        let mut last_status = self.last_status.lock().ok()?;
        if let Ok(stream) = self.stream.try_lock() {
            *last_status = stream.as_ref().map(|stream| stream.observation().status);
        }
        last_status.clone()
    }

    /// Makes the stream stop applying. A forward stream continues to capture into its spool; a reverse stream ends.
    pub(crate) async fn stop_applying(&self) {
        let mut current = self.stream.lock().await;
        match current.as_ref() {
            Some(stream) if stream.direction == Direction::Forward && stream.is_running() => {
                stream.set_apply(false);
            }
            _ => {
                if let Some(stream) = current.take() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_status_of_a_stream_that_has_ended_stays_with_its_failure() {
        let migration = MigrationId("m1".to_owned());
        let session = MigrationSession::new(migration, Epoch(1), Path::new("/tmp"));
        assert_eq!(session.stream_status(), None);
        let failure = Failure {
            code: plans::failure::StepCode::SlotMissing.into(),
            message: "it does not exist".to_owned(),
            hint: None,
            retry: plans::failure::RetryClass::None,
        };
        session
            .end_stream(Direction::Reverse, failure.clone())
            .await;
        for _ in 0..2 {
            let status = session.stream_status().expect("a status");
            assert_eq!(
                (status.direction, status.failure),
                (Direction::Reverse, Some(failure.clone()))
            );
        }
    }
}
