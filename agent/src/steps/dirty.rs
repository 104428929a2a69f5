//! Keys that changed since the verification: compared again before the fence, and inside the window.
//!
//! A key is clean when the destination's row, as one statement sees it together with the key's mark,
//! equals the origin's row read afterwards: a change that is not applied yet comes with a newer mark.
//! Keys that differ stay dirty; inside the window, when nothing moves any more, a difference is real.
//!
//! Keys are read in pages: neither memory nor a statement grows with their number. [`sweep`] keeps that
//! number small while a migration waits for its approval, or holds.

use std::sync::atomic::Ordering;
use std::time::Duration;

use connect::Connected;
use futures::future::try_join_all;
use plans::names::Direction;
use plans::step::StepKind;
use tokio_postgres::Client;

use super::verify::Sides;
use crate::error::{At, StepError};
use crate::owned::Context;
use crate::pg::compare::{self, DirtyRow, Moving, Side};
use crate::pg::epoch;

/// Keys that are compared with one statement.
const KEYS_AT_ONCE: i64 = 2_000;
/// Tables whose pages are asked for at the same time: what is held at once.
const TABLES_AT_ONCE: usize = 32;
/// Between two sweeps.
const PAUSE: Duration = Duration::from_secs(5);

/// The sessions of a comparison.
pub(crate) struct Both<'a> {
    pub(crate) origin: &'a Connected,
    pub(crate) destination: &'a Connected,
}

/// A table and the dirty key behind which its next page begins; at first the empty text.
type Cursor<'a> = (Moving<'a>, String);

/// What one page of each of some tables says.
#[derive(Default)]
struct Compared<'a> {
    /// Relations and keys whose rows are equal.
    clean: Vec<(String, DirtyRow)>,
    /// How many keys differ.
    different: usize,
    /// Tables that may have more.
    more: Vec<Cursor<'a>>,
}

/// Compares dirty keys while writes go on and forgets those that are equal; how many are left, and how many were
/// compared.
///
/// Its time decides how many keys change meanwhile, and so how many are left for the window: a page of each table is
/// asked for at once, and what is equal is forgotten in one transaction.
pub(crate) async fn recheck(
    context: &Context,
    sides: &Sides,
    both: &Both<'_>,
) -> Result<(usize, usize), StepError> {
    compare_all(context, sides, both, true).await
}

/// Compares no more than a page of each table, and forgets nothing: the sessions know the statements then.
pub(crate) async fn rehearse(
    context: &Context,
    sides: &Sides,
    both: &Both<'_>,
) -> Result<(), StepError> {
    dirty_tables(context, sides, both).await?;
    let tables = context.dispatch.tables.iter();
    let tables = tables.filter(|table| !table.is_reference());
    let mut cursors: Vec<Cursor<'_>> = tables
        .map(|table| (Moving::new(table, &context.dispatch.keys), String::new()))
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
    context: &Context,
    sides: &Sides,
    both: &Both<'_>,
) -> Result<(usize, usize), StepError> {
    compare_all(context, sides, both, false).await
}

/// Compares every dirty key, page by page; how many differ, and how many there were.
async fn compare_all(
    context: &Context,
    sides: &Sides,
    both: &Both<'_>,
    forgetting: bool,
) -> Result<(usize, usize), StepError> {
    let (mut different, mut compared) = (0, 0);
    let mut cursors = dirty_tables(context, sides, both).await?;
    while !cursors.is_empty() {
        let pages = next_pages(sides, both, &mut cursors).await?;
        different += pages.different;
        compared += pages.different + pages.clean.len();
        if forgetting {
            forget(both.destination, sides, &pages.clean).await?;
        }
        cursors.extend(pages.more);
    }
    Ok((different, compared))
}

/// Takes some tables off the list and compares the next page of each, all at the same time.
async fn next_pages<'a>(
    sides: &Sides,
    both: &Both<'_>,
    cursors: &mut Vec<Cursor<'a>>,
) -> Result<Compared<'a>, StepError> {
    let rest = cursors.len().saturating_sub(TABLES_AT_ONCE);
    let pages = cursors.split_off(rest).into_iter();
    let pages = pages.map(|(moving, after)| async move {
        let page = page(sides, both, &moving, &after).await?;
        let (clean, different) = judge(sides, both, &moving, &page).await?;
        Ok::<_, StepError>((last_of_full(&page), moving, clean, different.len()))
    });
    let mut all = Compared::default();
    for (more, moving, clean, different) in try_join_all(pages).await? {
        let relation = moving.table.table.to_string();
        let clean = clean.into_iter().map(|row| (relation.clone(), row));
        all.clean.extend(clean);
        all.different += different;
        all.more.extend(more.map(|after| (moving, after)));
    }
    Ok(all)
}

