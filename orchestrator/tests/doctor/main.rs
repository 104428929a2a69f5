//! The doctor on schemas that were not made for it: published applications, TPC-C, pgbench, the demo; and on many tables.
//!
//! What must be found, and whether it is right, stands in `judged/`: one file for each schema and way of moving it.
//! Absent: planted defects; those are with the code that finds them.

#![allow(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod cases;
#[allow(dead_code, reason = "the suite of operations uses more of it")]
#[path = "../e2e/operations/fleet.rs"]
mod fleet;
mod judged;
mod many;
#[allow(dead_code, reason = "the suites that run the demo use more of it")]
#[path = "../e2e/run.rs"]
mod run;
