//! Tests of the mechanisms of a move on real PostgreSQL servers.
//!
//! Most mechanisms have a negative control: a test of the simpler variant that the mechanism replaces. It shows that
//! the simpler variant loses or duplicates data under the same schedule. docs/protocol.md defines R1 to R27 (scenarios)
//! and E7 (a fact found by experiment).

#[allow(dead_code, reason = "the tests of connections use more of it")]
#[path = "../../crates/connect/tests/protected/authority.rs"]
mod authority;
#[path = "../tests/shard.rs"]
mod shard;

mod abort;
mod ahead;
mod apply;
mod away;
mod bench;
mod brought;
mod cascades;
mod catalog_writer;
mod check;
mod compact;
mod compare;
mod confirmed;
mod controls;
mod conversion;
mod copies;
mod cutover;
mod database;
mod ddl;
mod dependents;
mod doctor;
mod drop_old;
mod drop_surplus;
mod dual_write;
mod durability;
mod ended_fence;
mod epoch;
mod follow;
mod frozen;
mod guard;
mod holders;
mod identity;
mod interrupted;
mod lanes;
mod large;
mod load;
mod long_writers;
mod looked_at;
mod lookups;
mod names;
mod new_partitions;
mod new_tables;
mod older_tables;
mod park;
mod partitions;
mod pieces;
mod publication;
mod receivers;
mod recovery;
mod register;
mod resync;
mod reverse;
mod schema;
mod schema_compare;
mod schema_scope;
mod seeding;
mod sets;
mod settings;
mod snapshots;
mod spool;
mod standbys;
mod strain;
mod survey;
mod survey_crossings;
mod survey_dependents;
mod survey_estimates;
mod survey_identity;
mod survey_live;
mod survey_trial;
mod together;
mod units;
mod user_code;
mod verify;
mod versions;
mod wait_out;
mod waits;
mod ways_back;
mod wide;
