//! Compares dirty keys (keys of rows that changed after the verification) again, before the fence and inside the
//! write-blocked window.
//!
//! The stream marks a key as dirty when a change of its row arrives; the marks are entries of a log. A key is clean if
//! its rows on both shards, read after the mark, are equal: every later change adds another mark. Keys whose rows
//! differ stay dirty. Inside the window no row changes, so a difference is an error.
//!
//! The agent reads the log in pages, so that memory and statements do not grow with the number of keys.
//! [`sweep_dirty_keys`] keeps this number small while a migration waits for its approval, or is in its hold.

use std::sync::atomic::Ordering;
use std::time::Duration;

use connect::Connected;
use futures::future::try_join_all;
use plans::names::Direction;
use plans::step::StepKind;

use super::verify::StreamShards;
use crate::compare::{self, DirtyPage, MovingRows};
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::lsn::Lsn;
use crate::shard::epoch;

/// Maximum number of log entries in a page. One statement compares the keys of a page.
const PAGE_KEYS: i64 = 2_000;
/// Maximum number of tables whose pages are read, and kept in memory, at the same time.
const MAX_CONCURRENT_TABLES: usize = 32;
/// The pause between two sweeps.
const SWEEP_PAUSE: Duration = Duration::from_secs(5);
/// The sweep waits while the lag of the stream is larger: the stream has priority, and most keys would differ.
const MAX_SWEEP_LAG_BYTES: i64 = 16 << 20;

/// The sessions of a comparison.
pub(crate) struct ComparisonSessions<'a> {
    /// Reads the owner's rows, in a transaction that [`StreamShards::begin_reading`] opened.
    pub(crate) upstream: &'a Connected,
    /// Reads the log of dirty keys, and afterwards the rows of the downstream shard, so that the rows are at least as
    /// new as the entries.
    pub(crate) downstream: &'a Connected,
    /// Deletes entries of the log of dirty keys on the downstream shard, in separate transactions.
    pub(crate) log: &'a Connected,
}

/// A position in a table's log of dirty keys.
struct LogCursor<'a> {
    moving: MovingRows<'a>,
    /// The next page has the entries after the first number, up to the second. A later comparison handles newer
    /// entries.
    entries_between: (i64, i64),
}

/// A compared page of a table's log.
struct ComparedPage<'a> {
    cursor: LogCursor<'a>,
    page: DirtyPage,
    /// The keys whose rows differ.
    different: Vec<String>,
}

/// Compares dirty keys while writes continue, and deletes the equal ones from the log. Returns how many keys differ,
/// and how many were compared.
///
/// This comparison must be short, because keys that change meanwhile are left for the next one. Therefore it reads
/// pages of several tables at the same time, and deletes their equal keys in one transaction.
pub(crate) async fn compare_and_delete_equal(
    context: &StepContext,
    shards: &StreamShards,
    sessions: &ComparisonSessions<'_>,
) -> Result<(usize, usize), StepError> {
    compare_all(context, shards, sessions, true).await
}

/// Compares one page of each table, and deletes nothing, so that the servers plan the statements of the sessions.
pub(crate) async fn warm_up(
    context: &StepContext,
    shards: &StreamShards,
    sessions: &ComparisonSessions<'_>,
) -> Result<(), StepError> {
    cursors_of_dirty_tables(context, shards, sessions).await?;
    let tables = context.dispatch.tables.iter();
    let tables = tables.filter(|table| !table.is_reference());
    let mut cursors: Vec<LogCursor<'_>> = tables
        .map(|table| LogCursor {
            moving: MovingRows::new(table, &context.dispatch.keys),
            entries_between: (0, i64::MAX),
        })
        .collect();
    while !cursors.is_empty() {
        compare_next_pages(shards, sessions, &mut cursors).await?;
    }
    Ok(())
}

/// Returns how many dirty keys differ, and how many were compared. No row may change on either shard meanwhile.
///
/// The duration grows with the number of dirty keys, not of tables: only tables with dirty keys are read, and
/// [`MAX_CONCURRENT_TABLES`] of them at the same time.
pub(crate) async fn count_differences(
    context: &StepContext,
    shards: &StreamShards,
    sessions: &ComparisonSessions<'_>,
) -> Result<(usize, usize), StepError> {
    compare_all(context, shards, sessions, false).await
}

/// Compares every dirty key, page by page; returns how many differ, and how many were compared.
async fn compare_all(
    context: &StepContext,
    shards: &StreamShards,
    sessions: &ComparisonSessions<'_>,
    deletes_equal_keys: bool,
) -> Result<(usize, usize), StepError> {
    let (mut different, mut compared) = (0, 0);
    let mut cursors = cursors_of_dirty_tables(context, shards, sessions).await?;
    while !cursors.is_empty() {
        let pages = compare_next_pages(shards, sessions, &mut cursors).await?;
        if deletes_equal_keys {
            delete_equal_keys(sessions.log, shards, &pages).await?;
        }
        for page in pages {
            different += page.different.len();
            compared += page.page.keys.len();
            cursors.extend(page.next_cursor());
        }
    }
    Ok((different, compared))
}

/// Removes up to [`MAX_CONCURRENT_TABLES`] cursors from the list, and compares the next page of each at the same time.
async fn compare_next_pages<'a>(
    shards: &StreamShards,
    sessions: &ComparisonSessions<'_>,
    cursors: &mut Vec<LogCursor<'a>>,
) -> Result<Vec<ComparedPage<'a>>, StepError> {
    let remaining = cursors.len().saturating_sub(MAX_CONCURRENT_TABLES);
    let pages = cursors.split_off(remaining).into_iter();
    try_join_all(pages.map(|cursor| compare_next_page(shards, sessions, cursor))).await
}

