//! The types of a migration: keys, shard maps, requests, plans, step graphs, states and wire messages.
//!
//! The crate is pure: it uses no clock, no randomness, no I/O and no async. The controller decides with these types,
//! agents act on them, and the client library routes with them. ARCHITECTURE.md describes the components.
//! docs/protocol.md defines the invariants I1 to I10 and the parts of a cutover, C1 to C11.

// clippy.toml of this crate lists the forbidden types and methods, with reasons.
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
pub mod speed;
pub mod sql;
pub mod state;
pub mod step;
pub mod survey;
pub mod table;
pub mod throttle;
pub mod wire;
