//! Removes rows from a shard: those of released keys, and those that a copy wrote.

pub(crate) mod copied_rows;
pub(crate) mod delete_rows;
