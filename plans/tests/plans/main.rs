//! Tests of the public interface: the examples and their plans, errors with positions, and properties.
#![allow(
    clippy::disallowed_methods,
    reason = "tests read the examples and the schema from files"
)]
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod balances;
mod examples;
mod fixture;
mod imports;
mod maps;
mod operations;
mod requests;
mod rules;
mod schema;
mod sealing;
mod seeding;
mod states;
mod whole_tables;
