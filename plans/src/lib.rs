//! What a migration is: keys, shard maps, requests, plans, step graphs, states and wire messages.
//!
//! Everything here is pure: no clock, no randomness, no I/O, no async.
//! The orchestrator decides with these types, the agents act on them, the client library routes by them.
//! ARCHITECTURE.md has the drawing, docs/protocol.md the invariants I1 to I10 and the cutover C1 to C11.

// clippy.toml beside this crate says which types and methods these are, and why.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]
#![deny(clippy::as_conversions, clippy::print_stdout, clippy::print_stderr)]

pub mod doctor;
pub mod failure;
pub mod fix;
pub mod fleet;
pub mod graph;
pub mod id;
pub mod identity;
pub mod inspection;
pub mod key;
pub mod key_set;
pub mod names;
pub mod nearest;
pub mod plan;
pub mod planner;
pub mod rebalance;
pub mod render;
pub mod request;
pub mod shard_map;
pub mod sql;
pub mod state;
pub mod step;
pub mod survey;
pub mod table;
pub mod throttle;
pub mod wire;
