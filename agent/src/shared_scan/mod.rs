//! Moves of one operation that read their source once.

pub(crate) mod calls;
pub(crate) mod participants;
