//! Keys that changed since the verification: compared again before the fence, and inside the window.
//!
//! A key is clean when the rows of both sides, read after its mark, are equal: a change that is not applied yet, or was
//! applied since, comes with a mark of its own. Keys that differ stay dirty; inside the window, when nothing moves any
//! more, a difference is real.
//!
//! Keys are read in pages: neither memory nor a statement grows with their number. [`sweep`] keeps that
//! number small while a migration waits for its approval, or holds.

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

/// Keys that are compared with one statement.
const KEYS_AT_ONCE: i64 = 2_000;
/// Tables whose pages are asked for at the same time: what is held at once.
const TABLES_AT_ONCE: usize = 32;
/// Between two sweeps.
const PAUSE: Duration = Duration::from_secs(5);
/// A stream that is so far behind is not swept after: its changes come first, and most keys would differ.
const FAR_BEHIND: i64 = 16 << 20;

/// The sessions of a comparison.
pub(crate) struct ComparisonSessions<'a> {
    /// Reads the owner's rows ([`StreamShards::begin_reading`]).
    pub(crate) origin: &'a Connected,
    /// Reads the copy's, and the log of keys: each statement by itself, so that the rows are no older than the keys.
    pub(crate) copy: &'a Connected,
    /// Beside the copy: forgets in transactions of its own what the log of keys has.
    pub(crate) log: &'a Connected,
}

/// Where the next page of a table's log lies: behind the first entry, up to the last. What is logged meanwhile has its
/// turn another time.
struct LogCursor<'a> {
    moving: MovingRows<'a>,
    between: (i64, i64),
}

/// A page of a table's log, with what the rows of its keys say.
struct ComparedPage<'a> {
    cursor: LogCursor<'a>,
    page: DirtyPage,
    /// Keys whose rows differ.
    different: Vec<String>,
}

/// Compares dirty keys while writes go on and forgets those that are equal; how many are left, and how many were
/// compared.
///
/// Its time decides how many keys change meanwhile, and so how many are left for the window: a page of each table is
/// asked for at once, and what is equal is forgotten in one transaction.
pub(crate) async fn recheck(
    context: &StepContext,
    sides: &StreamShards,
    both: &ComparisonSessions<'_>,
) -> Result<(usize, usize), StepError> {
    compare_all(context, sides, both, true).await
}

/// Compares no more than a page of each table, and forgets nothing: the sessions know the statements then.
pub(crate) async fn rehearse(
    context: &StepContext,
    sides: &StreamShards,
    both: &ComparisonSessions<'_>,
) -> Result<(), StepError> {
    dirty_tables(context, sides, both).await?;
    let tables = context.dispatch.tables.iter();
    let tables = tables.filter(|table| !table.is_reference());
    let mut cursors: Vec<LogCursor<'_>> = tables
        .map(|table| LogCursor {
            moving: MovingRows::new(table, &context.dispatch.keys),
            between: (0, i64::MAX),
        })
        .collect();
    while !cursors.is_empty() {
        next_pages(sides, both, &mut cursors).await?;
    }
    Ok(())
}

/// How many dirty keys differ while neither side changes, and how many were compared.
///
/// Its time grows with the keys that are dirty, not with the tables: two statements for each table that has
/// any, those of [`TABLES_AT_ONCE`] at the same time.
pub(crate) async fn differences(
    context: &StepContext,
    sides: &StreamShards,
    both: &ComparisonSessions<'_>,
) -> Result<(usize, usize), StepError> {
    compare_all(context, sides, both, false).await
}

/// Compares every dirty key, page by page; how many differ, and how many there were.
async fn compare_all(
    context: &StepContext,
    sides: &StreamShards,
    both: &ComparisonSessions<'_>,
    forgetting: bool,
) -> Result<(usize, usize), StepError> {
    let (mut different, mut compared) = (0, 0);
    let mut cursors = dirty_tables(context, sides, both).await?;
    while !cursors.is_empty() {
        let pages = next_pages(sides, both, &mut cursors).await?;
        if forgetting {
            forget(both.log, sides, &pages).await?;
        }
        for page in pages {
            different += page.different.len();
            compared += page.page.keys.len();
            cursors.extend(page.next());
        }
    }
    Ok((different, compared))
}

/// Takes some tables off the list and compares the next page of each, all at the same time.
async fn next_pages<'a>(
    sides: &StreamShards,
    both: &ComparisonSessions<'_>,
    cursors: &mut Vec<LogCursor<'a>>,
) -> Result<Vec<ComparedPage<'a>>, StepError> {
    let rest = cursors.len().saturating_sub(TABLES_AT_ONCE);
    let pages = cursors.split_off(rest).into_iter();
    try_join_all(pages.map(|cursor| compare(sides, both, cursor))).await
}

