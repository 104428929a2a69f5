//! Catches up: starts the forward stream, which then runs until the flip. The step ends when the stream applies a
//! marker within the allowed lag.

use std::convert::Infallible;
use std::time::Duration;

use plans::failure::StepCode;
use plans::id::AttemptNo;
use plans::names::Direction;
use plans::step::StepKind;
use plans::step::catch_up::CaughtUp;
use plans::step::copy::Copied;
use tokio::time::Instant;

use super::delete::row_deletion;
use super::dual_write;
use crate::cleanup::delete_rows::ClosedProof;
use crate::error::StepError;
use crate::eta::Eta;
use crate::migration::context::StepContext;
use crate::shard::marker::{Marker, MarkerKind};
use crate::stream::ApplyStream;

/// The allowed lag is at most this, and at most a quarter of the budget of the write-blocked window.
const MAX_ALLOWED_LAG: Duration = Duration::from_millis(500);

/// The interval at which the estimate of the remaining time is updated.
const LAG_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The maximum duration of a probe. A probe that reaches it shows too large a lag.
const PROBE_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) async fn run(context: &StepContext) -> Result<CaughtUp, StepError> {
    context.report_message("applying changes that were captured during the copy");
    dual_write::record_standby_name(context, Direction::Forward).await?;
    context.ensure_stream(Direction::Forward).await?;
    let (transactions, changes) = tokio::select! {
        result = catch_up(context) => result?,
        never = update_eta(context) => match never {},
    };
    remove_rows_without_parents(context).await?;
    Ok(CaughtUp {
        transactions,
        changes,
    })
}

/// Deletes copied rows whose parents left the moving keys during the copy. If tables were copied with different snapshots,
/// the copy can have such a row, while the stream discarded the change of its parent, because the copy of the parent's
/// table contains that change. The stream has passed all snapshots now, so every other row has its parent.
async fn remove_rows_without_parents(context: &StepContext) -> Result<(), StepError> {
    let copied = context.output::<Copied>(StepKind::Copy);
    if copied.is_ok_and(|copied| copied.snapshots < 2) {
        return Ok(());
    }
    let target = context.target()?;
    let deletion = row_deletion(context, &target, context.token(), ClosedProof::Live);
    // Parents come before children.
    for table in &context.dispatch.tables {
        if let Some(through) = table.through() {
            deletion.delete_rows_without_parents(table, through).await?;
        }
    }
    Ok(())
}

/// Waits until the lag is small. Returns how many transactions and changes the stream has applied.
async fn catch_up(context: &StepContext) -> Result<(i64, i64), StepError> {
    loop {
        let lag = probe_lag(context, Direction::Forward).await?;
        let stream = context.session.stream.lock().await;
        let observation = stream.as_ref().map(ApplyStream::observation);
        if lag <= allowed_lag(context) {
            return Ok(observation.map_or((0, 0), |s| (s.status.transactions, s.status.changes)));
        }
        drop(stream);
        context.report_message(
            match observation.and_then(|observation| observation.downstream_error) {
                Some(why) => format!("changes are spooled until the target is reachable: {why}"),
                None => format!(
                    "catching up; the change stream needs {} ms to apply a marker",
                    lag.as_millis()
                ),
            },
        );
    }
}

/// Updates the estimate of the remaining time while the lag decreases.
async fn update_eta(context: &StepContext) -> Infallible {
    let mut eta: Option<(Eta, f64)> = None;
    loop {
        let status = context.session.stream_status();
        let lag = status.map_or(0.0, |status| status.lag_bytes as f64);
        let now = Instant::now();
        let (eta, first_lag) = eta.get_or_insert_with(|| (Eta::begin(now, 0.0), lag));
        // The lag at the beginning is the total work. If the lag has grown since, no work counts as done.
        context
            .session
            .set_eta_seconds(eta.seconds_left(now, *first_lag - lag, *first_lag));
        tokio::time::sleep(LAG_POLL_INTERVAL).await;
    }
}

/// Returns the lag at which a cutover is expected to stay within its budget.
pub(super) fn allowed_lag(context: &StepContext) -> Duration {
    let quarter =
        Duration::from_millis(u64::from(context.dispatch.options.write_stop_budget_ms) / 4);
    quarter.min(MAX_ALLOWED_LAG)
}

/// Measures the time from the commit of a marker on the upstream shard until the stream has applied it.
pub(super) async fn probe_lag(
    context: &StepContext,
    direction: Direction,
) -> Result<Duration, StepError> {
    let (upstream, token) = match direction {
        Direction::Forward => (context.source()?, context.token()),
        Direction::Reverse => (context.target()?, context.token_after_flip()),
    };
    let session = upstream.session("probe").await?;
    let marker = Marker::new(&token, AttemptNo(0), MarkerKind::Probe);
    marker.emit(&session, &token).await?;
    let sent = Instant::now();
    let status = {
        let stream = context.session.stream.lock().await;
        stream.as_ref().map(ApplyStream::subscribe)
    };
    let status =
        status.ok_or_else(|| StepError::passing(StepCode::StreamEnded, "no change stream runs"))?;
    let applied = crate::stream::wait_for_marker(status, marker.id);
    // A timeout is no error. The marker may never be reported, for example if the stream restarted after it had applied
    // the marker; the next probe writes another one.
    if let Ok(outcome) = tokio::time::timeout(PROBE_TIMEOUT, applied).await {
        outcome?;
    }
    Ok(sent.elapsed())
}
