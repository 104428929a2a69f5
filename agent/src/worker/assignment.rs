//! One owned migration and its running task.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use plans::failure::Failure;
use plans::id::StepId;
use plans::names::Direction;
use plans::step::StepKind;
use plans::wire::{Dispatch, Outcome, Report, StepReport, WireSecret};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::report_until_heard;
use crate::controller::Controller;
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::migration::load_monitor;
use crate::migration::session::MigrationSession;
use crate::migration::wait_monitor;
use crate::postgres::replication::{SLOT_GAP, SLOT_LOST, SLOT_MISSING};
use crate::shard::dual_write::OwnershipProof;
use crate::shard::epoch;
use crate::shared_scan::participants::{ExpectedParticipant, leads_to_copy};
use crate::steps;

/// Between two tries to take a migration over while no step waits for it.
const KEEP_PAUSE: Duration = Duration::from_secs(1);
/// A slot that nobody reads is moved along this often.
const SPARE_EVERY: Duration = Duration::from_secs(10);

/// A migration that this process owns, with what it does for it right now.
#[derive(Debug)]
pub(super) struct Assignment {
    pub(super) session: Arc<MigrationSession>,
    /// What calls about the migration show.
    pub(super) secret: Option<WireSecret>,
    step: Option<(StepId, StepKind)>,
    cancel: CancellationToken,
    task: JoinHandle<()>,
    /// Compares changed keys while nothing else is done.
    sweep: JoinHandle<()>,
    /// Keeps log from being kept for nobody while the cutover is waited for.
    spare: JoinHandle<()>,
}

impl Assignment {
    /// Begins what the controller dispatched; an older assignment of the migration ends first.
    pub(super) async fn begin(
        mut dispatch: Dispatch,
        before: Option<Self>,
        controller: &Controller,
        spools: &Path,
    ) -> Self {
        // A controller of the version before sends none, and leaves the one of this epoch as it is.
        let known = before.as_ref();
        let known = known.filter(|before| before.session.epoch == dispatch.epoch);
        let secret = dispatch.secret.take();
        dispatch.secret = secret.or_else(|| known?.secret.clone());
        let secret = dispatch.secret.clone();
        let session = match before {
            Some(before) => before.succeed(&dispatch, spools).await,
            None => Arc::new(MigrationSession::new(
                dispatch.migration.clone(),
                dispatch.epoch,
                spools,
            )),
        };
        let limits = dispatch.limits.clone();
        session
            .throttle
            .limit(&limits.unwrap_or_else(|| dispatch.options.limits()));
        session.set_expected_participant(ExpectedParticipant::with(&dispatch));
        let cancel = CancellationToken::new();
        let step = dispatch.step.clone();
        let context = StepContext::new(
            dispatch,
            session.clone(),
            controller.clone(),
            cancel.clone(),
        );
        let (sweeping, sparing) = (context.clone(), context.clone());
        let sweep = tokio::spawn(async move { steps::sweep(&sweeping).await });
        let (performing, performed) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let _performing = performing;
            perform(context).await;
        });
        let spare = tokio::spawn(async move {
            // A step that makes the slot, or reads it, is not disturbed.
            let _ = performed.await;
            spare_log(&sparing).await;
        });
        Self {
            session,
            secret,
            step,
            cancel,
            task,
            sweep,
            spare,
        }
    }

    /// Ends this assignment for the next one; what it holds goes on when the epoch is the same.
    async fn succeed(mut self, dispatch: &Dispatch, spools: &Path) -> Arc<MigrationSession> {
        self.end_tasks().await;
        if self.session.epoch == dispatch.epoch {
            return self.session;
        }
        self.session.stop_stream().await;
        let next = MigrationSession::new(dispatch.migration.clone(), dispatch.epoch, spools);
        // The snapshot does not belong to an epoch: it is only read.
        *next.snapshot_holders.lock().await = self.session.snapshot_holders.lock().await.take();
        Arc::new(next)
    }

    async fn end_tasks(&mut self) {
        for task in [&mut self.spare, &mut self.task, &mut self.sweep] {
            task.abort();
            let _ = task.await;
        }
    }

    /// The step that runs, until its report is heard.
    pub(super) fn running_step(&self) -> Option<StepId> {
        let (id, _) = self.step.as_ref()?;
        (!self.task.is_finished()).then(|| id.clone())
    }

    /// Stops step and stream at their next safe point; the snapshot is kept.
    pub(super) async fn pause(&self) {
        self.session.set_expected_participant(None);
        let busy = !self.task.is_finished();
        if busy
            && self
                .step
                .as_ref()
                .is_some_and(|(_, kind)| steps::ends_by_itself(*kind))
        {
            self.cancel.cancel();
            return;
        }
        self.cancel.cancel();
        if !busy {
            self.session.stop_applying().await;
        }
    }

    /// Ends everything at once.
    pub(super) async fn release(mut self) {
        self.session.set_expected_participant(None);
        self.cancel.cancel();
        self.end_tasks().await;
        self.session.stop_stream().await;
        *self.session.snapshot_holders.lock().await = None;
    }
}