/// The tables of the move that have dirty keys, each before its first page.
async fn dirty_tables<'a>(
    context: &'a StepContext,
    sides: &StreamShards,
    both: &ComparisonSessions<'_>,
) -> Result<Vec<LogCursor<'a>>, StepError> {
    let dirty = compare::dirty_relations(both.copy, &sides.token).await?;
    let cursor = |(relation, last): (String, i64)| {
        let mut tables = context.dispatch.tables.iter();
        let table = tables.find(|table| table.table.to_string() == relation)?;
        Some(LogCursor {
            moving: MovingRows::new(table, &context.dispatch.keys),
            between: (0, last),
        })
    };
    Ok(dirty.into_iter().filter_map(cursor).collect())
}

/// Compares the next page of a table. The marks are read first, the rows of both sides afterwards.
async fn compare<'a>(
    sides: &StreamShards,
    both: &ComparisonSessions<'_>,
    cursor: LogCursor<'a>,
) -> Result<ComparedPage<'a>, StepError> {
    let origin = both.origin;
    let copy = both.copy;
    let (relation, moving) = (cursor.relation(), &cursor.moving);
    let (token, (after, last)) = (&sides.token, cursor.between);
    let page = compare::dirty_page(copy, token, &relation, after, last, KEYS_AT_ONCE);
    let page = page.await?;
    let keys: Vec<String> = page.keys.iter().cloned().collect();
    let (here, there) = tokio::try_join!(
        compare::hashes_by_key(origin, moving, &keys),
        compare::hashes_by_key(copy, moving, &keys)
    )?;
    let differs = |key: &String| here.get(key) != there.get(key);
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
    /// Where the next page begins, if there may be one.
    fn next(self) -> Option<LogCursor<'a>> {
        let after = *self
            .page
            .entries
            .last()
            .filter(|_| self.page.may_have_more)?;
        Some(LogCursor {
            between: (after, self.cursor.between.1),
            ..self.cursor
        })
    }
}

/// Forgets the keys of pages but for those that differ, in one transaction for all tables.
async fn forget(
    session: &Connected,
    sides: &StreamShards,
    pages: &[ComparedPage<'_>],
) -> Result<(), StepError> {
    let (mut entries, mut stay, mut lsn) = (Vec::new(), Vec::new(), Lsn::ZERO);
    for compared in pages {
        let relation = compared.cursor.relation();
        let page = &compared.page;
        entries.extend(page.entries.iter().map(|entry| (relation.clone(), *entry)));
        let different = compared.different.iter();
        stay.extend(different.map(|key| (relation.clone(), key.clone())));
        lsn = lsn.max(page.lsn);
    }
    let (token, shard) = (&sides.token, sides.destination.name.as_str());
    let side = session;
    epoch::begin(session, token).await?;
    compare::delete_dirty_entries(side, token, &entries, &stay, lsn).await?;
    epoch::commit(session, &format!("shard {shard}: forgetting compared keys")).await
}

/// Compares dirty keys again and again while nothing else is done for the migration, so that few are left
/// for the cutover; ends when it is dropped or cancelled.
pub(crate) async fn sweep(context: &StepContext) {
    let waits = match &context.dispatch.step {
        None | Some((_, StepKind::OpenReverse | StepKind::Hold | StepKind::HoldBack)) => true,
        Some(_) => false,
    };
    let Some(direction) = context
        .dispatch
        .stream
        .filter(|_| waits && context.is_online())
    else {
        return;
    };
    while !context.cancel.is_cancelled() {
        let swept = tokio::select! {
            () = context.cancel.cancelled() => return,
            swept = sweep_for_ever(context, direction) => swept,
        };
        if let Err(error) = swept {
            if error.is_superseded() {
                return;
            }
            tracing::debug!(%error, "changed keys could not be compared yet");
        }
    }
}

async fn sweep_for_ever(context: &StepContext, direction: Direction) -> Result<(), StepError> {
    // Most steps are over before there is anything to compare: no session is opened for them.
    tokio::time::sleep(PAUSE).await;
    let sides = StreamShards::of(context, direction)?;
    let origin = sides.origin.lookup_session("sweep").await?;
    let copy = sides.destination.lookup_session("sweep").await?;
    let log = sides.destination.lookup_session("sweep").await?;
    let both = ComparisonSessions {
        origin: &origin,
        copy: &copy,
        log: &log,
    };
    loop {
        // Until the take-over is complete a shard may still know the older epoch alone.
        let taken = context.session.taken_over.load(Ordering::Acquire);
        let status = context.session.stream_status();
        if taken && status.is_none_or(|status| status.lag_bytes <= FAR_BEHIND) {
            sides.begin_reading(context, &origin, &copy).await?;
            let (left, _) = recheck(context, &sides, &both).await?;
            tokio::join!(epoch::rollback(&origin), epoch::rollback(&copy));
            tracing::debug!(left, "changed keys were compared");
        }
        tokio::time::sleep(PAUSE).await;
    }
}
