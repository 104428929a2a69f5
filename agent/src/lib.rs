//! Executes the steps of a migration on the shards: one step at a time per migration.
//!
//! An agent asks the controller for work and only ever acts under the epoch that came with it.
//! It decides nothing: what is done next, and whether the map flips, is the controller's.

pub(crate) mod cleanup;
pub(crate) mod compare;
pub mod controller;
pub mod error;
pub(crate) mod eta;
pub(crate) mod inspect;
pub(crate) mod migration;
pub mod postgres;
#[cfg(test)]
mod protocol_tests;
pub(crate) mod schema;
pub(crate) mod shard;
pub(crate) mod shared_scan;
pub(crate) mod spool;
pub(crate) mod steps;
pub mod stream;
pub(crate) mod throttle;
pub mod worker;
