//! The protocol of a move as six small models, explored exhaustively within bounds.
//!
//! Each model states invariants of docs/protocol.md as properties. Each also has mutants: the same
//! model with one rule bent. A mutant that breaks no property shows that the model is too weak.
//! README.md has the tables, and says what the models leave out.

mod cascades;
mod check;
mod control;
mod copy;
mod cutover;
mod lanes;
pub mod report;
mod reverse;

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
        ],
    }
}
