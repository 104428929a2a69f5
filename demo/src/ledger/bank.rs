//! The ledger lines of the bank workload: transfers with their outcomes, and balances that clients read.

use super::TransactionOutcome;
use plans::key::Key;
use serde::{Deserialize, Serialize};

/// A transfer. Its legs are written in the transaction that changes the accounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    /// The number of the transfer, unique in the run.
    pub id: i64,
    /// The outcome. A commit with an unknown outcome is repeated; existing legs prevent a second execution.
    pub outcome: TransactionOutcome,
    /// The account from which money is taken, and the account to which it is added.
    pub legs: [TransferLeg; 2],
}

/// One side of a transfer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferLeg {
    /// The shard key of the account.
    pub key: Key,
    /// The number of the account.
    pub account: i32,
    /// The amount that is added to the account.
    pub delta: i64,
}

/// One snapshot of a tenant's accounts that have transfers only among themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balances {
    /// The tenant.
    pub key: Key,
    /// The balance of each account, ordered by number.
    pub balances: Vec<i64>,
}
