//! Looks at databases that no fleet knows yet, and proposes a shard map for them.
//!
//! Order: `look` reads each shard's catalog, `domain` finds columns that hold the same
//! values, `key` weighs which of these are the key, `sort` says of each table what it is,
//! `extent` reads which keys lie where, `assign` makes mappings of that. All looks at a shard are one read-only
//! transaction; what decides is pure and says its reasons.
//! Absent: writing anything, a controller, agents, the checks of `shardwright doctor`, which come afterwards.

mod assign;
mod digest;
mod domain;
mod error;
mod extent;
mod facts;
mod key;
mod look;
mod propose;
mod sort;

pub use error::{DiscoverError, NoMap};
pub use key::KeyCandidate;
pub use propose::{Proposal, ProposalRequest, propose};