/// Returns a cursor before the first page of each table that has dirty keys.
async fn cursors_of_dirty_tables<'a>(
    context: &'a StepContext,
    shards: &StreamShards,
    sessions: &ComparisonSessions<'_>,
) -> Result<Vec<LogCursor<'a>>, StepError> {
    let dirty = compare::dirty_relations(sessions.downstream, &shards.token).await?;
    let cursor = |(relation, last): (String, i64)| {
        let mut tables = context.dispatch.tables.iter();
        let table = tables.find(|table| table.table.to_string() == relation)?;
        Some(LogCursor {
            moving: MovingRows::new(table, &context.dispatch.keys),
            entries_between: (0, last),
        })
    };
    Ok(dirty.into_iter().filter_map(cursor).collect())
}

/// Compares the next page of a table: reads the dirty keys first, and the rows of both shards afterwards.
async fn compare_next_page<'a>(
    shards: &StreamShards,
    sessions: &ComparisonSessions<'_>,
    cursor: LogCursor<'a>,
) -> Result<ComparedPage<'a>, StepError> {
    let upstream = sessions.upstream;
    let downstream = sessions.downstream;
    let (relation, moving) = (cursor.relation(), &cursor.moving);
    let (token, (after, last)) = (&shards.token, cursor.entries_between);
    let page = compare::dirty_page(downstream, token, &relation, after, last, PAGE_KEYS);
    let page = page.await?;
    let keys: Vec<String> = page.keys.iter().cloned().collect();
    let (upstream_rows, downstream_rows) = tokio::try_join!(
        compare::hashes_by_key(upstream, moving, &keys),
        compare::hashes_by_key(downstream, moving, &keys)
    )?;
    let differs = |key: &String| upstream_rows.get(key) != downstream_rows.get(key);
    Ok(ComparedPage {
        different: keys.into_iter().filter(differs).collect(),
        cursor,
        page,
    })
}

impl LogCursor<'_> {
    fn relation(&self) -> String {
        self.moving.table.table.to_string()
    }
}

impl<'a> ComparedPage<'a> {
    /// Returns the cursor of the next page; None if there is no further page.
    fn next_cursor(self) -> Option<LogCursor<'a>> {
        let after = *self
            .page
            .entries
            .last()
            .filter(|_| self.page.may_have_more)?;
        Some(LogCursor {
            entries_between: (after, self.cursor.entries_between.1),
            ..self.cursor
        })
    }
}

/// Deletes the log entries of the pages in one transaction for all tables, except those of keys that differ.
async fn delete_equal_keys(
    session: &Connected,
    shards: &StreamShards,
    pages: &[ComparedPage<'_>],
) -> Result<(), StepError> {
    let (mut entries, mut different_keys, mut lsn) = (Vec::new(), Vec::new(), Lsn::ZERO);
    for compared in pages {
        let relation = compared.cursor.relation();
        let page = &compared.page;
        entries.extend(page.entries.iter().map(|entry| (relation.clone(), *entry)));
        let different = compared.different.iter();
        different_keys.extend(different.map(|key| (relation.clone(), key.clone())));
        lsn = lsn.max(page.lsn);
    }
    let (token, shard) = (&shards.token, shards.downstream.name.as_str());
    epoch::begin(session, token).await?;
    compare::delete_dirty_entries(session, token, &entries, &different_keys, lsn).await?;
    epoch::commit(session, &format!("shard {shard}: deleting compared keys")).await
}

/// Compares dirty keys repeatedly while the migration has no other work, so that few are left for the cutover. Returns
/// when the step is cancelled, or at once if the current step needs no sweep.
pub(crate) async fn sweep_dirty_keys(context: &StepContext) {
    let may_sweep = match &context.dispatch.step {
        None | Some((_, StepKind::OpenReverse | StepKind::Hold | StepKind::HoldBack)) => true,
        Some(_) => false,
    };
    let Some(direction) = context
        .dispatch
        .stream
        .filter(|_| may_sweep && context.is_online())
    else {
        return;
    };
    while !context.cancel.is_cancelled() {
        let swept = tokio::select! {
            () = context.cancel.cancelled() => return,
            swept = sweep_until_error(context, direction) => swept,
        };
        if let Err(error) = swept {
            if error.is_superseded() {
                return;
            }
            tracing::debug!(%error, "dirty keys could not be compared yet");
        }
    }
}

async fn sweep_until_error(context: &StepContext, direction: Direction) -> Result<(), StepError> {
    // Most steps end before there are keys to compare, so no session is opened for them.
    tokio::time::sleep(SWEEP_PAUSE).await;
    let shards = StreamShards::of(context, direction)?;
    let upstream = shards.upstream.lookup_session("sweep").await?;
    let downstream = shards.downstream.lookup_session("sweep").await?;
    let log = shards.downstream.lookup_session("sweep").await?;
    let sessions = ComparisonSessions {
        upstream: &upstream,
        downstream: &downstream,
        log: &log,
    };
    loop {
        // Before the take-over is complete, a shard may still have the epoch of the agent before.
        let taken_over = context.session.taken_over.load(Ordering::Acquire);
        let status = context.session.stream_status();
        if taken_over && status.is_none_or(|status| status.lag_bytes <= MAX_SWEEP_LAG_BYTES) {
            shards
                .begin_reading(context, &upstream, &downstream)
                .await?;
            let (left, _) = compare_and_delete_equal(context, &shards, &sessions).await?;
            tokio::join!(epoch::rollback(&upstream), epoch::rollback(&downstream));
            tracing::debug!(left, "dirty keys were compared");
        }
        tokio::time::sleep(SWEEP_PAUSE).await;
    }
}
