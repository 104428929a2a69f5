//! Executes the steps of migrations on the shards: one step at a time for each migration.
//!
//! An agent claims work from the controller, and acts only under the epoch that came with the work. It decides nothing:
//! the controller decides the next step, and whether the map flips.

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
pub mod standby;
#[cfg(test)]
mod step_code_tests;
pub(crate) mod steps;
pub mod stream;
pub(crate) mod throttle;
pub mod worker;
