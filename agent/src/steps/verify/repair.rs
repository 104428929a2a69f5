//! Replaces rows of the copy that differ by the owner's rows at one exact position.
//!
//! The stream stays parked at that position until the rows are committed, so that later changes are applied to exactly
//! these rows. The keys are marked as dirty, and their chunks are compared again. The repair writes only on the
//! downstream shard, never on the owner.

use connect::Connected;
use plans::step::verify::ROWS_REPAIRED;

use super::ComparisonRun;
use super::point::{self, ComparisonPoint};
use crate::compare::{self, MovingRows};
use crate::error::StepError;
use crate::shard::user_code;
use crate::shard::{apply_progress, epoch};

/// Maximum number of keys in one statement.
const KEYS_AT_ONCE: usize = 1_000;

/// Repairs the differences that the run has found so far. Returns the number of rows that were deleted or written.
pub(super) async fn repair_rows(
    comparison: &ComparisonRun<'_>,
    different: i64,
) -> Result<i64, StepError> {
    if usize::try_from(different).is_ok_and(|rows| rows > ROWS_REPAIRED) {
        return Err(StepError::refused(
            "verify.beyond_repair",
            format!(
                "{different} row(s) differ, more than the {ROWS_REPAIRED} that a repair writes"
            ),
            "`abort` the migration and plan it again",
        ));
    }
    let (context, shards) = (comparison.context, comparison.shards);
    if !context.is_online() {
        let point = point::offline_point(context, shards).await?;
        return write_rows(comparison, &point).await;
    }
    let stream = context.session.stream.lock().await;
    let stream = stream
        .as_ref()
        .ok_or_else(|| StepError::passing("stream.ended", "no change stream runs"))?;
    let held = stream.pause().await?;
    let point = point::park_at_point(context, shards, &held).await?;
    let written = write_rows(comparison, &point).await?;
    fail_point::hit("verify.repaired").await?;
    drop(held);
    Ok(written)
}

async fn write_rows(
    comparison: &ComparisonRun<'_>,
    point: &ComparisonPoint,
) -> Result<i64, StepError> {
    let shards = comparison.shards;
    let shard = shards.downstream.name.as_str();
    let session = shards.downstream.replica_session("repair").await?;
    shards.downstream.set_for_lookups(&session).await?;
    let downstream = &session;
    let tables = &comparison.context.dispatch.tables;
    point.upstream.prove_tables(tables).await?;
    epoch::begin(&session, &shards.token).await?;
    user_code::prove(&session, tables).await?;
    let mut written = 0;
    for moving in comparison.tables() {
        let relation = moving.table.table.to_string();
        let keys = comparison.records().different_keys(&relation).await?;
        if keys.is_empty() {
            continue;
        }
        written += keys.len();
        rewrite_rows(point.upstream.connection(), downstream, &moving, &keys).await?;
        let marks: Vec<(String, String)> = keys
            .into_iter()
            .map(|key| (relation.clone(), key))
            .collect();
        apply_progress::mark_dirty(&session, &shards.token, &marks, point.at).await?;
    }
    epoch::commit(
        &session,
        &format!("shard {shard}: committing repaired rows"),
    )
    .await?;
    Ok(i64::try_from(written).unwrap_or(i64::MAX))
}

/// Replaces the copy's rows of these keys by the owner's rows.
async fn rewrite_rows(
    upstream: &Connected,
    downstream: &Connected,
    moving: &MovingRows<'_>,
    keys: &[String],
) -> Result<(), StepError> {
    for some in keys.chunks(KEYS_AT_ONCE) {
        compare::delete_rows(downstream, moving, some).await?;
    }
    let mut done = std::collections::BTreeSet::new();
    for some in keys.chunks(KEYS_AT_ONCE) {
        let rows = compare::read_rows(upstream, moving, some).await?;
        // Two texts can name the same key; its row is inserted only once. In a table without a key, each of several
        // equal rows is inserted.
        let whole = moving.table.identity.is_empty();
        let new = rows.into_iter();
        let new = new.filter(|(key, _)| whole || done.insert(key.clone()));
        let new: Vec<_> = new.map(|(_, values)| values).collect();
        compare::insert_rows(downstream, moving, &new).await?;
    }
    Ok(())
}
