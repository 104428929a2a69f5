//! The state of a stream that survives from one run to the next, and the requests that change it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use plans::wire::StreamMode;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{ParkAt, StreamObservation, StreamRequest, StreamSettings, StreamSpec};
use crate::postgres::lsn::Lsn;

/// The point at which the stream pauses until a request lets it continue.
#[derive(Debug)]
pub(super) enum PausePoint {
    /// The stream pauses before the next transaction.
    BeforeNext,
    /// The stream pauses before the first transaction that commits at this position or later.
    BeforeCommit(ParkAt, oneshot::Sender<Lsn>),
}

/// The state that survives from one run of a stream to the next.
pub(super) struct StreamState {
    pub(super) spec: StreamSpec,
    pub(super) publish: watch::Sender<StreamObservation>,
    pub(super) requests: mpsc::UnboundedReceiver<StreamRequest>,
    pub(super) commands: Arc<StreamSettings>,
    /// The marker to stop at. It must survive a restart of the stream; otherwise a cutover would wait for the end
    /// without a limit.
    pub(super) stop_at: Option<Uuid>,
    pub(super) pause: Option<PausePoint>,
    /// Callers of `hold` that still wait for the answer.
    pub(super) pause_answers: Vec<oneshot::Sender<()>>,
    /// True if the stream lags so far that its next run first writes changes to the spool.
    pub(super) lags: bool,
    /// If this token is cancelled, the sessions may be closed.
    pub(super) close_sessions: CancellationToken,
}

impl StreamState {
    pub(super) fn accept(&mut self, request: StreamRequest) {
        match request {
            StreamRequest::CheckSettings => {}
            StreamRequest::Pause(settled) => {
                self.pause = Some(PausePoint::BeforeNext);
                self.pause_answers.push(settled);
            }
            StreamRequest::Park(at, parked) => {
                self.pause = Some(PausePoint::BeforeCommit(at, parked))
            }
            StreamRequest::Resume => self.pause = None,
            StreamRequest::StopAt(marker) => self.stop_at = Some(marker),
        }
    }

    /// Notifies the callers of `hold` that the stream applies nothing more as long as they hold it.
    pub(super) fn answer_pauses(&mut self) {
        for holder in self.pause_answers.drain(..) {
            let _ = holder.send(());
        }
    }

    pub(super) fn may_apply(&self) -> bool {
        self.commands.apply.load(Ordering::SeqCst)
    }

    /// Returns whether the stream commits each change without waiting for more changes.
    pub(super) fn is_prompt(&self) -> bool {
        self.spec.dual_write.is_some() || self.commands.commit_promptly.load(Ordering::SeqCst)
    }

    pub(super) fn set_mode(&self, mode: StreamMode) {
        self.publish
            .send_modify(|observation| observation.status.mode = mode);
    }
}
