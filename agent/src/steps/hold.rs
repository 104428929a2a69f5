//! Hold: the reverse stream keeps the old copy in step until the operator finishes or rolls back.
//!
//! The forward slot goes first: nobody reads it any more, and it would keep the source's log.

use plans::names::Direction;
use serde_json::{Value, json};

use super::open_capture::{drop_slot, unpublish};
use crate::error::StepError;
use crate::owned::Context;

pub(super) async fn run(context: &Context) -> Result<Value, StepError> {
    let source = context.source()?;
    let session = source.session("hold").await?;
    drop_slot(&session, context, Direction::Forward, &source.name).await?;
    unpublish(&session, context, Direction::Forward, &source.name).await?;
    fail_point::hit("hold.started").await?;
    context.say("the old copy is kept in step; `finish` ends this, `rollback` gives the keys back");
    context.owned.end_hold.notified().await;
    Ok(json!({}))
}
