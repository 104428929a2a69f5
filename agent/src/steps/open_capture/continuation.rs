//! Continues the forward stream on a promoted standby of the source, if nothing is missing there.
//!
//! Changes in the spool are discarded: they may be from after the switch point, and the slot sends the others again.

use connect::Connected;
use plans::identity::DatabaseIdentity;
use plans::names::Direction;
use plans::step::open_capture::CaptureOpened;

use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::migration::continuation;
use crate::shard::epoch;

/// Continues the stream on `server`, if the proof holds. Returns `None` if a new slot is necessary.
pub(super) async fn continue_stream(
    context: &StepContext,
    session: &Connected,
    server: &DatabaseIdentity,
) -> Result<Option<CaptureOpened>, StepError> {
    let forward = Direction::Forward;
    let observed = continuation::read_observed_log(context, forward, None).await?;
    let Some(observed) = observed.filter(|observed| observed.timeline < server.timeline) else {
        return Ok(None);
    };
    let shard = session.name();
    let proof = continuation::prove(context, forward, session, server, &observed).await?;
    let switch_point = match proof {
        Ok(switch_point) => switch_point,
        Err(reason) => {
            context.report_message(format!(
                "shard {shard}: a standby was promoted, and the stream cannot continue there: {reason}"
            ));
            return Ok(None);
        }
    };
    context.spool().remove().await?;
    let target = context.target()?.session("progress").await?;
    epoch::begin(&target, &context.token()).await?;
    continuation::record_timeline(&target, &context.dispatch.migration, server.timeline).await?;
    let what = format!(
        "shard {}: recording the timeline of the source",
        target.name()
    );
    epoch::commit(&target, &what).await?;
    context.report_message(format!(
        "shard {shard}: a standby was promoted at {switch_point}; the stream continues there"
    ));
    Ok(Some(CaptureOpened {
        consistent_point: observed.progress.to_string(),
        source: Some(server.clone()),
        continued_from: Some(switch_point.to_string()),
        epoch: context.dispatch.epoch,
        cascades: false,
    }))
}
