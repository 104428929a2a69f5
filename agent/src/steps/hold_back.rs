//! Hold back: after a roll back the forward stream keeps the target's copy in step, until the operator finishes or
//! lets the cutover begin again.
//!
//! The reverse slot goes first: nobody reads it any more, and it would keep the target's log. Another cutover makes
//! a new one before its fence (I6).

use plans::names::Direction;
use serde_json::{Value, json};

use super::open_capture::{drop_slot, unpublish};
use crate::error::StepError;
use crate::migration::context::StepContext;

pub(super) async fn run(context: &StepContext) -> Result<Value, StepError> {
    let target = context.target()?;
    let session = target.session("hold").await?;
    drop_slot(&session, context, Direction::Reverse).await?;
    unpublish(&session, context, Direction::Reverse).await?;
    fail_point::hit("hold_back.started").await?;
    context.report_message(
        "the target's copy is kept in step; `finish` drops it, `approve` lets the cutover begin again",
    );
    context.session.end_hold.notified().await;
    Ok(json!({}))
}
