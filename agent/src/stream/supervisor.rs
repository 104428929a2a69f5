//! Runs a stream again after each transient failure, and ends a stream whose slot retains more WAL than the limit.

use std::sync::Arc;
use std::time::Duration;

use plans::failure::{RetryClass, StepCode};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::spooled::{self, RunEnd};
use super::state::{PausePoint, StreamState};
use super::{StreamObservation, StreamRequest, StreamSettings, StreamSpec, retained};
use crate::postgres::standbys::StandbySlots;

/// The longest delay before a restart.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Runs the stream until it ends, and watches its slot meanwhile. If the slot retains more WAL than the limit, this
/// function drops the slot and reports a failure.
pub(super) async fn run_and_watch_slot(
    spec: StreamSpec,
    publish: watch::Sender<StreamObservation>,
    requests: mpsc::UnboundedReceiver<StreamRequest>,
    settings: Arc<StreamSettings>,
    close_sessions: CancellationToken,
) {
    let mut slot_watch = Box::pin(retained::watch_slot(spec.clone(), publish.clone()));
    let mut shared = StreamState {
        spec,
        publish,
        requests,
        settings,
        stop_at: None,
        pause: None,
        pause_answers: Vec::new(),
        spools_first: false,
        standby_slots: StandbySlots::default(),
        close_sessions: close_sessions.clone(),
    };
    let limit_failure = tokio::select! {
        limit_failure = &mut slot_watch => limit_failure,
        () = run_until_ended(&mut shared) => {
            tokio::spawn(async move {
                close_sessions.cancelled().await;
                drop(slot_watch);
            });
            return;
        }
    };
    // A disk that is full of retained WAL would stop the upstream shard, so the agent drops the slot, although the move
    // then lacks changes.
    let dropped = retained::drop_slot(&shared.spec).await;
    let mut failure = limit_failure;
    if let Err(error) = dropped {
        failure.message = format!(
            "{}; its slot could not be dropped: {error}",
            failure.message
        );
    }
    shared
        .publish
        .send_modify(|observation| observation.status.failure = Some(failure));
}

/// Restarts the stream after each transient failure, until it ends on request or gives up.
async fn run_until_ended(shared: &mut StreamState) {
    let mut failures = 0;
    loop {
        let transactions_before = shared.publish.borrow().status.transactions;
        let error = match spooled::run(shared).await {
            Ok(RunEnd::Ended) => return,
            Ok(RunEnd::ChangeMode) => continue,
            Err(error) => error,
        };
        // The caller of `park` notices the failed run because its channel closes. The stream stays paused until
        // `Resume`.
        if matches!(shared.pause, Some(PausePoint::BeforeCommit(..))) {
            shared.pause = Some(PausePoint::BeforeNext);
        }
        if shared.publish.borrow().status.transactions > transactions_before {
            failures = 0;
        }
        failures += 1;
        let Some(mut failure) = error.failure().cloned() else {
            return;
        };
        // After a gap between spool and slot the stream reads the spool once more: the agent that had the migration
        // before may have confirmed its last spooled changes after this process had listed the segments.
        let read_spool_again = failure.has_code(StepCode::SlotGap) && failures == 1;
        let transient = failure.retry != RetryClass::None || read_spool_again;
        if !transient || failures >= shared.spec.max_attempts {
            if transient {
                failure.message = format!("{} ({failures} attempts)", failure.message);
                failure.retry = RetryClass::None;
                failure
                    .hint
                    .get_or_insert_with(|| "fix the cause, then `resume`".to_owned());
            }
            shared
                .publish
                .send_modify(|observation| observation.status.failure = Some(failure));
            return;
        }
        tracing::warn!(direction = %shared.spec.direction, failures, error = %failure.message, "change stream restarts");
        tokio::time::sleep(restart_delay(failures)).await;
    }
}

/// Returns the delay before a restart, after this number of failures in a row.
pub(super) fn restart_delay(failures: u32) -> Duration {
    (Duration::from_millis(50) * 2_u32.pow(failures.min(10))).min(LONGEST_PAUSE)
}
