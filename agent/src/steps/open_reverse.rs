//! Creates the publication and the slot of the reverse stream on the target. They must exist before the fence, because
//! a rollback needs them (I6).

use plans::names::Direction;
use serde_json::{Value, json};

use super::cutover::gate::check_identity;
use super::open_capture::{
    StreamPosition, create_publication, create_slot, drop_slot, record_stream_objects,
    write_first_progress,
};
use super::{definitions, dual_write};
use crate::error::StepError;
use crate::migration::context::StepContext;

pub(super) async fn run(context: &StepContext) -> Result<Value, StepError> {
    context.report_message("creating the slot of the reverse stream");
    let target = context.target()?;
    let session = target.session("reverse").await?;
    // A stream may read only from the server that the preflight has recorded (I10).
    check_identity(context, &session, Direction::Reverse).await?;
    record_stream_objects(context, &target.name, Direction::Reverse).await?;
    dual_write::record_standby_name(context, Direction::Reverse).await?;
    drop_slot(&session, context, Direction::Reverse).await?;
    create_publication(&session, context, Direction::Reverse).await?;
    let (slot, _session) = create_slot(&session, context, &target, Direction::Reverse).await?;
    fail_point::hit("open_reverse.slot_created").await?;
    let source = context.source()?;
    let from = StreamPosition {
        lsn: slot.consistent_point,
        timeline: context.known_servers()?.1.timeline,
    };
    write_first_progress(context, Direction::Reverse, from, false, &source).await?;
    definitions::record_for_hold(context).await?;
    Ok(json!({ "consistent_point": slot.consistent_point.to_string() }))
}
