//! The log of dirty keys on the downstream shard, read in pages.
//!
//! An entry is written in the transaction of its changes, and never changed. A caller that reads a page, and then the
//! rows of its keys, may delete the page's entries: each later change adds a new entry.

use std::collections::BTreeSet;

use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;
use crate::shard::apply_progress;
use crate::shard::epoch::EpochToken;
use connect::Connected;

/// Consecutive entries of one relation.
#[derive(Debug, Default)]
pub(crate) struct DirtyPage {
    pub(crate) entries: Vec<i64>,
    /// The keys of the entries, without duplicates.
    pub(crate) keys: BTreeSet<String>,
    /// The position of the newest commit among the entries.
    pub(crate) lsn: Lsn,
    /// Whether there may be more entries after this page.
    pub(crate) may_have_more: bool,
}

/// Returns the relations that have dirty keys, each with its last entry.
pub(crate) async fn dirty_relations(
    client: &Connected,
    token: &EpochToken,
) -> Result<Vec<(String, i64)>, StepError> {
    let shard = client.name();
    // Two index lookups for each relation, however many entries it has.
    let rows = client
        .query_prepared(
            "with recursive dirty (relation) as (
               (select relation from shardwright.dirty where migration = $1 order by relation limit 1)
               union all
               select (select d.relation from shardwright.dirty d
                       where d.migration = $1 and d.relation > dirty.relation order by d.relation limit 1)
               from dirty where dirty.relation is not null)
             select relation, (select d.id from shardwright.dirty d
                               where d.migration = $1 and d.relation = dirty.relation order by d.id desc limit 1)
             from dirty where relation is not null",
            &[&token.migration.0],
        )
        .await
        .at(format_args!("shard {shard}: reading dirty keys"))?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Reads the entries of a relation after the entry `after` and up to the entry `last`, with about `limit` keys. An
/// entry is never divided between two pages.
pub(crate) async fn dirty_page(
    session: &Connected,
    token: &EpochToken,
    relation: &str,
    after: i64,
    last: i64,
    limit: i64,
) -> Result<DirtyPage, StepError> {
    let rows = session
        .query_prepared(
            "select id, lsn, keys from (
               select id, lsn, keys, pg_catalog.sum(size) over (order by id) - size as before
               from (select id, lsn, keys, size from shardwright.dirty
                     where migration = $1 and relation = $2 and id > $3 and id <= $4
                     order by id limit $5) entry
             ) entry where before < $5",
            &[&token.migration.0, &relation, &after, &last, &limit],
        )
        .await
        .at(format_args!(
            "shard {}: reading dirty keys of {relation}",
            session.name()
        ))?;
    let mut page = DirtyPage::default();
    let mut key_count = 0;
    for row in &rows {
        page.entries.push(row.get(0));
        page.lsn = page.lsn.max(row.get(1));
        let keys: Vec<String> = row.get(2);
        key_count += keys.len();
        page.keys.extend(keys);
    }
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    page.may_have_more = key_count >= limit || rows.len() >= limit;
    Ok(page)
}

/// Deletes these entries, given by relation and number, inside the caller's transaction. Marks the keys `still_dirty`,
/// given by relation and key, as dirty again, with the position `lsn`. None of these keys has changed after `lsn`.
pub(crate) async fn delete_dirty_entries(
    session: &Connected,
    token: &EpochToken,
    entries: &[(String, i64)],
    still_dirty: &[(String, String)],
    lsn: Lsn,
) -> Result<(), StepError> {
    let (relations, numbers): (Vec<&str>, Vec<i64>) = entries
        .iter()
        .map(|(relation, number)| (relation.as_str(), number))
        .unzip();
    session
        .query_prepared(
            "delete from shardwright.dirty d
             using unnest($2::text[], $3::bigint[]) as seen (relation, id)
             where d.migration = $1 and d.relation = seen.relation and d.id = seen.id",
            &[&token.migration.0, &relations, &numbers],
        )
        .await
        .at(format_args!(
            "shard {}: deleting the entries of compared keys",
            session.name()
        ))?;
    if still_dirty.is_empty() {
        return Ok(());
    }
    apply_progress::mark_dirty(session, token, still_dirty, lsn).await
}
