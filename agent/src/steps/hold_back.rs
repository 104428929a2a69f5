//! Hold after a rollback: the forward stream keeps the target's copy current, until the operator finishes or allows
//! another cutover.
//!
//! The step first drops the reverse slot: no stream reads it any more, and it would retain WAL on the target. Another
//! cutover creates a new slot before its fence (I6).

use plans::names::Direction;
use plans::step::hold::Held;

use super::hold::{promoted_servers, report};
use super::open_capture::{drop_publication, drop_slot};
use crate::error::StepError;
use crate::migration::context::StepContext;

pub(super) async fn run(context: &StepContext) -> Result<Held, StepError> {
    let target = context.target()?;
    let session = target.session("hold").await?;
    drop_slot(&session, context, Direction::Reverse).await?;
    drop_publication(&session, context, Direction::Reverse).await?;
    fail_point::hit("hold_back.started").await?;
    report(context, Direction::Forward);
    context.session.end_hold.notified().await;
    Ok(promoted_servers(context))
}
