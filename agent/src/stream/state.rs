//! The state of a stream that a restart does not change. Requests of the steps change it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use plans::wire::StreamMode;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{ParkAt, StreamObservation, StreamRequest, StreamSettings, StreamSpec};
use crate::postgres::lsn::Lsn;
use crate::postgres::standbys::StandbySlots;

/// Where the stream pauses. It continues after the next request that permits it.
#[derive(Debug)]
pub(super) enum PausePoint {
    /// The stream pauses before the next transaction.
    BeforeNext,
    /// The stream pauses before the first transaction that commits at this position or later.
    BeforeCommit(ParkAt, oneshot::Sender<Lsn>),
}

/// The state that survives from one run of a stream to the next. A run ends with an error, or when the stream must
/// change its mode.
pub(super) struct StreamState {
    pub(super) spec: StreamSpec,
    pub(super) publish: watch::Sender<StreamObservation>,
    pub(super) requests: mpsc::UnboundedReceiver<StreamRequest>,
    pub(super) settings: Arc<StreamSettings>,
    /// The marker after which the stream ends. It must survive a restart of the stream; otherwise a cutover would wait
    /// for the end of the stream without a limit.
    pub(super) stop_at: Option<Uuid>,
    pub(super) pause: Option<PausePoint>,
    /// The answers to `Pause` requests that the stream has not sent yet.
    pub(super) pause_answers: Vec<oneshot::Sender<()>>,
    /// True if the stream is so far behind that its next run begins with spooling.
    pub(super) spools_first: bool,
    /// The slots of the downstream shard's standbys, which outlive a run.
    pub(super) standby_slots: StandbySlots,
    /// Cancelled when the sessions of an ended stream may be closed.
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

    /// Answers every `Pause` request: the stream applies nothing more until it is parked or resumed.
    pub(super) fn answer_pauses(&mut self) {
        for holder in self.pause_answers.drain(..) {
            let _ = holder.send(());
        }
    }

    pub(super) fn may_apply(&self) -> bool {
        self.settings.apply.load(Ordering::SeqCst)
    }

    /// Returns whether the stream commits each change without waiting for more changes.
    pub(super) fn is_prompt(&self) -> bool {
        self.spec.dual_write.is_some() || self.settings.commit_promptly.load(Ordering::SeqCst)
    }

    pub(super) fn set_mode(&self, mode: StreamMode) {
        self.publish
            .send_modify(|observation| observation.status.mode = mode);
    }
}
