//! The bank's lines: transfers and how they ended, and what was read meanwhile.

use super::TransactionOutcome;
use plans::key::Key;
use serde::{Deserialize, Serialize};

/// A transfer; its legs are written in the transaction that changes the accounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    /// Its number, unique in the run.
    pub id: i64,
    /// How it ended. A commit whose end is unknown is run again: the legs that are there keep it from being done twice.
    pub outcome: TransactionOutcome,
    /// What it takes and what it gives.
    pub legs: [TransferLeg; 2],
}

/// One side of a transfer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferLeg {
    /// The shard key of the account.
    pub key: Key,
    /// The account.
    pub account: i32,
    /// What is added to it.
    pub delta: i64,
}

/// What one snapshot showed of a tenant's accounts that have transfers among themselves only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balances {
    /// The tenant.
    pub key: Key,
    /// What each account held, by number.
    pub balances: Vec<i64>,
}
