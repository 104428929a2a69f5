//! The ledger: an append-only file in which clients record each transaction and its outcome.
//!
//! The first line is the baseline, the rows on the shards before the workload. A client writes a line only after it has
//! received the outcome. For calls on lists it also writes a line before the call.

mod bank;
mod baseline;
mod history;
mod line;
mod standby;
mod writer;

pub use bank::{Balances, Transfer, TransferLeg};
pub use baseline::{Baseline, BaselineError, TableBase, base_digest_sql};
pub use history::{CallEvent, CallPhase, ListOperation, export, list_name};
pub use line::{
    LedgerLine, LedgerPhase, RowEffect, ServerCrash, TransactionEntry, TransactionOutcome,
};
pub use standby::{AcceptedWrite, RefusedWrites};
pub use writer::{Ledger, Tally};