/// Takes the migration over if it is new here, then performs the step and reports it.
async fn perform(context: StepContext) {
    let dispatch = context.dispatch.clone();
    let Some((id, kind)) = dispatch.step.clone() else {
        keep(&context).await;
        return;
    };
    let span = tracing::info_span!(
        "step.run",
        migration = %dispatch.migration,
        step.kind = %kind,
        epoch = dispatch.epoch.0,
        attempt = dispatch.attempt
    );
    attempt(context, id, kind).instrument(span).await;
}

/// One attempt of a step, up to its report.
async fn attempt(context: StepContext, id: StepId, kind: StepKind) {
    let dispatch = &context.dispatch;
    context.session.begin_step();
    tracing::info!("step begins");
    let outcome = async {
        if !steps::takes_over_by_itself(kind) {
            take_over(&context).await?;
        }
        run(&context, kind).await
    }
    .await;
    if outcome.is_err() || !leads_to_copy(kind) {
        context.session.set_expected_participant(None);
    }
    let outcome = match outcome {
        Ok(output) => Outcome::Done { output },
        Err(StepError::Failed(failure)) if begins_again(&failure, kind) => {
            tracing::warn!(step = %kind, code = %failure.code, "{}: the copy begins again", failure.message);
            context.session.stop_stream().await;
            Outcome::Rewind {
                to: StepKind::CreateTarget,
                failure,
            }
        }
        Err(StepError::Failed(failure)) => {
            tracing::warn!(step = %kind, code = %failure.code, "{}", failure.message);
            Outcome::Failed { failure }
        }
        Err(StepError::Interrupted) => {
            context.session.stop_applying().await;
            Outcome::Interrupted
        }
        Err(StepError::Reshaped {
            tables,
            fingerprint,
            changes,
        }) => {
            context.session.stop_stream().await;
            Outcome::Reshaped {
                tables,
                fingerprint,
                changes,
            }
        }
        Err(StepError::Rewind { to, failure }) => {
            context.session.stop_stream().await;
            Outcome::Rewind { to, failure }
        }
    };
    let report = Report::Step(StepReport {
        migration: dispatch.migration.clone(),
        step: id,
        epoch: dispatch.epoch,
        secret: dispatch.secret.clone(),
        outcome,
        progress: context.session.progress(),
    });
    report_until_heard(&context.controller, &report).await;
}

/// Before the flip a slot whose changes are lost costs the copy, and nothing else.
fn begins_again(failure: &Failure, kind: StepKind) -> bool {
    let lost = [SLOT_MISSING, SLOT_LOST, SLOT_GAP].contains(&failure.code.as_str());
    lost && matches!(
        kind,
        StepKind::Copy
            | StepKind::CatchUp
            | StepKind::BuildIndexes
            | StepKind::Verify
            | StepKind::OpenReverse
            | StepKind::Cutover
    )
}

/// Runs the step beside the change stream: it fails with the stream, and stops when it is told to.
async fn run(context: &StepContext, kind: StepKind) -> Result<serde_json::Value, StepError> {
    // These open what an earlier attempt left closed before they look at anything else.
    if !matches!(kind, StepKind::Cutover | StepKind::Rollback) {
        steps::shape::check(context, kind).await?;
    }
    let stream = context.dispatch.stream.filter(|_| context.is_online());
    if let Some(direction) = stream.filter(|_| needs_stream(kind)) {
        context.ensure_stream(direction).await?;
    }
    if steps::ends_by_itself(kind) {
        return steps::run(context, kind).await;
    }
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => Err(StepError::Interrupted),
        failure = context.wait_for_stream_failure() => Err(failure),
        output = steps::run(context, kind) => output,
        never = load_monitor::control_throttle(context), if is_heavy(kind) => match never {},
        never = wait_monitor::report_waits(context) => match never {},
    }
}

