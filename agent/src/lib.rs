//! Executes the steps of a migration on the shards.

pub mod pg;
