//! Opens the way back before it may be needed (I6): publication and slot on the target.

use plans::names::Direction;
use serde_json::{Value, json};

use super::cutover::gate::check_identity;
use super::dual_write;
use super::open_capture::{create_slot, drop_slot, publish, record, start_progress};
use crate::error::StepError;
use crate::migration::context::StepContext;

pub(super) async fn run(context: &StepContext) -> Result<Value, StepError> {
    context.report_message("creating the stream back to the source");
    let target = context.target()?;
    let session = target.session("reverse").await?;
    // A stream reads the server that it knows from the first step, and no other (I10).
    check_identity(context, &session, Direction::Reverse).await?;
    record(context, &target.name, Direction::Reverse).await?;
    dual_write::record(context, Direction::Reverse).await?;
    drop_slot(&session, context, Direction::Reverse).await?;
    publish(&session, context, Direction::Reverse).await?;
    let (slot, _session) = create_slot(&session, context, &target, Direction::Reverse).await?;
    fail_point::hit("open_reverse.slot_created").await?;
    let source = context.source()?;
    let from = slot.consistent_point;
    start_progress(context, Direction::Reverse, from, false, &source).await?;
    Ok(json!({ "consistent_point": slot.consistent_point.to_string() }))
}
