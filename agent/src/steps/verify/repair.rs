//! Writes rows of the copy that differ again, as the owner has them at one exact point.
//!
//! The applier stays parked at that point until the rows are committed: what it applies afterwards was
//! made on top of just these rows. The keys are marked as dirty, and their chunks are compared again.
//! It writes where the stream writes, never on the owner's side.

use connect::Connected;
use plans::step::verify::ROWS_REPAIRED;

use super::ComparisonRun;
use super::point::{self, ComparisonPoint};
use crate::compare::{self, MovingRows};
use crate::error::StepError;
use crate::shard::user_code;
use crate::shard::{apply_progress, epoch};

/// Keys of one statement.
const KEYS_AT_ONCE: usize = 1_000;

/// Repairs what the run has found so far; how many rows were deleted or written.
pub(super) async fn run(comparison: &ComparisonRun<'_>, different: i64) -> Result<i64, StepError> {
    if usize::try_from(different).is_ok_and(|rows| rows > ROWS_REPAIRED) {
        return Err(StepError::refused(
            "verify.beyond_repair",
            format!(
                "{different} row(s) differ, more than the {ROWS_REPAIRED} that a repair writes"
            ),
            "`abort` it and plan it again",
        ));
    }
    let (context, sides) = (comparison.context, comparison.sides);
    if !context.is_online() {
        let point = point::at_rest(context, sides).await?;
        return write(comparison, &point).await;
    }
    let stream = context.session.stream.lock().await;
    let stream = stream
        .as_ref()
        .ok_or_else(|| StepError::passing("stream.ended", "no change stream runs"))?;
    let held = stream.hold().await?;
    let point = point::park(context, sides, &held).await?;
    let written = write(comparison, &point).await?;
    fail_point::hit("verify.repaired").await?;
    drop(held);
    Ok(written)
}

async fn write(comparison: &ComparisonRun<'_>, point: &ComparisonPoint) -> Result<i64, StepError> {
    let sides = comparison.sides;
    let shard = sides.destination.name.as_str();
    let session = sides.destination.replica_session("repair").await?;
    sides.destination.set_for_lookups(&session).await?;
    let copy = &session;
    let tables = &comparison.context.dispatch.tables;
    point.origin.prove(tables).await?;
    epoch::begin(&session, &sides.token).await?;
    user_code::prove(&session, tables).await?;
    let mut written = 0;
    for moving in comparison.tables() {
        let relation = moving.table.table.to_string();
        let keys = comparison.records().different_keys(&relation).await?;
        if keys.is_empty() {
            continue;
        }
        written += keys.len();
        rewrite(point.origin.side(), copy, &moving, &keys).await?;
        let marks: Vec<(String, String)> = keys
            .into_iter()
            .map(|key| (relation.clone(), key))
            .collect();
        apply_progress::mark_dirty(&session, &sides.token, &marks, point.at).await?;
    }
    epoch::commit(
        &session,
        &format!("shard {shard}: committing repaired rows"),
    )
    .await?;
    Ok(i64::try_from(written).unwrap_or(i64::MAX))
}

/// The copy's rows with these keys become the owner's.
async fn rewrite(
    origin: &Connected,
    copy: &Connected,
    moving: &MovingRows<'_>,
    keys: &[String],
) -> Result<(), StepError> {
    for some in keys.chunks(KEYS_AT_ONCE) {
        compare::delete_rows(copy, moving, some).await?;
    }
    let mut done = std::collections::BTreeSet::new();
    for some in keys.chunks(KEYS_AT_ONCE) {
        let rows = compare::read_rows(origin, moving, some).await?;
        // A key has one row, although two texts may name it; without a key equal rows count.
        let whole = moving.table.identity.is_empty();
        let new = rows.into_iter();
        let new = new.filter(|(key, _)| whole || done.insert(key.clone()));
        let new: Vec<_> = new.map(|(_, values)| values).collect();
        compare::insert_rows(copy, moving, &new).await?;
    }
    Ok(())
}
