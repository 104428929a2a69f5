//! What the clients know: an append-only file with a line for each transaction and how it ended.
//!
//! The first line is the baseline, what the shards held before the workload began.
//! A line is written after the client has its answer, never before.

mod baseline;
mod line;
mod writer;

pub use baseline::{Baseline, BaselineError, TableBase, base_digest_sql};
pub use line::{Crash, Effect, Entry, Line, Outcome, Phase};
pub use writer::{Ledger, Tally};
