//! One migration that the controller has assigned to this agent, with its running tasks.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use plans::failure::{Failure, StepCode};
use plans::id::StepId;
use plans::names::Direction;
use plans::step::StepKind;
use plans::wire::{Dispatch, Outcome, Report, StepReport, WireSecret};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::report_until_received;
use super::stream_end;
use crate::controller::Controller;
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::migration::servers;
use crate::migration::session::MigrationSession;
use crate::migration::wait_monitor;
use crate::migration::{load_monitor, lock_yield};
use crate::shard::dual_write::OwnershipProof;
use crate::shard::{epoch, sidecar_schema};
use crate::shared_scan::participants::{ExpectedParticipant, leads_to_copy};
use crate::steps;

/// The pause before the agent tries again to take over a migration that has no step at this time.
const TAKE_OVER_PAUSE: Duration = Duration::from_secs(1);
/// The interval at which the agent advances a slot that no stream reads yet.
const SLOT_ADVANCE_INTERVAL: Duration = Duration::from_secs(10);

/// A migration that is assigned to this process, and its running tasks.
#[derive(Debug)]
pub(super) struct Assignment {
    pub(super) session: Arc<MigrationSession>,
    /// The secret that authenticates calls about the migration.
    pub(super) secret: Option<WireSecret>,
    step: Option<(StepId, StepKind)>,
    cancel: CancellationToken,
    task: JoinHandle<()>,
    /// Compares dirty keys while the migration has no other work.
    sweep_task: JoinHandle<()>,
    /// Advances the slot of the reverse stream, which no stream reads yet, while the migration waits for its cutover.
    slot_task: JoinHandle<()>,
}

impl Assignment {
    /// Begins the work that the controller dispatched. The previous assignment of the migration ends first.
    pub(super) async fn begin(
        mut dispatch: Dispatch,
        previous: Option<Self>,
        controller: &Controller,
        spools: &Path,
    ) -> Self {
        // A controller of the previous version sends no secret. The secret of the same epoch remains valid.
        let of_same_epoch = previous.as_ref();
        let of_same_epoch =
            of_same_epoch.filter(|previous| previous.session.epoch == dispatch.epoch);
        let secret = dispatch.secret.take();
        dispatch.secret = secret.or_else(|| of_same_epoch?.secret.clone());
        let secret = dispatch.secret.clone();
        let session = match previous {
            Some(previous) => previous.end_for_successor(&dispatch, spools).await,
            None => Arc::new(MigrationSession::new(
                dispatch.migration.clone(),
                dispatch.epoch,
                spools,
            )),
        };
        let limits = dispatch.limits.clone();
        session
            .throttle
            .set_limits(&limits.unwrap_or_else(|| dispatch.options.limits()));
        session.set_expected_participant(ExpectedParticipant::for_dispatch(&dispatch));
        let cancel = CancellationToken::new();
        let step = dispatch.step.clone();
        let context = StepContext::new(
            dispatch,
            session.clone(),
            controller.clone(),
            cancel.clone(),
        );
        let (sweep_context, slot_context) = (context.clone(), context.clone());
        let sweep_task = tokio::spawn(async move { steps::sweep_dirty_keys(&sweep_context).await });
        // The task drops the sender when it ends, which wakes the receiver.
        let (finished_sender, finished) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let _finished_sender = finished_sender;
            run_assignment(context).await;
        });
        let slot_task = tokio::spawn(async move {
            // The step may create or read the slot, so the agent does not advance it before the step has ended.
            let _ = finished.await;
            advance_unread_slots(&slot_context).await;
        });
        Self {
            session,
            secret,
            step,
            cancel,
            task,
            sweep_task,
            slot_task,
        }
    }

    /// Ends this assignment before the next one begins. If the epoch is the same, the next one uses the same session.
    async fn end_for_successor(
        mut self,
        dispatch: &Dispatch,
        spools: &Path,
    ) -> Arc<MigrationSession> {
        self.end_tasks().await;
        if self.session.epoch == dispatch.epoch {
            return self.session;
        }
        self.session.stop_stream().await;
        let next = MigrationSession::new(dispatch.migration.clone(), dispatch.epoch, spools);
        // A new epoch does not affect the snapshot, because it is only read.
        *next.snapshot_holders.lock().await = self.session.snapshot_holders.lock().await.take();
        Arc::new(next)
    }

    async fn end_tasks(&mut self) {
        for task in [&mut self.slot_task, &mut self.task, &mut self.sweep_task] {
            task.abort();
            let _ = task.await;
        }
    }

    /// Returns the running step, until the controller has received its report.
    pub(super) fn running_step(&self) -> Option<StepId> {
        let (id, _) = self.step.as_ref()?;
        (!self.task.is_finished()).then(|| id.clone())
    }

    /// Requests that the step stops at its next safe point; an interrupted step stops the stream too. If no step runs,
    /// stops the stream. Keeps the snapshot.
    pub(super) async fn pause(&self) {
        self.session.set_expected_participant(None);
        let is_running = !self.task.is_finished();
        self.cancel.cancel();
        if !is_running {
            self.session.stop_applying().await;
        }
    }

    /// Ends all tasks and the stream immediately, and releases the snapshot.
    pub(super) async fn release(mut self) {
        self.session.set_expected_participant(None);
        self.cancel.cancel();
        self.end_tasks().await;
        self.session.stop_stream().await;
        *self.session.snapshot_holders.lock().await = None;
    }
}

