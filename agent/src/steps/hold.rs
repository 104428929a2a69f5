//! Hold: the reverse stream keeps the rows on the source current until the operator finishes or rolls back.
//!
//! The step first drops the forward slot, because no stream reads it any more and it would retain WAL on the source. If
//! the operator requests it, the step also compares the rows on the source with those of the new owner.

use std::time::Duration;

use plans::names::Direction;
use plans::step::hold::Held;
use plans::step::verify::VerifyRun;

use super::open_capture::{drop_publication, drop_slot};
use super::verify;
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::migration::{load_monitor, lock_yield};
use crate::shard::guard::clone;

/// The progress message of the hold.
const HOLD_MESSAGE: &str = "the rows on the source are kept current; `finish` removes them, `rollback` makes the source the owner again";
/// The progress message of the hold after a rollback.
const HOLD_BACK_MESSAGE: &str =
    "the target's copy is kept current; `finish` drops it, `approve` allows another cutover";
/// The progress messages after the end of the stream, before the reason.
const OUTDATED_SOURCE: &str = "the rows on the source are no longer kept current, so a rollback is impossible; `finish` removes them";
const OUTDATED_TARGET: &str = "the target's copy is no longer kept current; `finish` drops it, `approve` compares it with the source before another cutover";
/// The pause before a failed comparison is tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(2);

pub(super) async fn run(context: &StepContext) -> Result<Held, StepError> {
    let source = context.source()?;
    let session = source.session("hold").await?;
    drop_slot(&session, context, Direction::Forward).await?;
    drop_publication(&session, context, Direction::Forward).await?;
    if context.is_seeded() {
        // The guard of released keys refuses all keys that the target does not own. After a rollback, the clone guard
        // would also refuse keys that it owns by other migrations.
        let session = context.target()?.session("hold").await?;
        clone::disable(&session, &context.token_after_flip()).await?;
    }
    fail_point::hit("hold.started").await?;
    report(context, Direction::Reverse);
    let keeps_current = context.session.stream_end().is_none();
    if let Some(run) = context.dispatch.verify.filter(|_| keeps_current) {
        tokio::select! {
            biased;
            () = context.session.end_hold.notified() => return Ok(promoted_servers(context)),
            () = compare_until_done(context, run) => {}
            never = load_monitor::control_throttle(context) => match never {},
        }
    }
    context.session.end_hold.notified().await;
    Ok(promoted_servers(context))
}

/// Reports what the hold with a stream in this direction is for, with the servers that were promoted, or the end of the
/// stream.
pub(crate) fn report(context: &StepContext, direction: Direction) {
    let (usual, outdated) = match direction {
        Direction::Forward => (HOLD_BACK_MESSAGE, OUTDATED_TARGET),
        Direction::Reverse => (HOLD_MESSAGE, OUTDATED_SOURCE),
    };
    let (message, detail) = match context.session.stream_end() {
        Some(failure) => (outdated, Some(failure.message)),
        None => (
            usual,
            promotion_message(context, &promoted_servers(context)),
        ),
    };
    let detail = detail.map(|detail| format!("; {detail}"));
    context.report_message(format!("{message}{}", detail.unwrap_or_default()));
}

/// Returns the servers that were promoted after the flip, and on which the stream continues.
pub(super) fn promoted_servers(context: &StepContext) -> Held {
    let promoted = context.session.promoted_servers();
    Held {
        source: promoted.source,
        target: promoted.target,
    }
}

/// Returns which shards have a promoted server, if one has.
fn promotion_message(context: &StepContext, held: &Held) -> Option<String> {
    let shards = [
        (&context.dispatch.source.name, &held.source),
        (&context.dispatch.target.name, &held.target),
    ];
    let promoted = shards.into_iter().filter_map(|(shard, server)| {
        let timeline = server.as_ref()?.timeline;
        Some(format!(
            "shard {shard}: a standby was promoted (timeline {timeline}), and the stream continues"
        ))
    });
    let all = promoted.collect::<Vec<_>>().join("; ");
    (!all.is_empty()).then_some(all)
}

/// Compares the rows, and repeats this after an error, unless the stream has ended. Reports differences; these do not end
/// the hold.
async fn compare_until_done(context: &StepContext, run: VerifyRun) {
    loop {
        let compared = tokio::select! {
            biased;
            () = lock_yield::wait_until_in_the_way(context) => Err(StepError::Interrupted),
            compared = verify::compare_in_hold(context, run) => compared,
        };
        match compared {
            Ok(verified) => {
                let (rows, different) = (verified.rows_compared, verified.different);
                context.report_message(format!(
                    "{HOLD_MESSAGE}; compared {rows} rows, {different} differ"
                ));
                return;
            }
            Err(StepError::Interrupted) => context.report_message(format!(
                "{HOLD_MESSAGE}; the comparison has paused, because a change of a table waited for it"
            )),
            // Another try cannot find equal rows.
            Err(_) if context.session.stream_end().is_some() => return,
            Err(error) => context.report_message(format!(
                "{HOLD_MESSAGE}; the comparison has not succeeded yet: {error}"
            )),
        }
        tokio::time::sleep(RETRY_PAUSE).await;
    }
}
