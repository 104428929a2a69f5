//! What comes right before the window, so that it is not done inside: sessions, statements, and keys that have changed.

use std::time::Duration;

use connect::Connected;
use plans::id::AttemptNo;
use plans::table::MovingTable;
use tokio::time::Instant;

use super::CutoverParties;
use super::gate::GateFacts;
use super::last_look::{last_look, look, standbys_flushed};
use super::window::{applied, budget, carry_sequences};
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::wait_out;
use crate::shard::marker::{Marker, MarkerKind};
use crate::shard::marker_after_wait::{self, AwaitedWriters, MarkerAfterWait};
use crate::shard::register::{self, RegisterSetting};
use crate::shard::sequences;
use crate::steps::dirty::{self, ComparisonSessions};
use crate::steps::verify::StreamShards;

/// What a comparison inside the window should take at most: keys are compared again before the fence until the last
/// comparison took no longer.
const CHECK_AIM: Duration = Duration::from_millis(5);
/// The part of a budget that it must not exceed: the attempt ends before the fence, or before the seal.
const CHECK_MOST: u32 = 4;
/// Comparisons, and markers, right before the fence.
const RECHECKS: usize = 8;

/// Sessions that are open before the fence, so that none is opened inside the window.
pub(super) struct CutoverSessions {
    pub(super) losing: Connected,
    pub(super) gaining: Connected,
    /// Both again: what is compared does not wait for the seal, nor the seal for it.
    comparing: (Connected, Connected),
    /// The virtual transaction id of the first of them, whose lock is that of a writer.
    reading: String,
}

impl CutoverSessions {
    /// A statement is planned once: inside the window it is only run.
    pub(super) async fn open(
        context: &StepContext,
        sides: &StreamShards,
    ) -> Result<Self, StepError> {
        let (losing, gaining, here, there) = tokio::try_join!(
            sides.origin.session("cutover"),
            sides.destination.lookup_session("cutover"),
            sides.origin.lookup_session("cutover"),
            sides.destination.lookup_session("cutover")
        )?;
        for (session, shard) in [
            (&losing, &sides.origin),
            (&gaining, &sides.destination),
            (&here, &sides.origin),
            (&there, &sides.destination),
        ] {
            let set = session.batch_execute("set plan_cache_mode = force_generic_plan");
            let what = format!("shard {}: setting up the session", shard.name);
            set.await.at(what)?;
        }
        let dispatch = &context.dispatch;
        let guarded = context.guarded_rows();
        marker_after_wait::prepare(&losing, &sides.token, &dispatch.map, guarded).await?;
        sides.begin_reading(context, &here, &there).await?;
        let reading = wait_out::virtual_transaction(&here).await?;
        Ok(Self {
            reading,
            losing,
            gaining,
            comparing: (here, there),
        })
    }

    pub(super) fn behind<'a>(
        &'a self,
        sides: &'a StreamShards,
        marker: &'a Marker,
    ) -> MarkerAfterWait<'a> {
        MarkerAfterWait {
            client: &self.losing,
            token: &sides.token,
            marker,
        }
    }

    /// Who is waited for behind the fence.
    pub(super) fn writers<'a>(&'a self, tables: &'a [MovingTable]) -> AwaitedWriters<'a> {
        let except = &self.reading;
        AwaitedWriters::Writers { tables, except }
    }

    pub(super) fn both(&self) -> ComparisonSessions<'_> {
        ComparisonSessions {
            origin: &self.comparing.0,
            copy: &self.comparing.1,
            log: &self.gaining,
        }
    }
}

