//! The protocol of a move as eleven small models, which are explored exhaustively within bounds.
//!
//! Each model states invariants of docs/protocol.md as properties. Each also has mutants: the same model with one rule
//! changed. If a mutant violates no property, the model is too weak. README.md describes what the models contain and
//! what they omit.

mod cascades;
mod check;
mod control;
mod conversion;
mod copy;
mod cutover;
mod dependents;
mod failover;
mod lanes;
pub mod report;
mod reverse;
mod seeding;
mod whole_tables;

pub use check::ModelSize;
use report::Report;

/// Explores every model and every mutant on `threads` threads.
#[must_use]
pub fn run(size: ModelSize, threads: usize) -> Report {
    Report {
        checker: "stateright 0.31".to_owned(),
        models: vec![
            check::check::<copy::Copying>(size, threads),
            check::check::<cutover::Cutover>(size, threads),
            check::check::<control::Control>(size, threads),
            check::check::<reverse::Reverse>(size, threads),
            check::check::<lanes::Lanes>(size, threads),
            check::check::<cascades::Cascades>(size, threads),
            check::check::<seeding::Seeding>(size, threads),
            check::check::<failover::Failover>(size, threads),
            check::check::<whole_tables::WholeTables>(size, threads),
            check::check::<dependents::Dependents>(size, threads),
            check::check::<conversion::Conversion>(size, threads),
        ],
    }
}
