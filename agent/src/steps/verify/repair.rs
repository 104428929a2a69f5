//! Repairs differences: replaces the rows on the downstream shard by the owner's rows at one exact position.
//!
//! The stream stays parked at this position until the new rows are committed, so it applies later changes to exactly
//! these rows. The repair marks the keys as dirty, and the agent compares their chunks again. The repair never writes
//! on the owner.

use connect::Connected;
use plans::failure::StepCode;
use plans::step::verify::ROWS_REPAIRED;

use super::ComparisonRun;
use super::point::{self, ComparisonPoint};
use crate::compare::{self, MovingRows};
use crate::error::StepError;
use crate::shard::user_code;
use crate::shard::{apply_progress, epoch};

/// Maximum number of keys in one statement.
const KEYS_AT_ONCE: usize = 1_000;

/// Repairs the rows that the run has found to differ; `different` is their number. Returns the number of repaired keys.
pub(super) async fn repair_rows(
    comparison: &ComparisonRun<'_>,
    different: i64,
) -> Result<i64, StepError> {
    if usize::try_from(different).is_ok_and(|rows| rows > ROWS_REPAIRED) {
        return Err(StepError::refused(
            StepCode::VerifyBeyondRepair,
            format!("{different} row(s) differ; a repair replaces at most {ROWS_REPAIRED}"),
            "`abort` the migration and plan it again",
        ));
    }
    let (context, shards) = (comparison.context, comparison.shards);
    if !context.is_online() {
        let point = point::open_offline_point(context, shards).await?;
        return write_rows(comparison, &point).await;
    }
    let stream = context.session.stream.lock().await;
    let stream = stream
        .as_ref()
        .ok_or_else(|| StepError::passing(StepCode::StreamEnded, "no change stream runs"))?;
    let paused_stream = stream.pause().await?;
    let point = point::open_point_of_paused_stream(context, shards, &paused_stream).await?;
    let written = write_rows(comparison, &point).await?;
    fail_point::hit("verify.repaired").await?;
    drop(paused_stream);
    Ok(written)
}

/// Replaces all rows that differ, in one transaction on the downstream shard.
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
    point.upstream.lock_and_prove_tables(tables).await?;
    epoch::begin(&session, &shards.token).await?;
    user_code::prove(&session, tables).await?;
    let mut repaired = 0;
    for moving in comparison.tables() {
        let relation = moving.table.table.to_string();
        let keys = comparison.records().different_keys(&relation).await?;
        if keys.is_empty() {
            continue;
        }
        repaired += keys.len();
        replace_rows(point.upstream.connection(), downstream, &moving, &keys).await?;
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
    Ok(i64::try_from(repaired).unwrap_or(i64::MAX))
}

/// Replaces the rows with these keys on the downstream shard by the owner's rows.
async fn replace_rows(
    upstream: &Connected,
    downstream: &Connected,
    moving: &MovingRows<'_>,
    keys: &[String],
) -> Result<(), StepError> {
    for page in keys.chunks(KEYS_AT_ONCE) {
        compare::delete_rows(downstream, moving, page).await?;
    }
    let mut inserted_keys = std::collections::BTreeSet::new();
    for page in keys.chunks(KEYS_AT_ONCE) {
        let rows = compare::read_rows(upstream, moving, page).await?;
        // Two texts can be the same key, whose row is inserted only once. In a table without an identity, each of
        // several equal rows is inserted.
        let has_no_identity = moving.table.identity.is_empty();
        let new = rows.into_iter();
        let new = new.filter(|(key, _)| has_no_identity || inserted_keys.insert(key.clone()));
        let new: Vec<_> = new.map(|(_, values)| values).collect();
        compare::insert_rows(downstream, moving, &new).await?;
    }
    Ok(())
}