/// Runs the step of the dispatch and reports its outcome. Without a step, keeps the migration's stream running.
async fn run_assignment(context: StepContext) {
    let dispatch = context.dispatch.clone();
    let Some((id, kind)) = dispatch.step.clone() else {
        keep_without_step(&context).await;
        return;
    };
    let span = tracing::info_span!(
        "step.run",
        migration = %dispatch.migration,
        step.kind = %kind,
        epoch = dispatch.epoch.0,
        attempt = dispatch.attempt
    );
    run_once(context, id, kind).instrument(span).await;
}

/// Takes the migration over unless this process already has, runs the step once and reports its outcome.
async fn run_once(context: StepContext, id: StepId, kind: StepKind) {
    let dispatch = &context.dispatch;
    context.session.begin_step();
    tracing::info!("step begins");
    let outcome = async {
        if !steps::takes_over_each_shard(kind) {
            take_over(&context).await?;
        }
        // A cutover first recovers an interrupted attempt.
        if kind != StepKind::Cutover {
            servers::check(&context, kind).await?;
        }
        stream_end::accept_promoted(&context, kind).await?;
        Box::pin(run_step(&context, kind)).await
    }
    .await;
    if outcome.is_err() || !leads_to_copy(kind) {
        context.session.set_expected_participant(None);
    }
    let outcome = outcome_of(&context, kind, outcome).await;
    let report = Report::Step(StepReport {
        migration: dispatch.migration.clone(),
        step: id,
        epoch: dispatch.epoch,
        secret: dispatch.secret.clone(),
        outcome,
        progress: context.session.progress(),
    });
    report_until_received(&context.controller, &report).await;
}

/// Returns the outcome to report for the result of a step.
async fn outcome_of(
    context: &StepContext,
    kind: StepKind,
    result: Result<serde_json::Value, StepError>,
) -> Outcome {
    let error = match result {
        Ok(output) => return Outcome::Done { output },
        Err(error) => find_cause(context, kind, error).await,
    };
    match error {
        StepError::Failed(failure) if has_lost_changes(&failure, kind) && !context.is_seeded() => {
            tracing::warn!(step = %kind, code = %failure.code, "{}: the copied rows are compared again", failure.message);
            context.session.stop_stream().await;
            Outcome::Rewind {
                to: servers::step_for_other_source(context),
                failure,
            }
        }
        StepError::Failed(failure) => {
            tracing::warn!(step = %kind, code = %failure.code, "{}", failure.message);
            Outcome::Failed { failure }
        }
        StepError::Interrupted => {
            context.session.stop_applying().await;
            Outcome::Interrupted
        }
        StepError::Reshaped {
            tables,
            fingerprint,
            changes,
            followed,
            copy_again,
            retired,
        } => {
            context.session.stop_stream().await;
            Outcome::Reshaped {
                tables,
                fingerprint,
                changes,
                followed,
                copy_again,
                retired: retired.into_vec(),
            }
        }
        StepError::Rewind { to, failure } => {
            context.session.stop_stream().await;
            Outcome::Rewind { to, failure }
        }
    }
}

