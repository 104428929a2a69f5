//! What the clients know: an append-only file with a line for each transaction and how it ended.
//!
//! The first line is the baseline, what the shards held before the workload began.
//! A line is written after the client has its answer, never before; only of an operation on a list the file knows
//! the call as well, from before it was made.

mod bank;
mod baseline;
mod history;
mod line;
mod writer;

pub use bank::{Balances, Transfer, TransferLeg};
pub use baseline::{Baseline, BaselineError, TableBase, base_digest_sql};
pub use history::{CallEvent, CallPhase, ListOperation, export, list_name};
pub use line::{
    LedgerLine, LedgerPhase, RowEffect, ServerCrash, TransactionEntry, TransactionOutcome,
};
pub use writer::{Ledger, Tally};
