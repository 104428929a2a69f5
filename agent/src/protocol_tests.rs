//! The mechanisms of a move against real servers, each with the naive variant that it replaces.
//!
//! A negative control shows that the naive variant misbehaves under the very schedule that the rule
//! survives. The numbers R1 to R23 and E7 are those of ARCHITECTURE.md.

#[path = "../tests/shard.rs"]
mod shard;

mod apply;
mod away;
mod bench;
mod brought;
mod check;
mod compare;
mod controls;
mod cutover;
mod ddl;
mod dual_write;
mod durability;
mod epoch;
mod guard;
mod holders;
mod interrupted;
mod load;
mod long_writers;
mod park;
mod recovery;
mod register;
mod reverse;
mod schema;
mod snapshots;
mod spool;
mod standbys;
mod survey;
mod survey_live;
mod units;
mod verify;
mod wait_out;
mod ways_back;
