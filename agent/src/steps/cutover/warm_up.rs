//! Prepares sessions, statements and dirty keys immediately before the write-blocked window, to keep the window short.

use std::time::Duration;

use connect::Connected;
use plans::failure::StepCode;
use plans::id::AttemptNo;
use plans::table::MovingTable;
use tokio::time::Instant;

use super::CutoverParties;
use super::final_recheck::{final_recheck, recheck_all, wait_for_new_standbys, wait_for_standbys};
use super::gate::GateFacts;
use super::window::{advance_sequences, budget, wait_until_applied};
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::wait_out;
use crate::shard::epoch::AttemptCount;
use crate::shard::marker::{Marker, MarkerKind};
use crate::shard::marker_after_wait::{self, AwaitedWriters, MarkerAfterWait};
use crate::shard::register::{self, RegisterSetting};
use crate::shard::sequences;
use crate::steps::dirty::{self, ComparisonSessions};
use crate::steps::verify::StreamShards;

/// The agent repeats the comparison of dirty keys before the fence until one takes no longer than this. The comparison
/// inside the window then takes about as long.
const COMPARISON_TARGET: Duration = Duration::from_millis(5);
/// The maximum duration of a comparison is the budget divided by this number. If a comparison takes longer, the agent
/// gives up the attempt, before the fence or before the seal.
const COMPARISON_BUDGET_DIVISOR: u32 = 4;
/// Maximum number of comparisons, and of probe markers, immediately before the fence.
const MAX_REPETITIONS: usize = 8;

/// The sessions of a cutover. They are opened before the fence, so that none is opened inside the window.
pub(super) struct CutoverSessions {
    pub(super) old_owner: Connected,
    pub(super) new_owner: Connected,
    /// A second session on the old and on the new owner, which only compare rows: so the comparison and the seal do not
    /// wait for each other.
    readers: (Connected, Connected),
    /// The virtual transaction id of the reader on the old owner. The wait-out must ignore this transaction: it has
    /// table locks by which the wait-out recognizes writers.
    reader_transaction: String,
}

impl CutoverSessions {
    /// Opens the sessions. Their settings make the servers plan each statement only once, so that the window only
    /// executes them.
    pub(super) async fn open(
        context: &StepContext,
        shards: &StreamShards,
    ) -> Result<Self, StepError> {
        let (old_owner, new_owner, old_reader, new_reader) = tokio::try_join!(
            shards.upstream.session("cutover"),
            shards.downstream.lookup_session("cutover"),
            shards.upstream.lookup_session("cutover"),
            shards.downstream.lookup_session("cutover")
        )?;
        for (session, shard) in [
            (&old_owner, &shards.upstream),
            (&new_owner, &shards.downstream),
            (&old_reader, &shards.upstream),
            (&new_reader, &shards.downstream),
        ] {
            let set = session.batch_execute("set plan_cache_mode = force_generic_plan");
            let what = format!("shard {}: setting up the session", shard.name);
            set.await.at(what)?;
        }
        let dispatch = &context.dispatch;
        let guarded_rows = context.guarded_rows();
        marker_after_wait::prepare(&old_owner, &shards.token, &dispatch.map, guarded_rows).await?;
        shards
            .begin_reading(context, &old_reader, &new_reader)
            .await?;
        let reader_transaction = wait_out::virtual_transaction(&old_reader).await?;
        Ok(Self {
            reader_transaction,
            old_owner,
            new_owner,
            readers: (old_reader, new_reader),
        })
    }

    /// Returns the marker that is written after the awaited writers have ended.
    pub(super) fn marker_after_wait<'a>(
        &'a self,
        shards: &'a StreamShards,
        marker: &'a Marker,
    ) -> MarkerAfterWait<'a> {
        MarkerAfterWait {
            client: &self.old_owner,
            token: &shards.token,
            marker,
        }
    }

    /// Returns which writers the wait-out after the fence waits for.
    pub(super) fn awaited_writers<'a>(&'a self, tables: &'a [MovingTable]) -> AwaitedWriters<'a> {
        let except = &self.reader_transaction;
        AwaitedWriters::Writers { tables, except }
    }

    /// Returns the sessions that compare dirty keys.
    pub(super) fn comparison_sessions(&self) -> ComparisonSessions<'_> {
        ComparisonSessions {
            upstream: &self.readers.0,
            downstream: &self.readers.1,
            log: &self.new_owner,
        }
    }
}

