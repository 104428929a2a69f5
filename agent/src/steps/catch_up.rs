//! Catches up: the forward stream runs from here on; done when a marker passes it quickly.

use std::convert::Infallible;
use std::time::Duration;

use plans::names::Direction;
use plans::step::catch_up::CaughtUp;
use tokio::time::Instant;

use super::dual_write;
use crate::error::StepError;
use crate::eta::Eta;
use crate::migration::context::StepContext;
use crate::shard::marker::{Marker, MarkerKind};
use crate::stream::ApplyStream;

/// Level means that a marker passes within this time, or within a quarter of the write-stop budget.
const LEVEL_AT_MOST: Duration = Duration::from_millis(500);

/// The lag is looked at so often.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// After this long a probe is given up and counts as late.
const PROBE_PATIENCE: Duration = Duration::from_secs(30);

pub(super) async fn run(context: &StepContext) -> Result<CaughtUp, StepError> {
    context.report_message("applying changes that were captured during the copy");
    dual_write::record(context, Direction::Forward).await?;
    context.ensure_stream(Direction::Forward).await?;
    let status = tokio::select! {
        caught = catch_up(context) => caught?,
        never = set_eta_seconds(context) => match never {},
    };
    Ok(CaughtUp {
        transactions: status.0,
        changes: status.1,
    })
}

async fn catch_up(context: &StepContext) -> Result<(i64, i64), StepError> {
    loop {
        let took = probe(context, Direction::Forward).await?;
        let slot = context.session.stream.lock().await;
        let seen = slot.as_ref().map(ApplyStream::observation);
        if took <= level(context) {
            return Ok(seen.map_or((0, 0), |s| (s.status.transactions, s.status.changes)));
        }
        drop(slot);
        context.report_message(match seen.and_then(|seen| seen.downstream_error) {
            Some(why) => format!("changes are spooled until the target is back: {why}"),
            None => format!("catching up; a marker took {} ms", took.as_millis()),
        });
    }
}

/// Tells how long it takes until what is applied meets what is written, as long as the lag shrinks.
async fn set_eta_seconds(context: &StepContext) -> Infallible {
    let mut eta: Option<(Eta, f64)> = None;
    loop {
        let status = context.session.stream_status();
        let lag = status.map_or(0.0, |status| status.lag_bytes as f64);
        let now = Instant::now();
        let (eta, most) = eta.get_or_insert_with(|| (Eta::begin(now, 0.0), lag));
        // What was behind at first is the work; a lag that grew is work not yet begun.
        context
            .session
            .set_eta_seconds(eta.seconds_left(now, *most - lag, *most));
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// The lag at which a cutover would fit its budget.
pub(super) fn level(context: &StepContext) -> Duration {
    let quarter =
        Duration::from_millis(u64::from(context.dispatch.options.write_stop_budget_ms) / 4);
    quarter.min(LEVEL_AT_MOST)
}

/// How long a marker takes from its commit on the stream's origin until it is applied.
pub(super) async fn probe(
    context: &StepContext,
    direction: Direction,
) -> Result<Duration, StepError> {
    let (origin, token) = match direction {
        Direction::Forward => (context.source()?, context.token()),
        Direction::Reverse => (context.target()?, context.token_after_flip()),
    };
    let session = origin.session("probe").await?;
    let marker = Marker::new(&token, 0, MarkerKind::Probe);
    marker.emit(&session, &token).await?;
    let sent = Instant::now();
    let watch = {
        let slot = context.session.stream.lock().await;
        slot.as_ref().map(ApplyStream::watch)
    };
    let watch = watch.ok_or_else(|| StepError::passing("stream.ended", "no change stream runs"))?;
    let reached = crate::stream::wait_for_marker(watch, marker.id);
    // A marker whose commit lost its answer is never announced: the caller's next one is.
    if let Ok(outcome) = tokio::time::timeout(PROBE_PATIENCE, reached).await {
        outcome?;
    }
    Ok(sent.elapsed())
}