/// Steps that read or write many rows, which can wait.
fn is_heavy(kind: StepKind) -> bool {
    match kind {
        StepKind::Copy
        | StepKind::BuildIndexes
        | StepKind::Verify
        | StepKind::DropOld
        | StepKind::Unwind
        | StepKind::DropNew => true,
        // A comparison in the hold is governed by itself: most of the time nothing is done there.
        StepKind::Hold
        | StepKind::Preflight
        | StepKind::CreateTarget
        | StepKind::OpenCapture
        | StepKind::SetReadOnly
        | StepKind::CatchUp
        | StepKind::OpenReverse
        | StepKind::Cutover
        | StepKind::Rollback
        | StepKind::HoldBack => false,
    }
}

/// Steps that take the streams down, or whose data the streams would disturb, start none.
fn needs_stream(kind: StepKind) -> bool {
    match kind {
        StepKind::CatchUp
        | StepKind::BuildIndexes
        | StepKind::Verify
        | StepKind::OpenReverse
        | StepKind::Hold
        | StepKind::HoldBack => true,
        // The cutover starts the stream at its gate: behind the flip there is none to start.
        StepKind::Cutover
        | StepKind::Rollback
        | StepKind::Preflight
        | StepKind::CreateTarget
        | StepKind::OpenCapture
        | StepKind::SetReadOnly
        | StepKind::Copy
        | StepKind::DropOld
        | StepKind::Unwind
        | StepKind::DropNew => false,
    }
}

/// Owns a migration for which no step is due: its stream runs, its snapshot is held.
async fn keep(context: &StepContext) {
    loop {
        let kept = async {
            take_over(context).await?;
            match context.dispatch.stream.filter(|_| context.is_online()) {
                Some(direction) => context.ensure_stream(direction).await,
                None => Ok(()),
            }
        };
        match kept.await {
            Ok(()) => return,
            Err(error) if error.is_superseded() => return,
            Err(error) => tracing::warn!(%error, "the migration could not be kept going yet"),
        }
        tokio::time::sleep(KEEP_PAUSE).await;
    }
}

/// While the cutover is waited for, also in a pause, the target keeps no log for the stream back, which nobody reads yet.
async fn spare_log(context: &StepContext) {
    let waits = match &context.dispatch.step {
        None | Some((_, StepKind::Cutover)) => context.is_done(StepKind::OpenReverse),
        Some((_, kind)) => *kind == StepKind::OpenReverse,
    };
    if !waits || context.is_done(StepKind::Cutover) || !context.is_online() {
        return;
    }
    loop {
        match steps::let_log_go(context, Direction::Reverse).await {
            Ok(()) => {}
            Err(error) if error.is_superseded() => return,
            Err(error) => {
                tracing::warn!(%error, "the slot of the way back could not be moved along");
            }
        }
        tokio::time::sleep(SPARE_EVERY).await;
    }
}

/// Raises the epoch on both shards, which ends every older owner there, and picks up what it left; once for an
/// epoch, as a whole: the assignment before this one may have been ended in the middle of it.
async fn take_over(context: &StepContext) -> Result<(), StepError> {
    if context.session.taken_over.load(Ordering::Acquire) {
        return Ok(());
    }
    let token = context.token();
    // Our own commits would wait for the walsender of an owner that is gone.
    steps::take_out_of_standbys(context, OwnershipProof::TakeOver).await?;
    for shard in [context.source()?, context.target()?] {
        let session = shard.session("take-over").await?;
        epoch::take_over(&session, &token).await?;
    }
    // It may have come back once more before that.
    steps::take_out_of_standbys(context, OwnershipProof::Owner).await?;
    steps::recover_register(context).await?;
    if context.is_done(StepKind::OpenCapture) && !context.is_done(StepKind::Copy) {
        steps::keep_snapshot(context).await?;
    }
    context.session.taken_over.store(true, Ordering::Release);
    Ok(())
}
