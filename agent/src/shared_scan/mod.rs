//! Shared scans: moves of one operation that read their common source together.

pub(crate) mod calls;
pub(crate) mod participants;
