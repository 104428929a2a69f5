//! Hold: the reverse stream keeps the old copy in step until the operator finishes or rolls back.
//!
//! The forward slot goes first: nobody reads it any more, and it would keep the source's log.
//! A comparison that the operator ordered is made here, of the old copy with its owner.

use std::time::Duration;

use plans::names::Direction;
use plans::step::verify::VerifyRun;
use serde_json::{Value, json};

use super::open_capture::{drop_slot, unpublish};
use super::verify;
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::migration::load_monitor;

/// What the operator reads during the hold.
const HELD: &str =
    "the old copy is kept in step; `finish` ends this, `rollback` gives the keys back";
/// Before a comparison that could not be made is tried again.
const PAUSE: Duration = Duration::from_secs(2);

pub(super) async fn run(context: &StepContext) -> Result<Value, StepError> {
    let source = context.source()?;
    let session = source.session("hold").await?;
    drop_slot(&session, context, Direction::Forward).await?;
    unpublish(&session, context, Direction::Forward).await?;
    fail_point::hit("hold.started").await?;
    context.report_message(HELD);
    if let Some(run) = context.dispatch.verify {
        tokio::select! {
            biased;
            () = context.session.end_hold.notified() => return Ok(json!({})),
            () = compare(context, run) => {}
            never = load_monitor::control_throttle(context) => match never {},
        }
    }
    context.session.end_hold.notified().await;
    Ok(json!({}))
}

/// Compares until it succeeds; what differs is told and does not end the hold.
async fn compare(context: &StepContext, run: VerifyRun) {
    loop {
        match verify::in_hold(context, run).await {
            Ok(verified) => {
                let (rows, different) = (verified.rows_compared, verified.different);
                context.report_message(format!("{HELD}; compared {rows} rows, {different} differ"));
                return;
            }
            Err(error) => {
                context.report_message(format!("{HELD}; it could not be compared yet: {error}"))
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}