/// Executes the queries of the window once. The sessions then have plans for them, and a problem that would end the
/// attempt is found before any write is refused. Also writes probe markers, which have no effect. Returns the versions
/// (`xmin`) of the catalog rows for the final recheck.
pub(super) async fn warm_up_reads(
    context: &StepContext,
    parties: &CutoverParties,
    facts: &GateFacts,
    sessions: &CutoverSessions,
    attempt: AttemptNo,
) -> Result<String, StepError> {
    let old_owner = &sessions.old_owner;
    let probe = Marker::new(&parties.shards.token, attempt, MarkerKind::Probe);
    let marker_after_wait = sessions.marker_after_wait(&parties.shards, &probe);
    let keyed_tables = context.keyed_tables();
    let mark_or_list = marker_after_wait
        .mark_or_list(sessions.awaited_writers(&keyed_tables))
        .await?;
    marker_after_wait
        .mark_or_list(AwaitedWriters::PassedExpiredFence)
        .await?;
    wait_out::remaining(&mark_or_list, old_owner).await?;
    dirty::warm_up(context, &parties.shards, &sessions.comparison_sessions()).await?;
    sequences::read_values(old_owner, &facts.sequences).await?;
    wait_for_standbys(
        context,
        parties,
        old_owner,
        Instant::now() + budget(context),
    )
    .await?;
    let deadline = Instant::now() + budget(context);
    wait_for_new_standbys(context, &sessions.new_owner, deadline).await?;
    let versions = recheck_all(context, parties, old_owner, facts).await?;
    final_recheck(context, parties, old_owner, facts, &versions).await?;
    Ok(versions)
}

/// Executes the writes of the window once, with the current values of the registers: a session that executes a
/// statement for the first time reads the catalog for several milliseconds. The old owner stays open, and the new owner
/// stays closed. Also advances the sequences.
pub(super) async fn warm_up_writes(
    context: &StepContext,
    parties: &CutoverParties,
    facts: &GateFacts,
    sessions: &CutoverSessions,
    attempt: AttemptNo,
    new_owner_count: AttemptCount,
) -> Result<(), StepError> {
    let token = &parties.shards.token;
    let (old_owner, new_owner) = (&sessions.old_owner, &sessions.new_owner);
    let count =
        register::begin_and_set(old_owner, token, attempt, RegisterSetting::OpenAgain).await?;
    register::set(old_owner, token, count, RegisterSetting::OpenAgain).await?;
    register::set(new_owner, token, new_owner_count, RegisterSetting::Closed).await?;
    advance_sequences(context, parties, facts, old_owner, new_owner).await
}

/// Writes a probe marker and waits until the stream has applied it, so that the stream's sessions have plans for the
/// statements of a marker. Repeats this if it took more than a tenth of the budget, for example because the stream
/// lagged.
///
/// # Errors
/// Those of [`wait_until_applied`]. The attempt then ends, because it would fail after the fence.
pub(super) async fn warm_up_drain(
    context: &StepContext,
    parties: &CutoverParties,
    sessions: &CutoverSessions,
    attempt: AttemptNo,
) -> Result<(), StepError> {
    let token = &parties.shards.token;
    for _ in 0..MAX_REPETITIONS {
        let begun = Instant::now();
        let marker = Marker::new(token, attempt, MarkerKind::Probe);
        marker.emit(&sessions.old_owner, token).await?;
        wait_until_applied(context, marker.id, begun + budget(context)).await?;
        if begun.elapsed() <= budget(context) / 10 {
            break;
        }
    }
    Ok(())
}

/// Returns the maximum duration of a comparison of dirty keys.
pub(super) fn max_comparison_time(budget: Duration) -> Duration {
    budget / COMPARISON_BUDGET_DIVISOR
}

/// Compares dirty keys, repeatedly, until a comparison takes no longer than [`COMPARISON_TARGET`]. Then few keys are
/// left for the window.
///
/// # Errors
/// `cutover.changed_keys` if the last comparison took longer than [`max_comparison_time`].
pub(super) async fn recheck_dirty_keys(
    context: &StepContext,
    parties: &CutoverParties,
    sessions: &CutoverSessions,
) -> Result<(), StepError> {
    let budget = budget(context);
    let (mut compared, mut duration) = (0, Duration::ZERO);
    for _ in 0..MAX_REPETITIONS {
        let begun = Instant::now();
        let left;
        // Each comparison has to compare the keys that changed during the previous one. So the last duration predicts
        // how long the comparison inside the window will take.
        (left, compared) = dirty::compare_and_delete_equal(
            context,
            &parties.shards,
            &sessions.comparison_sessions(),
        )
        .await?;
        duration = begun.elapsed();
        context.report_message(format!(
            "compared {compared} keys that changed since the verification in {} ms; {left} of them changed meanwhile",
            duration.as_millis()
        ));
        if duration <= COMPARISON_TARGET {
            break;
        }
    }
    if duration <= max_comparison_time(budget) {
        return Ok(());
    }
    Err(StepError::not_yet(
        StepCode::CutoverChangedKeys,
        format!(
            "{compared} keys change during one comparison, and to compare them takes {} ms, more than the {} ms that the budget of the write-blocked window permits: \
             wait until the application changes the moving keys less often, or plan with a larger write_stop_budget_ms",
            duration.as_millis(),
            max_comparison_time(budget).as_millis()
        ),
    ))
}
