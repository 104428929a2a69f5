//! The order of lists, and their pagination.

use crate::store::Migration;
use chrono::{DateTime, Utc};
use plans::id::MigrationId;

/// The sort key of a migration: oldest first, and the moves of one operation in their order.
pub(super) fn sort_key(m: &Migration) -> (DateTime<Utc>, MigrationId, i32) {
    (m.created_at, m.operation.clone(), m.ordinal)
}

/// Returns the items after the item `after`, or nothing if no item has this id.
pub(super) fn after_cursor<T>(
    all: Vec<T>,
    limit: i64,
    after: Option<&MigrationId>,
    id: impl Fn(&T) -> &MigrationId,
) -> Vec<T> {
    let skip = match after {
        None => Some(0),
        Some(after) => all.iter().position(|one| id(one) == after).map(|at| at + 1),
    };
    let rows = all.into_iter().skip(skip.unwrap_or(usize::MAX));
    rows.take(usize::try_from(limit).unwrap_or_default())
        .collect()
}
