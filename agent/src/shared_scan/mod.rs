//! Moves of one operation that read their source together, by one shared scan.

pub(crate) mod calls;
pub(crate) mod participants;
