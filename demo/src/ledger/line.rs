//! The lines of the file, as JSON.

use super::{Balances, Baseline, CallEvent, Transfer};
use plans::id::ShardName;
use plans::key::Key;
use plans::key_set::KeySet;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerLine {
    /// What was there before; the first line.
    Baseline(Baseline),
    /// The keys that move, known better than when the file was begun.
    Moving(KeySet),
    /// A transaction.
    Entry(TransactionEntry),
    /// A call on a list, or its end.
    Event(CallEvent),
    /// A transfer of the bank.
    Transfer(Transfer),
    /// What a client read in the bank.
    Balances(Balances),
    /// A server was killed.
    Crash(ServerCrash),
}

/// Where the migration was when a transaction began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerPhase {
    /// Nothing was submitted.
    Before,
    /// From the submission to the end of the copy.
    Copy,
    /// Until the cutover is approved.
    CatchUp,
    /// Until the flip.
    Cutover,
    /// From the flip on.
    After,
}

impl LedgerPhase {
    /// All, in order.
    pub const ALL: [Self; 5] = [
        Self::Before,
        Self::Copy,
        Self::CatchUp,
        Self::Cutover,
        Self::After,
    ];

    /// The position in [`LedgerPhase::ALL`].
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

/// How a transaction ended, as its client knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransactionOutcome {
    /// Committed: it must be there, once.
    Acknowledged,
    /// Not known: it may be there, once.
    InDoubt,
    /// Taken back by intent: it must not be there.
    RolledBack,
    /// Given up after all retries: it must not be there.
    Failed,
}

/// What a transaction changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowEffect {
    /// An account's balance by `delta`, its `changes` by one.
    Account {
        /// The account.
        id: i64,
        /// What was added.
        delta: i64,
    },
    /// An event's `seen` by one.
    Touched {
        /// The event.
        id: i64,
    },
    /// A new order with this transaction's `op`.
    Ordered {
        /// Its items.
        items: i64,
    },
    /// The order of an earlier transaction is gone.
    Cancelled {
        /// The earlier transaction.
        op: i64,
    },
    /// A new event with this transaction's `op`.
    Logged,
}

/// A transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionEntry {
    /// Its number, unique in the run.
    pub op: i64,
    /// The shard key of its rows.
    pub key: Key,
    /// Its client.
    pub client: i32,
    /// When it began.
    pub phase: LedgerPhase,
    /// How it ended.
    pub outcome: TransactionOutcome,
    /// The shard of its last attempt, if any was made.
    pub shard: Option<ShardName>,
    /// Whether the acknowledgement waited for the disk.
    pub synchronous: bool,
    /// Crashes of that shard that were over when it began.
    pub since: u64,
    /// Crashes of that shard that had begun when it ended.
    pub until: u64,
    /// What it changed.
    pub effects: Vec<RowEffect>,
}

/// A server was killed; numbered from 1 for each shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerCrash {
    /// The shard.
    pub shard: ShardName,
    /// Its crashes so far, this one included.
    pub number: u64,
}