/// Returns the error with which a failed step ends: its cause can be a change of a definition that the agent follows, or
/// a failover.
async fn find_cause(context: &StepContext, kind: StepKind, error: StepError) -> StepError {
    let error = steps::definitions::retry_after_departure(context, kind, error).await;
    match steps::definitions::follow_after_failure(context, kind, error).await {
        StepError::Failed(failure) => servers::explain(context, kind, failure).await,
        other
        @ (StepError::Interrupted | StepError::Reshaped { .. } | StepError::Rewind { .. }) => other,
    }
}

/// Returns whether captured changes are lost, so that a new slot and a comparison of the copied rows replace them. This
/// is possible before the flip.
fn has_lost_changes(failure: &Failure, kind: StepKind) -> bool {
    failure.loses_changes()
        && matches!(
            kind,
            StepKind::Copy
                | StepKind::CatchUp
                | StepKind::BuildIndexes
                | StepKind::Verify
                | StepKind::OpenReverse
                | StepKind::Cutover
        )
}

/// Runs the step concurrently with the change stream. If the stream fails, the step fails. If the step is cancelled, it
/// stops.
async fn run_step(context: &StepContext, kind: StepKind) -> Result<serde_json::Value, StepError> {
    // Cutover and rollback check the tables after they have recovered an interrupted attempt.
    if !matches!(kind, StepKind::Cutover | StepKind::Rollback) {
        check_definitions(context, kind).await?;
    }
    let stream = context.dispatch.stream.filter(|_| context.is_online());
    let has_ended = steps::is_hold(kind) && context.session.stream_end().is_some();
    if let Some(direction) = stream.filter(|_| needs_stream(kind) && !has_ended) {
        context.ensure_stream(direction).await?;
    }
    if steps::must_not_be_interrupted(kind) {
        return Box::pin(steps::run(context, kind)).await;
    }
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => Err(StepError::Interrupted),
        failure = stream_end::wait_for_failure(context, kind) => {
            // The publication may have a partition that an agent published and could not report.
            if failure.has_code(StepCode::CaptureTable) {
                check_definitions(context, kind).await?;
            }
            Err(failure)
        }
        output = Box::pin(steps::run(context, kind)) => output,
        never = load_monitor::control_throttle(context), if is_throttled(kind) => match never {},
        never = wait_monitor::report_waits(context) => match never {},
        () = lock_yield::wait_until_in_the_way(context), if kind == StepKind::Verify => {
            context.report_message("the comparison ends, because a change of a table waits for it; it continues afterwards");
            Err(StepError::Interrupted)
        }
        change = steps::definitions::wait_for_changed_partition(context, kind) => {
            context.report_message(format!("{change}; the step begins again"));
            // The step has ended here, so nothing else works on the tables while the check adopts or retires a partition.
            check_definitions(context, kind).await?;
            Err(StepError::Interrupted)
        }
        change = steps::definitions::watch(context, kind), if steps::definitions::is_followed(context, kind) => Err(change),
    }
}

/// Checks the definitions for a step that can be interrupted. To adopt a partition, the check requests locks for up to a
/// minute: the progress shows the lock that it waits for, and a pause ends the wait.
async fn check_definitions(context: &StepContext, kind: StepKind) -> Result<(), StepError> {
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => Err(StepError::Interrupted),
        checked = Box::pin(steps::definitions::check(context, kind)) => checked,
        never = wait_monitor::report_waits(context) => match never {},
    }
}

/// Returns whether the step reads or writes many rows and can wait.
fn is_throttled(kind: StepKind) -> bool {
    match kind {
        StepKind::Copy
        | StepKind::BuildIndexes
        | StepKind::Verify
        | StepKind::DropOld
        | StepKind::DropSurplus
        | StepKind::Unwind
        | StepKind::DropNew => true,
        // The hold throttles its comparison itself, because most of the time it does no work.
        StepKind::Hold
        | StepKind::Preflight
        | StepKind::CreateTarget
        | StepKind::OpenCapture
        | StepKind::Promote
        | StepKind::SetReadOnly
        | StepKind::CatchUp
        | StepKind::OpenReverse
        | StepKind::Cutover
        | StepKind::Rollback
        | StepKind::HoldBack => false,
    }
}