/// Asks once what will be asked inside the window: the sessions know it then, and what would end the attempt is found
/// before anything is refused to anybody. Markers are written that nobody waits for.
/// The versions of the catalog's rows that the last look is to find again.
pub(super) async fn rehearse(
    context: &StepContext,
    parties: &CutoverParties,
    facts: &GateFacts,
    sessions: &CutoverSessions,
    attempt: AttemptNo,
) -> Result<String, StepError> {
    let losing = &sessions.losing;
    let probe = Marker::new(&parties.sides.token, attempt.0, MarkerKind::Probe);
    let behind = sessions.behind(&parties.sides, &probe);
    let keyed = context.keyed_tables();
    let writers = behind.mark_or_list(sessions.writers(&keyed)).await?;
    behind
        .mark_or_list(AwaitedWriters::PassedExpiredFence)
        .await?;
    wait_out::remaining(&writers, losing).await?;
    dirty::rehearse(context, &parties.sides, &sessions.both()).await?;
    sequences::read_values(losing, &facts.sequences).await?;
    standbys_flushed(context, parties, losing, Instant::now() + budget(context)).await?;
    let seen = look(context, parties, losing, facts).await?;
    last_look(context, parties, losing, facts, &seen).await?;
    Ok(seen)
}

/// Writes once what will be written inside the window and changes nothing now: a session that does something for the
/// first time reads the catalog for several milliseconds. The losing shard's keys are open, as the witness allows, and
/// the gaining shard's closed.
pub(super) async fn rehearse_writes(
    context: &StepContext,
    parties: &CutoverParties,
    facts: &GateFacts,
    sessions: &CutoverSessions,
    attempt: AttemptNo,
    witnessed: i64,
) -> Result<(), StepError> {
    let token = &parties.sides.token;
    let (losing, gaining) = (&sessions.losing, &sessions.gaining);
    let count = register::begin_and_set(losing, token, attempt.0, RegisterSetting::Open).await?;
    register::set(losing, token, count, RegisterSetting::Open).await?;
    register::set(gaining, token, witnessed, RegisterSetting::Closed).await?;
    carry_sequences(context, parties, facts, losing, gaining).await
}

/// Sends a marker through the stream, whose sessions know then what a marker asks of them; again where it took long, as
/// it does where the stream was behind, or its source is being opened anew.
///
/// # Errors
/// As [`applied`]: the fence would be in vain.
pub(super) async fn rehearse_drain(
    context: &StepContext,
    parties: &CutoverParties,
    sessions: &CutoverSessions,
    attempt: AttemptNo,
) -> Result<(), StepError> {
    let token = &parties.sides.token;
    for _ in 0..RECHECKS {
        let begun = Instant::now();
        let marker = Marker::new(token, attempt.0, MarkerKind::Probe);
        marker.emit(&sessions.losing, token).await?;
        applied(context, marker.id, begun + budget(context)).await?;
        if begun.elapsed() <= budget(context) / 10 {
            break;
        }
    }
    Ok(())
}

/// What the comparison inside a write stop may take of its budget.
pub(super) fn check_within(budget: Duration) -> Duration {
    budget / CHECK_MOST
}

/// Compares keys that changed since the verification until few are left for the window: as many as are compared within
/// [`CHECK_AIM`], at what a key has cost in the last comparison.
///
/// # Errors
/// `cutover.changed_keys` where those that are left would take longer than [`check_within`].
pub(super) async fn recheck(
    context: &StepContext,
    parties: &CutoverParties,
    sessions: &CutoverSessions,
) -> Result<(), StepError> {
    let budget = budget(context);
    let (mut seen, mut took) = (0, Duration::ZERO);
    for _ in 0..RECHECKS {
        let begun = Instant::now();
        let left;
        // While one comparison is made, keys change for the next: as many as were compared, at the same cost.
        (left, seen) = dirty::recheck(context, &parties.sides, &sessions.both()).await?;
        took = begun.elapsed();
        context.report_message(format!(
            "compared {seen} keys that changed since the verification in {} ms; {left} of them changed meanwhile",
            took.as_millis()
        ));
        if took <= CHECK_AIM {
            break;
        }
    }
    if took <= check_within(budget) {
        return Ok(());
    }
    Err(StepError::not_yet(
        "cutover.changed_keys",
        format!(
            "the {seen} keys that change between two comparisons take {} ms to compare, more than the {} ms that the write-stop budget has for it: \
             wait until the moving keys change less, or plan with a larger write_stop_budget_ms",
            took.as_millis(),
            check_within(budget).as_millis()
        ),
    ))
}
