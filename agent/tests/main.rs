//! The agent against real servers: one binary, a module for each subject.

#[allow(dead_code, reason = "the tests of connections use more of it")]
#[path = "../../crates/connect/tests/protected/authority.rs"]
mod authority;
mod protected;
mod replication;
mod replication_backlog;
mod replication_failures;
#[allow(dead_code, reason = "the tests of the protocol use more of it")]
mod shard;
