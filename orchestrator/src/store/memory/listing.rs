//! The order of lists, and their pages.

use crate::store::Migration;
use chrono::{DateTime, Utc};
use plans::id::MigrationId;

/// Oldest first, the moves of an operation in their order.
pub(super) fn sort_key(m: &Migration) -> (DateTime<Utc>, MigrationId, i32) {
    (m.created_at, m.operation.clone(), m.ordinal)
}

/// Those behind `after`, which is in its place; nothing where it is not there.
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
