//! Outside of the migration's hours no unit begins, and no snapshot is held.

use connect::Connected;

use super::units;
use crate::error::StepError;
use crate::migration::context::StepContext;

/// Waits for the hours where no unit is half copied; the copy goes on with a new snapshot then, so that an old one
/// does not keep the source from cleaning up all day.
pub(super) async fn wait(context: &StepContext, target: &Connected) -> Result<(), StepError> {
    let Some(hours) = context.session.throttle.closed() else {
        return Ok(());
    };
    if !units::begun(context, target).await?.is_empty() {
        return Ok(());
    }
    if context.is_online() {
        super::end_holders(context).await?;
    }
    context.wait_for_hours(hours).await;
    Ok(())
}
