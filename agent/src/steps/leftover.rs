//! A migration that was left on the target is no good neighbour: its guard would refuse the keys that are to come,
//! and what it brought cannot be told from what this one brings.

use connect::Connected;

use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::shard::{conflicting_migrations, epoch};

/// Refuses while another migration of the map is known on the target for some of the moving keys.
pub(super) async fn refuse(context: &StepContext, session: &Connected) -> Result<(), StepError> {
    let shard = session.name();
    let dispatch = &context.dispatch;
    if !epoch::schema_exists(session).await? {
        return Ok(());
    }
    let (own, map, keys) = (&dispatch.migration, &dispatch.map, &dispatch.keys);
    match conflicting_migrations::find_with_same_keys(session, own, map, keys, &[]).await? {
        None => Ok(()),
        Some(other) => Err(StepError::refused(
            "target.leftover",
            format!(
                "shard {shard}: migration {other} has left guards or rows there that are about some of {}",
                dispatch.keys
            ),
            "`shardwright cleanup` says what they are and removes them with --apply; then `resume`",
        )),
    }
}
