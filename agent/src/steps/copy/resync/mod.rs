//! Resynchronizes copied rows after captured changes were lost: the slot is gone, or a standby of the source was
//! promoted.
//!
//! The step `open_capture` has then created a new slot. The rows that were copied before are compared with the source
//! as the copy's snapshot sees it, and only rows that differ are copied again. The stream then applies the changes
//! after this snapshot, as after any copy.
//!
//! A table is resynchronized with one snapshot, in this order:
//! 1. The agent divides the copied units of the table into parts.
//! 2. It compares part by part. One transaction on the target deletes the rows that are outdated, records the keys of
//!    the rows that are missing, and records that the part is compared.
//! 3. When every part is compared, it copies the missing rows. Otherwise a row could violate a unique constraint by a
//!    value that an outdated row of another part still has.
//! 4. It records the snapshot as that of the table's units.
//!
//! An offline move does the same on a promoted source, when the step `set_read_only` has closed the keys there. It needs
//! no snapshot, because the rows do not change.
//!
//! Nothing else writes the moving rows of the target meanwhile: its register is closed, and the stream only spools. If
//! the agent dies, the parts that are compared count. If the snapshot is lost, the table begins again with a later one.

mod records;

use connect::Connected;
use plans::table::MovingTable;
use plans::wire::TableProgress;
use tokio::time::Instant;

use crate::cleanup::delete_rows::ClosedProof;
use crate::compare::{self, ChunkScope, MovingRows};
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::copy_stream;
use crate::shard::snapshot;
use crate::steps::copy::end_holders;
use crate::steps::delete::row_deletion;
pub(in crate::steps) use records::compare_copied_rows_again;
use records::{Part, PartResult};
pub(super) use records::{has_begun, restart, tables_left, totals};

/// The number of rows in a part. An interrupted comparison repeats at most one part.
const PART_ROWS: u32 = 500_000;
/// The number of rows in a part if the request limits the application's latency: the comparison pauses after each part.
const LATENCY_PART_ROWS: u32 = 50_000;
/// Maximum number of keys in one record, which is also the number of rows that one transaction copies.
const KEYS_AT_ONCE: usize = 1_000;

/// How a resynchronization ends without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResyncEnd {
    /// No table is left.
    Done,
    /// The snapshot can no longer be imported, is too old for another table, or the permitted hours have ended.
    NeedsLaterSnapshot,
}

/// The sessions of a resynchronization.
struct Resync<'a> {
    context: &'a StepContext,
    /// The number of the copy's current snapshot; `None` for an offline move, which has none.
    snapshot: Option<i32>,
    /// The time at which the snapshot reaches its maximum age, if there is one.
    begin_until: Option<Instant>,
    /// Reads rows of the source, in short transactions with the snapshot.
    source: Connected,
    /// Reads and writes rows of the target, in transactions that prove the epoch.
    target: Connected,
}

/// Resynchronizes all tables that need it with the current snapshot: its number, and the time at which it reaches its
/// maximum age.
pub(super) async fn run(
    context: &StepContext,
    records: &Connected,
    (snapshot, begin_until): (Option<i32>, Option<Instant>),
) -> Result<ResyncEnd, StepError> {
    let tables = tables_left(context, records).await?;
    if tables.is_empty() {
        return Ok(ResyncEnd::Done);
    }
    let (source, target) = (context.source()?, context.target()?);
    let target_session = target.replica_session("resync").await?;
    target.set_for_lookups(&target_session).await?;
    let mut resync = Resync {
        context,
        snapshot,
        begin_until,
        source: source.lookup_session("resync").await?,
        target: target_session,
    };
    for index in tables {
        if resync.table(index).await? == ResyncEnd::NeedsLaterSnapshot {
            return Ok(ResyncEnd::NeedsLaterSnapshot);
        }
    }
    Ok(ResyncEnd::Done)
}