/// The tables of the move that have dirty keys, each before its first page.
async fn dirty_tables<'a>(
    context: &'a Context,
    sides: &Sides,
    both: &Both<'_>,
) -> Result<Vec<Cursor<'a>>, StepError> {
    let shard = sides.destination.name.as_str();
    let dirty = compare::dirty_relations(both.destination, &sides.token, shard).await?;
    let tables = context.dispatch.tables.iter();
    Ok(tables
        .filter(|table| dirty.contains(&table.table.to_string()))
        .map(|table| (Moving::new(table, &context.dispatch.keys), String::new()))
        .collect())
}

/// Where the next page begins, if there may be one.
fn last_of_full(page: &[DirtyRow]) -> Option<String> {
    let full = i64::try_from(page.len()).is_ok_and(|rows| rows >= KEYS_AT_ONCE);
    page.last().filter(|_| full).map(|row| row.key.clone())
}

/// The next dirty keys behind `after` with the destination's rows.
async fn page(
    sides: &Sides,
    both: &Both<'_>,
    moving: &Moving<'_>,
    after: &str,
) -> Result<Vec<DirtyRow>, StepError> {
    let destination = Side {
        client: both.destination,
        shard: &sides.destination.name,
    };
    compare::rows_of_dirty(destination, &sides.token, moving, after, KEYS_AT_ONCE).await
}

/// Those whose rows are equal on the origin, and the others.
async fn judge(
    sides: &Sides,
    both: &Both<'_>,
    moving: &Moving<'_>,
    page: &[DirtyRow],
) -> Result<(Vec<DirtyRow>, Vec<DirtyRow>), StepError> {
    let origin = Side {
        client: both.origin,
        shard: &sides.origin.name,
    };
    let keys: Vec<String> = page.iter().map(|row| row.key.clone()).collect();
    let here = compare::keyed_rows(origin, moving, &keys).await?;
    let equal = |row: &DirtyRow| here.get(&row.key) == row.hash.as_ref();
    Ok(page.iter().cloned().partition(equal))
}

/// Forgets keys, unless they were changed again meanwhile; keys that apply is marking now are skipped.
async fn forget(
    session: &Client,
    sides: &Sides,
    keys: &[(String, DirtyRow)],
) -> Result<(), StepError> {
    if keys.is_empty() {
        return Ok(());
    }
    let shard = sides.destination.name.as_str();
    let what = format!("shard {shard}: forgetting compared keys");
    let relations: Vec<&str> = keys.iter().map(|(relation, _)| relation.as_str()).collect();
    let texts: Vec<&str> = keys.iter().map(|(_, row)| row.key.as_str()).collect();
    let marks: Vec<_> = keys.iter().map(|(_, row)| row.lsn).collect();
    epoch::begin(session, &sides.token, shard).await?;
    session
        .execute(
            "delete from shardwright.dirty where ctid = any (array(
                 select d.ctid from shardwright.dirty d
                 join unnest($2::text[], $3::text[], $4::pg_lsn[]) as seen (relation, key, lsn)
                   on d.relation = seen.relation and d.lsn = seen.lsn
                   and d.digest = pg_catalog.sha256(pg_catalog.convert_to(seen.key, 'UTF8'))
                 where d.migration = $1
                 for update of d skip locked))",
            &[&sides.token.migration.0, &relations, &texts, &marks],
        )
        .await
        .at(&what)?;
    epoch::commit(session, &what).await
}

/// Compares dirty keys again and again while nothing else is done for the migration, so that few are left
/// for the cutover; ends when it is dropped or cancelled.
pub(crate) async fn sweep(context: &Context) {
    let waits = match &context.dispatch.step {
        None | Some((_, StepKind::OpenReverse | StepKind::Hold | StepKind::HoldBack)) => true,
        Some(_) => false,
    };
    let Some(direction) = context
        .dispatch
        .stream
        .filter(|_| waits && context.online())
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
        tokio::time::sleep(PAUSE).await;
    }
}

async fn sweep_for_ever(context: &Context, direction: Direction) -> Result<(), StepError> {
    let sides = Sides::of(context, direction)?;
    let origin = sides.origin.session("sweep").await?;
    let destination = sides.destination.session("sweep").await?;
    let both = Both {
        origin: &origin,
        destination: &destination,
    };
    loop {
        tokio::time::sleep(PAUSE).await;
        // Until the take-over is complete a shard may still know the older epoch alone.
        if !context.owned.taken.load(Ordering::Acquire) {
            continue;
        }
        let (left, _) = recheck(context, &sides, &both).await?;
        tracing::debug!(left, "changed keys were compared");
    }
}
