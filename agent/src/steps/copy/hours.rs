//! Pauses the copy outside of the permitted hours: no further unit begins, and no session holds a snapshot.

use connect::Connected;

use super::snapshots;
use crate::error::StepError;
use crate::migration::context::StepContext;

/// Outside of the permitted hours: waits for them, unless a unit is partly copied or a table partly resynchronized. Before the wait it ends the sessions
/// that hold the snapshot, which would prevent VACUUM on the source for the whole time. The copy then continues with a
/// new snapshot.
pub(super) async fn wait_for_hours(
    context: &StepContext,
    target: &Connected,
) -> Result<(), StepError> {
    let Some(hours) = context.session.throttle.hours_to_wait_for() else {
        return Ok(());
    };
    if snapshots::has_unfinished_units(context, target).await? {
        return Ok(());
    }
    if context.is_online() {
        super::end_holders(context).await?;
    }
    context.wait_for_hours(hours).await;
    Ok(())
}