impl Resync<'_> {
    /// Resynchronizes one table.
    async fn table(&mut self, index: usize) -> Result<ResyncEnd, StepError> {
        let table = &self.context.dispatch.tables[index];
        let dispatch = &self.context.dispatch;
        let copied = table.copy_predicate(&dispatch.keys, "t", &dispatch.migration);
        let moving = MovingRows::matching(table, copied);
        let mut parts = records::parts(self.context, &self.target, table).await?;
        if parts.is_empty() {
            if self.may_begin_no_table() || !self.begin_reading(table).await? {
                return Ok(ResyncEnd::NeedsLaterSnapshot);
            }
            let scopes = self.divide(&moving).await?;
            self.end_reading().await?;
            parts = records::record_parts(self.context, &self.target, table, scopes).await?;
        }
        let work = self.context.session.throttle.begin_work();
        for at in 0..parts.len() {
            if parts[at].compared {
                continue;
            }
            if !self.begin_reading(table).await? {
                return Ok(ResyncEnd::NeedsLaterSnapshot);
            }
            self.report(table, &parts);
            let result = self.compare(&moving, &parts[at]).await?;
            self.end_reading().await?;
            parts[at].finish(result);
            fail_point::hit("resync.compared").await?;
            work.finish_piece(0).await;
        }
        if self.copy_missing(&moving).await? == ResyncEnd::NeedsLaterSnapshot {
            return Ok(ResyncEnd::NeedsLaterSnapshot);
        }
        records::finish_table(self.context, &self.target, table, self.snapshot).await?;
        Ok(ResyncEnd::Done)
    }

    /// Returns whether no further table may begin with this snapshot: an old one prevents VACUUM on the source.
    fn may_begin_no_table(&self) -> bool {
        let throttle = &self.context.session.throttle;
        let is_old = |until| Instant::now() >= until;
        throttle.hours_to_wait_for().is_some() || self.begin_until.is_some_and(is_old)
    }

    /// Opens a transaction on the source with the snapshot, and proves that reading the table runs no untrusted code.
    /// Returns false if the snapshot can no longer be imported.
    async fn begin_reading(&self, table: &MovingTable) -> Result<bool, StepError> {
        let id = self.context.dispatch.migration.as_str();
        if !self.context.is_online() {
            // The keys are read-only, so each transaction sees the same rows.
            snapshot::begin_read_only(&self.source).await?;
        } else if !snapshot::begin_with_held(&self.source, id).await? {
            return Ok(false);
        }
        let prover = self
            .context
            .session
            .code_prover(&self.context.source()?)
            .await?;
        prover
            .prove(&self.source, std::slice::from_ref(table))
            .await?;
        let (present, visible) = snapshot::file_nodes(&self.source, &table.table).await?;
        if present != visible {
            // The snapshot sees no rows, and the comparison would delete those of the target.
            self.end_reading().await?;
            end_holders(self.context).await?;
            return Ok(false);
        }
        Ok(true)
    }

    /// Ends the transaction on the source, so that DDL of other sessions waits only shortly.
    async fn end_reading(&self) -> Result<(), StepError> {
        let ended = self.source.batch_execute("commit").await;
        ended.at(format_args!(
            "shard {}: ending a comparison",
            self.source.name()
        ))
    }

    /// Begins a transaction on the target that may write rows of the table. It proves the epoch, and that this database
    /// is the closed target of the migration: outdated rows are deleted in it.
    async fn begin_writing(&self, table: &MovingTable) -> Result<(), StepError> {
        let (target, token) = (self.context.target()?, self.context.token());
        let deletion = row_deletion(self.context, &target, token, ClosedProof::Live);
        deletion.begin_closed(&self.target).await?;
        let prover = self.context.session.code_prover(&target).await?;
        prover
            .prove(&self.target, std::slice::from_ref(table))
            .await
    }

    /// Returns the parts of the table's copied units.
    async fn divide(&self, moving: &MovingRows<'_>) -> Result<Vec<ChunkScope>, StepError> {
        let units = records::copied_key_ranges(self.context, &self.target, moving.table).await?;
        match units {
            Some(ranges) => Ok(ranges),
            None => {
                let rows = if self.context.session.throttle.has_latency_limit() {
                    LATENCY_PART_ROWS
                } else {
                    PART_ROWS
                };
                compare::cut_into_chunks(&self.source, moving, rows).await
            }
        }
    }

    /// Compares a part, deletes its outdated rows on the target, and records the keys of its missing rows.
    async fn compare(&self, moving: &MovingRows<'_>, part: &Part) -> Result<PartResult, StepError> {
        let (source, target) = (&self.source, &self.target);
        self.begin_writing(moving.table).await?;
        let (source_digest, target_digest) = tokio::try_join!(
            compare::digest(source, moving, &part.scope),
            compare::digest(target, moving, &part.scope)
        )?;
        let mut result = PartResult {
            rows: source_digest.rows,
            deleted: 0,
            missing: 0,
        };
        if source_digest != target_digest {
            let groups = compare::differing_groups(source, target, moving, &part.scope).await?;
            for group in &groups {
                let keys =
                    compare::differing_keys(source, target, moving, &part.scope, group).await?;
                for page in keys.outdated.chunks(KEYS_AT_ONCE) {
                    let deleted = compare::delete_rows(target, moving, page).await?;
                    result.deleted += i64::try_from(deleted).unwrap_or(i64::MAX);
                }
                for page in keys.missing.chunks(KEYS_AT_ONCE) {
                    records::record_keys(self.context, target, part, page).await?;
                }
                result.missing += i64::try_from(keys.missing.len()).unwrap_or(i64::MAX);
            }
        }
        records::finish_part(self.context, target, part, &result).await?;
        Ok(result)
    }

    /// Copies the missing rows of the table, whose keys are recorded.
    async fn copy_missing(&mut self, moving: &MovingRows<'_>) -> Result<ResyncEnd, StepError> {
        let table = moving.table;
        let work = self.context.session.throttle.begin_work();
        while let Some(entry) = records::next_keys(self.context, &self.target, table).await? {
            self.context.report_message(format!(
                "copying rows of {} again that differ from the source",
                table.table
            ));
            if !self.begin_reading(table).await? {
                return Ok(ResyncEnd::NeedsLaterSnapshot);
            }
            self.begin_writing(table).await?;
            let condition = moving.key_condition(&entry.keys);
            let copied = copy_stream::copy_rows(
                &mut self.source,
                &mut self.target,
                table,
                &condition,
                |_, _| std::future::ready(()),
            )
            .await?;
            records::finish_keys(self.context, &self.target, &entry, copied).await?;
            self.end_reading().await?;
            fail_point::hit("resync.copied").await?;
            work.finish_piece(copied.1).await;
        }
        Ok(ResyncEnd::Done)
    }

    /// Reports how many parts of the table are compared, and in how many of them rows differ.
    fn report(&self, table: &MovingTable, parts: &[Part]) {
        let compared = parts.iter().filter(|part| part.compared);
        let different = compared.clone().filter(|part| part.differs).count();
        let (compared_rows, compared) = (
            compared.clone().map(|part| part.rows).sum(),
            compared.count(),
        );
        self.context.report_message(format!(
            "captured changes were lost; comparing {} with the source: {compared} of {} parts compared, {different} differ",
            table.table,
            parts.len()
        ));
        self.context.session.update(|progress| {
            progress.tables = vec![TableProgress {
                table: table.table.to_string(),
                rows_done: compared_rows,
                rows_total: table.rows.max(compared_rows),
                phase: "comparing".to_owned(),
                ..TableProgress::default()
            }];
        });
    }
}
