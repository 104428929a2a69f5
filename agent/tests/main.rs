//! The agent against real servers: one binary, a module for each subject.

mod replication;
mod replication_failures;
mod shard;
