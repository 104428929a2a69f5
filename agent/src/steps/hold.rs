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
    let held = promoted_servers(context);
    let message = match promotion_message(context, &held) {
        Some(promotions) => format!("{HOLD_MESSAGE}; {promotions}"),
        None => HOLD_MESSAGE.to_owned(),
    };
    context.report_message(message);
    if let Some(run) = context.dispatch.verify {
        tokio::select! {
            biased;
            () = context.session.end_hold.notified() => return Ok(held),
            () = compare_until_done(context, run) => {}
            never = load_monitor::control_throttle(context) => match never {},
        }
    }
    context.session.end_hold.notified().await;
    Ok(held)
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
pub(super) fn promotion_message(context: &StepContext, held: &Held) -> Option<String> {
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

/// Compares the rows, and repeats this after an error. Reports differences; these do not end the hold.
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
            Err(error) => context.report_message(format!(
                "{HOLD_MESSAGE}; the comparison has not succeeded yet: {error}"
            )),
        }
        tokio::time::sleep(RETRY_PAUSE).await;
    }
}
