//! Compares what the clients know with what the shards hold: by SQL, the shard map and the ledger file alone.
//!
//! Order: read the file, read every shard, compare. Nothing of a migration's own counters is used.
//! Beside the rows, histories of lists are judged for linearizability and the bank's money is counted.
//! While a migration holds, the former owner's rows are expected and must equal the owner's.
//! Run it when no client writes: it does not take one snapshot over all shards.

mod bank;
mod compare;
mod expected;
mod held;
mod histories;
mod observed;

pub use bank::Bank;
pub use histories::{Histories, Misfit, check_history};

use crate::ledger::BaselineError;
use crate::shop::KeyShape;
use connect::{ConnectError, Dsn};
use expected::ExpectedRows;
use observed::{ObservedRows, ReadScope};
use plans::id::ShardName;
use plans::key_set::KeySet;
use plans::shard_map::ShardMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What to compare.
#[derive(Debug, Clone)]
pub struct CheckInput {
    /// The map as it is now.
    pub map: ShardMap,
    /// Every shard that holds, or may hold, rows; by a role that may read everything.
    pub shards: BTreeMap<ShardName, Dsn>,
    /// The ledger file.
    pub ledger: PathBuf,
    /// True while a migration holds: former owners keep equal rows.
    pub hold: bool,
}

/// The verdict. All of `lost`, `duplicated`, `phantom`, `misplaced`, `wrong`, `diverged`, `failed`,
/// `histories.not_linearizable` and `bank.violations` are 0 when nothing is amiss.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CheckReport {
    /// Transactions that a client holds to be committed.
    pub acknowledged: u64,
    /// Those of them on keys that move.
    pub acknowledged_on_moving_keys: u64,
    /// Those on keys that move, by the phase in which they began.
    pub by_phase: ByPhase,
    /// Transactions that may be there or not: a crash took unflushed acknowledgements, or nobody answered.
    pub in_doubt: u64,
    /// Acknowledged transactions, and first rows, that are not on the owner.
    pub lost: u64,
    /// Transactions that are on the owner more than once.
    pub duplicated: u64,
    /// Rows on the owner that no acknowledged transaction put there.
    pub phantom: u64,
    /// Rows on a shard that does not own their key.
    pub misplaced: u64,
    /// Transactions that failed after all of the client's retries.
    pub failed: u64,
    /// Rows whose values are not what the acknowledged transactions add up to.
    pub wrong: u64,
    /// Tables whose rows on a former owner differ from the owner's, while a migration holds.
    pub diverged: u64,
    /// The histories of lists.
    #[serde(default)]
    pub histories: Histories,
    /// The bank.
    #[serde(default)]
    pub bank: Bank,
}

/// Counts by phase.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ByPhase {
    /// Before the migration.
    pub before: u64,
    /// During the copy.
    pub copy: u64,
    /// Until the cutover was approved.
    pub catch_up: u64,
    /// Begun during the cutover.
    pub cutover: u64,
    /// After the flip.
    pub after: u64,
}

impl CheckReport {
    /// True when nothing is amiss.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let amiss = [
            self.lost,
            self.duplicated,
            self.phantom,
            self.misplaced,
            self.failed,
            self.wrong,
            self.diverged,
            self.histories.not_linearizable,
            self.bank.violations,
        ];
        amiss.iter().all(|count| *count == 0)
    }
}

/// Why there is no verdict.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The ledger file cannot be read.
    #[error("could not read the ledger {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A line of the ledger file is malformed, or it has no baseline.
    #[error("ledger {}, line {line}: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A history is none.
    #[error("{}: {misfit}", path.display())]
    History {
        /// The file.
        path: PathBuf,
        /// Where, and why.
        #[source]
        misfit: Misfit,
    },
    /// The map names a shard that was not given.
    #[error("no connection string was given for shard {shard} of the map")]
    MissingShard {
        /// The shard.
        shard: ShardName,
    },
    /// No connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A query failed.
    #[error("could not read {what} of shard {shard}")]
    Query {
        /// The shard.
        shard: ShardName,
        /// What was read.
        what: String,
        /// The server's words.
        #[source]
        source: tokio_postgres::Error,
    },
    /// The baseline could not be read.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
}

/// Reads everything and gives the verdict. Scans every table once on every shard.
///
/// # Errors
/// [`CheckError`] when something cannot be read; a deviation is never an error.
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
        let reader = observed::ShardReader::open(shard, dsn).await?;
        let mine = |table: &str| predicate(shape, &owned, table);
        let scope = ReadScope {
            shape,
            owns: !owned.is_empty(),
            hold: input.hold,
        };
        observed.read(&reader, &scope, &mine).await?;
        reader.close().await;
    }
    let diverged = if input.hold {
        held::diverged(&expected.baseline, &input.map, &input.shards).await?
    } else {
        0
    };
    let histories = histories::check(&expected.events, &observed.lists).map_err(|misfit| {
        let path = input.ledger.clone();
        CheckError::History { path, misfit }
    })?;
    Ok(CheckReport {
        diverged,
        histories,
        bank: bank::check(&expected, &observed),
        ..compare::compare(expected, observed)
    })
}

/// The keys of a shard.
fn owned_by<'m>(map: &'m ShardMap, shard: &ShardName) -> Vec<&'m KeySet> {
    let mappings = map.mappings.iter().filter(|m| &m.shard == shard);
    mappings.map(|mapping| &mapping.keys).collect()
}

/// SQL that is true for rows of `table` (alias `t`) with keys in one of the sets.
fn predicate(shape: KeyShape, sets: &[&KeySet], table: &str) -> String {
    if sets.is_empty() {
        return "false".to_owned();
    }
    let parts: Vec<String> = sets.iter().map(|set| shape.predicate(set, table)).collect();
    format!("({})", parts.join(" or "))
}