/// Returns whether the step needs a running stream. No stream runs during steps that stop the streams, or whose data a
/// stream would change.
fn needs_stream(kind: StepKind) -> bool {
    match kind {
        StepKind::CatchUp
        | StepKind::BuildIndexes
        | StepKind::Verify
        | StepKind::OpenReverse
        | StepKind::Hold
        | StepKind::HoldBack => true,
        // These steps start their stream themselves, and not after the flip.
        StepKind::Cutover
        | StepKind::Rollback
        | StepKind::Preflight
        | StepKind::CreateTarget
        | StepKind::OpenCapture
        | StepKind::Promote
        | StepKind::SetReadOnly
        | StepKind::Copy
        | StepKind::DropOld
        | StepKind::DropSurplus
        | StepKind::Unwind
        | StepKind::DropNew => false,
    }
}

/// Takes over a migration that has no step at this time, starts its stream and holds its snapshot.
async fn keep_without_step(context: &StepContext) {
    loop {
        let takeover = async {
            take_over(context).await?;
            if let Err(error) = servers::accept_promoted(context).await {
                // The stream reports it too.
                tracing::warn!(%error, "the stream cannot continue on the promoted server");
            }
            match context.dispatch.stream.filter(|_| context.is_online()) {
                Some(direction) => context.ensure_stream(direction).await,
                None => Ok(()),
            }
        };
        match takeover.await {
            Ok(()) => return,
            Err(error) if error.is_superseded() => return,
            Err(error) => tracing::warn!(%error, "the migration could not be taken over yet"),
        }
        tokio::time::sleep(TAKE_OVER_PAUSE).await;
    }
}

/// Advances the slot of the reverse stream while the migration waits for its cutover, also while it is paused.
/// Otherwise the target would retain WAL, because no stream reads the slot yet.
async fn advance_unread_slots(context: &StepContext) {
    let waits_for_cutover = match &context.dispatch.step {
        None | Some((_, StepKind::Cutover)) => context.is_done(StepKind::OpenReverse),
        Some((_, kind)) => *kind == StepKind::OpenReverse,
    };
    if !waits_for_cutover || context.is_done(StepKind::Cutover) || !context.is_online() {
        return;
    }
    loop {
        match steps::advance_unread_slot(context, Direction::Reverse).await {
            Ok(()) => {}
            Err(error) if error.is_superseded() => return,
            Err(error) => {
                tracing::warn!(%error, "the position of the reverse slot could not be advanced");
            }
        }
        tokio::time::sleep(SLOT_ADVANCE_INTERVAL).await;
    }
}

/// Increases the epoch on both shards, which ends the sessions of every earlier agent process, and recovers what such a
/// process left unfinished. This is done once per epoch, and repeated completely after an interruption.
async fn take_over(context: &StepContext) -> Result<(), StepError> {
    if context.session.taken_over.load(Ordering::Acquire) {
        return Ok(());
    }
    let token = context.token();
    // Otherwise commits of this agent would wait for the replication connection of the earlier process, which has
    // ended.
    steps::remove_standby_names(context, OwnershipProof::TakeOver).await?;
    let mut shards = vec![context.source()?];
    // A standby has no row of its own yet. The step `promote` takes the migration over there.
    if !context.awaits_promotion() {
        shards.push(context.target()?);
    }
    for shard in &shards {
        let session = shard.session("take-over").await?;
        epoch::take_over(&session, &token).await?;
    }
    steps::unbind_unless_requested(context).await?;
    // The earlier process may have added its name again before the epoch was increased.
    steps::remove_standby_names(context, OwnershipProof::Owner).await?;
    steps::recover_register(context).await?;
    // This comes after the recovery of the register, so that neither its duration nor its errors delay the opening of
    // keys that the earlier process left closed.
    for shard in &shards {
        let session = shard.session("take-over").await?;
        sidecar_schema::add_missing_tables(&session, &token).await?;
    }
    let copies = context.is_done(StepKind::OpenCapture) && !context.is_done(StepKind::Copy);
    if copies && !context.is_seeded() {
        steps::hold_newest_snapshot(context).await?;
    }
    context.session.taken_over.store(true, Ordering::Release);
    Ok(())
}
