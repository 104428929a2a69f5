//! Compares what the clients recorded with the rows on the shards. It uses only SQL, the shard map and the ledger file,
//! and none of a migration's own counters.
//!
//! It reads the file, reads every shard, and compares. It also checks histories of lists for linearizability, and the
//! sums of the bank. During a hold, the old owner's rows are expected and must equal the new owner's. Run it when no
//! client writes, because it does not read all shards in one snapshot.

mod bank;
mod compare;
mod expected;
mod histories;
mod hold;
mod observed;
mod standby;

pub use bank::Bank;
pub use histories::{Histories, InvalidEvent, check_history};
pub use standby::StandbyWrites;

use crate::ledger::BaselineError;
use crate::shop::{KeyShape, ShopError};
use connect::Dsn;
use expected::ExpectedRows;
use observed::{ObservedRows, ReadScope};
use plans::id::ShardName;
use plans::key_set::KeySet;
use plans::shard_map::ShardMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The input of the checker.
#[derive(Debug, Clone)]
pub struct CheckInput {
    /// The current map.
    pub map: ShardMap,
    /// Every shard that has or may have rows, with a role that may read everything.
    pub shards: BTreeMap<ShardName, Dsn>,
    /// The ledger file.
    pub ledger: PathBuf,
    /// True during a hold: old owners have the same rows.
    pub hold: bool,
}

/// The result. These are 0 if there is no problem: `lost`, `duplicated`, `phantom`, `misplaced`, `wrong`, `diverged`,
/// `failed`, `histories.not_linearizable`, `bank.violations` and `standby.accepted`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CheckReport {
    /// The number of transactions whose commit was acknowledged to their client.
    pub acknowledged: u64,
    /// The number of these transactions with moving keys.
    pub acknowledged_on_moving_keys: u64,
    /// The number of transactions with moving keys, by the phase in which they began.
    pub by_phase: ByPhase,
    /// The number of transactions that may or may not exist: a crash may have lost their unflushed commit, or their
    /// client received no response.
    pub in_doubt: u64,
    /// The number of acknowledged transactions and initial rows that are missing on the owner.
    pub lost: u64,
    /// The number of transactions that are on the owner more than once.
    pub duplicated: u64,
    /// The number of rows on the owner that no acknowledged transaction wrote.
    pub phantom: u64,
    /// The number of rows on a shard that does not own their key.
    pub misplaced: u64,
    /// The number of transactions that failed after all retries of the client.
    pub failed: u64,
    /// The number of rows whose values do not agree with the acknowledged transactions.
    pub wrong: u64,
    /// The number of tables whose rows on an old owner differ from the new owner's during a hold.
    pub diverged: u64,
    /// The result for the histories of lists.
    #[serde(default)]
    pub histories: Histories,
    /// The result for the bank.
    #[serde(default)]
    pub bank: Bank,
    /// The result for the writes to a standby that becomes the target.
    #[serde(default)]
    pub standby: StandbyWrites,
}

/// Counts by phase.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ByPhase {
    /// Before the migration.
    pub before: u64,
    /// During the copy.
    pub copy: u64,
    /// From the end of the copy until the cutover was approved.
    pub catch_up: u64,
    /// During the cutover.
    pub cutover: u64,
    /// After the flip.
    pub after: u64,
}

impl CheckReport {
    /// Returns true if the checker found no problem.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let must_be_zero = [
            self.lost,
            self.duplicated,
            self.phantom,
            self.misplaced,
            self.failed,
            self.wrong,
            self.diverged,
            self.histories.not_linearizable,
            self.bank.violations,
            self.standby.accepted,
        ];
        must_be_zero.iter().all(|count| *count == 0)
    }
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The ledger file cannot be read.
    #[error("could not read the ledger {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: std::io::Error,
    },
    /// A line of the ledger file is malformed, or the file has no baseline.
    #[error("ledger {}, line {line}: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong with the line.
        reason: String,
    },
    /// The events of a history contradict each other.
    #[error("{}: {invalid}", path.display())]
    History {
        /// The file.
        path: PathBuf,
        /// The event and the reason.
        #[source]
        invalid: InvalidEvent,
    },
    /// The input lacks a shard that the map names.
    #[error("no connection string was given for shard {shard} of the map")]
    MissingShard {
        /// The shard.
        shard: ShardName,
    },
    /// A shard could not be opened.
    #[error(transparent)]
    Open(#[from] ShopError),
    /// A query failed.
    #[error("could not read table {table} of shard {shard}")]
    Query {
        /// The shard.
        shard: ShardName,
        /// The table.
        table: String,
        /// The error of the server.
        #[source]
        source: tokio_postgres::Error,
    },
    /// The baseline could not be read.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
}

/// Reads all tables of every shard once, and returns the result.
///
/// # Errors
/// [`CheckError`] if something cannot be read. A wrong row is never an error.
pub async fn check(input: &CheckInput) -> Result<CheckReport, CheckError> {
    let expected = ExpectedRows::read(&input.ledger)?;
    let shape = expected.baseline.shape;
    for mapping in &input.map.mappings {
        if !input.shards.contains_key(&mapping.shard) {
            return Err(CheckError::MissingShard {
                shard: mapping.shard.clone(),
            });
        }
    }
    let mut observed = ObservedRows::default();
    for (shard, dsn) in &input.shards {
        let owned = owned_by(&input.map, shard);
        let reader = observed::ShardReader::open(shard, dsn, shape).await?;
        let owned_condition = |table: &str| predicate(shape, &owned, table);
        let scope = ReadScope {
            shape,
            owns: !owned.is_empty(),
            hold: input.hold,
        };
        observed.read(&reader, &scope, &owned_condition).await?;
        reader.close().await;
    }
    let diverged = if input.hold {
        hold::count_diverged(&expected.baseline, &input.map, &input.shards).await?
    } else {
        0
    };
    let histories = histories::check(&expected.events, &observed.lists).map_err(|invalid| {
        let path = input.ledger.clone();
        CheckError::History { path, invalid }
    })?;
    Ok(CheckReport {
        diverged,
        histories,
        bank: bank::check(&expected, &observed),
        standby: expected.standby.clone(),
        ..compare::compare(expected, observed)
    })
}

/// Returns the key sets that a shard owns.
fn owned_by<'m>(map: &'m ShardMap, shard: &ShardName) -> Vec<&'m KeySet> {
    let mappings = map.mappings.iter().filter(|m| &m.shard == shard);
    mappings.map(|mapping| &mapping.keys).collect()
}

/// Returns an SQL condition that is true for rows of `table` (alias `t`) with keys in one of the sets.
fn predicate(shape: KeyShape, sets: &[&KeySet], table: &str) -> String {
    if sets.is_empty() {
        return "false".to_owned();
    }
    let parts: Vec<String> = sets.iter().map(|set| shape.predicate(set, table)).collect();
    format!("({})", parts.join(" or "))
}
