//! The lines of the ledger file, as JSON.

use super::{AcceptedWrite, Balances, Baseline, CallEvent, RefusedWrites, Transfer};
use plans::id::ShardName;
use plans::key::Key;
use plans::key_set::KeySet;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One line of the ledger file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerLine {
    /// The rows on the shards before the workload. It is always the first line.
    Baseline(Baseline),
    /// The moving keys, once the plan has determined them. They replace those of the baseline.
    Moving(KeySet),
    /// A transaction with its outcome.
    Entry(TransactionEntry),
    /// The begin or the end of a call on a list.
    Event(CallEvent),
    /// A transfer of the bank workload.
    Transfer(Transfer),
    /// Balances that a client read in the bank workload.
    Balances(Balances),
    /// A kill of a server.
    Crash(ServerCrash),
    /// A write that a standby or promoted server accepted before it owned the key.
    AcceptedWrite(AcceptedWrite),
    /// The writes that a standby or promoted server refused.
    RefusedWrites(RefusedWrites),
}

/// The phase of the migration when a transaction began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerPhase {
    /// No migration was submitted yet.
    Before,
    /// From the submission to the end of the copy.
    Copy,
    /// From the end of the copy until the cutover is approved.
    CatchUp,
    /// From the approval to the flip.
    Cutover,
    /// After the flip.
    After,
}

impl LedgerPhase {
    /// All phases, in order.
    pub const ALL: [Self; 5] = [
        Self::Before,
        Self::Copy,
        Self::CatchUp,
        Self::Cutover,
        Self::After,
    ];

    /// Returns the position in [`LedgerPhase::ALL`].
    #[must_use]
    pub fn index(self) -> usize {
        match self {
            Self::Before => 0,
            Self::Copy => 1,
            Self::CatchUp => 2,
            Self::Cutover => 3,
            Self::After => 4,
        }
    }
}

impl fmt::Display for LedgerPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Before => "before",
            Self::Copy => "copy",
            Self::CatchUp => "catch up",
            Self::Cutover => "cutover",
            Self::After => "after",
        })
    }
}

/// The outcome of a transaction, as its client knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransactionOutcome {
    /// It was committed, and must exist exactly once.
    Acknowledged,
    /// The outcome is unknown. It may exist, at most once.
    InDoubt,
    /// The client rolled it back intentionally. It must not exist.
    RolledBack,
    /// The client gave up after all retries. It must not exist.
    Failed,
}

/// A change that a transaction made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowEffect {
    /// It added `delta` to an account's balance, and 1 to the account's `changes`.
    Account {
        /// The number of the account.
        id: i64,
        /// The amount that was added.
        delta: i64,
    },
    /// It added 1 to `seen` of a row in the table events.
    Touched {
        /// The number of the event.
        id: i64,
    },
    /// It created an order with this transaction's `op`.
    Ordered {
        /// The number of items.
        items: i64,
    },
    /// It deleted the order of an earlier transaction.
    Cancelled {
        /// The number of the earlier transaction.
        op: i64,
    },
    /// It created an event with this transaction's `op`.
    Logged,
}

/// A transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionEntry {
    /// The number of the transaction, unique in the run.
    pub op: i64,
    /// The shard key of its rows.
    pub key: Key,
    /// The number of the client.
    pub client: i32,
    /// The phase in which it began.
    pub phase: LedgerPhase,
    /// The outcome.
    pub outcome: TransactionOutcome,
    /// The shard of its last attempt, if there was one.
    pub shard: Option<ShardName>,
    /// True if the acknowledgement waited for the disk (`synchronous_commit`).
    pub synchronous: bool,
    /// The number of crashes of that shard that had ended when the transaction began.
    pub since: u64,
    /// The number of crashes of that shard that had begun when the transaction ended.
    pub until: u64,
    /// The changes that it made.
    pub effects: Vec<RowEffect>,
}

/// A kill of a shard's server. Kills are numbered from 1 for each shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerCrash {
    /// The shard.
    pub shard: ShardName,
    /// The number of crashes of this shard so far, including this one.
    pub number: u64,
}
