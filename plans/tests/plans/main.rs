//! What this crate promises: examples and their plans, errors with a place, and properties.
#![allow(
    clippy::disallowed_methods,
    reason = "tests read the examples and the schema from files"
)]
#![allow(clippy::unwrap_used, reason = "what fails in a test may panic")]

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
mod states;
