//! Refuses a target that has objects of an ended migration with some of the moving keys. The guard of that migration
//! would refuse writes to these keys, and its copied rows could not be distinguished from those of this migration.

use connect::Connected;
use plans::failure::StepCode;

use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::shard::{conflicting_migrations, epoch};

/// Refuses a target that has records of another migration for some of the moving keys.
pub(super) async fn refuse_conflicting(
    context: &StepContext,
    session: &Connected,
) -> Result<(), StepError> {
    let shard = session.name();
    let dispatch = &context.dispatch;
    if !epoch::schema_exists(session).await? {
        return Ok(());
    }
    let (migration, map, keys) = (&dispatch.migration, &dispatch.map, &dispatch.keys);
    match conflicting_migrations::find_with_same_keys(session, migration, map, keys, &[]).await? {
        None => Ok(()),
        Some(other) => Err(StepError::refused(
            StepCode::TargetLeftover,
            format!(
                "shard {shard}: migration {other} has left guards or rows for some of {} there",
                dispatch.keys
            ),
            "`shardwright cleanup` lists them, and removes them with --apply; then `resume`",
        )),
    }
}
