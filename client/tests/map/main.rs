//! Tests of the client library with a test server in place of the controller, most of them on real shards.

#![allow(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod controllers;
mod cutover;
mod fan_out;
mod map_server;
mod staleness;
