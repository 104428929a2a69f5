//! The library beside a stand-in for the controller, most of it on real servers.

#![allow(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod controllers;
mod cutover;
mod fan_out;
mod map_server;
mod staleness;
