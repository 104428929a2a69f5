//! The whole product on real servers: a live split that is killed, paused, aborted, failed, mended and rolled back.
//!
//! Most tests run the demo as a program and judge its report; `bad_input` and `checker` start servers of their own.

#![allow(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod bad_input;
mod checker;
mod kill;
mod orphan;
mod resume;
#[allow(dead_code, reason = "the suite of operations uses more of it")]
mod run;
mod seeding;
mod stall;
mod ways_back;
mod whole_tables;
