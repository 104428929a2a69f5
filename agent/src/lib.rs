//! Executes the steps of a migration on the shards: one step at a time per migration.
//!
//! An agent asks the controller for work and only ever acts under the epoch that came with it.
//! It decides nothing: what is done next, and whether the map flips, is the controller's.

pub mod controller;
pub mod dual_write;
pub mod error;
pub(crate) mod eta;
pub(crate) mod inspect;
pub(crate) mod owned;
pub(crate) mod pace;
pub mod pg;
#[cfg(test)]
mod protocol_tests;
pub(crate) mod schema;
pub(crate) mod spool;
pub(crate) mod steps;
pub(crate) mod stream;
pub(crate) mod waits;
pub mod worker;
