//! Reads databases that no fleet knows yet, and proposes a shard map for them.
//!
//! - `snapshot` reads each shard's catalog, in one read-only transaction that all later reads of the shard use too.
//! - `domain` groups columns that hold the same values, and `key` selects the group that is the shard key.
//! - `sort` decides for each table whether it is sharded, a reference table, or not part of the map.
//! - `extent` reads which keys each shard has, and `assign` makes mappings from them.
//!
//! The modules that decide have no I/O, and return reasons. The crate writes nothing and uses neither a controller nor
//! agents. The checks of `shardwright doctor` follow later.

mod assign;
mod digest;
mod domain;
mod error;
mod extent;
mod facts;
mod key;
mod propose;
mod snapshot;
mod sort;

pub use error::{DiscoverError, NoMap};
pub use key::KeyCandidate;
pub use propose::{Proposal, ProposalRequest, propose};
