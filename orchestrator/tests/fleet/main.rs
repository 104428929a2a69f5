//! Servers that were restored from old copies, and stores that were lost: detected, closed, mended, swept.
//!
//! Real servers, a real controller and agent, and the command line; one test at a time, since each has three servers.

#![allow(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod applications;
mod cascades;
mod cleanup;
mod exchanged;
mod failover;
mod logs;
mod pooler;
mod restored_shard;
mod restored_store;
mod stage;
mod standbys;
mod throttle;
