//! The moves of an operation, and the effect on the balance.

use plans::id::ShardName;
use plans::plan::PlannedMove;
use plans::request::Measure;
use plans::state::migration::MigrationState;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MovedKeys {
    /// The id of the migration.
    pub id: String,
    /// The source of the move.
    pub source: ShardName,
    /// The target of the move.
    pub target: ShardName,
    /// The moving keys as text.
    pub keys: String,
    /// The final state of the migration.
    pub state: String,
    /// The number of copied rows.
    pub rows: i64,
    /// The write-blocked window in milliseconds.
    pub window_ms: f64,
}

impl MovedKeys {
    /// Creates the entry of a move that was submitted.
    pub(crate) fn new(id: &str, planned: &PlannedMove) -> Self {
        let moving = &planned.moving;
        Self {
            id: id.to_owned(),
            source: moving.source.clone(),
            target: moving.target.clone(),
            keys: moving.keys.to_string(),
            state: MigrationState::Planned.to_string(),
            rows: 0,
            window_ms: 0.0,
        }
    }

    pub(super) fn text(&self) -> String {
        format!(
            "Move         {}: {} from shard {} to shard {}, {} rows, writes blocked for {:.0} ms, {}.",
            self.id, self.keys, self.source, self.target, self.rows, self.window_ms, self.state
        )
    }
}

/// The load of each shard before and after the operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadBalance {
    /// The measure: rows according to the checker's own queries, or acknowledged transactions by the owner of the key.
    pub by: Measure,
    /// By how many percent a shard may exceed its fair share.
    pub threshold_percent: u32,
    /// The load at the beginning.
    pub before: BTreeMap<ShardName, u64>,
    /// The load at the end.
    pub after: BTreeMap<ShardName, u64>,
}

impl LoadBalance {
    /// Returns the load of the heaviest shard, in percent of the fair share.
    #[must_use]
    pub fn heaviest_percent(loads: &BTreeMap<ShardName, u64>) -> u64 {
        let total: u64 = loads.values().sum();
        let shards = u64::try_from(loads.len()).unwrap_or(1);
        let heaviest = loads.values().max().copied().unwrap_or_default();
        (heaviest * shards * 100).checked_div(total).unwrap_or(100)
    }

    /// Returns the permitted load of the heaviest shard, in percent of the fair share. Transactions are a sample of the
    /// load: three standard deviations of such a share are added to the threshold, so that few transactions, on a busy
    /// machine, do not look like a wrong plan.
    #[must_use]
    pub fn permitted_percent(&self) -> u64 {
        let threshold = 100 + u64::from(self.threshold_percent);
        let total: u64 = self.after.values().sum();
        if self.by != Measure::Writes || total == 0 {
            return threshold;
        }
        let shards = self.after.len().max(1) as f64;
        let share = (threshold as f64 / 100.0 / shards).min(1.0);
        let deviation = (share * (1.0 - share) / total as f64).sqrt();
        threshold + (300.0 * deviation * shards) as u64
    }

    pub(super) fn threshold_problem(&self) -> Option<String> {
        let heaviest = Self::heaviest_percent(&self.after);
        let exceeds = heaviest > self.permitted_percent();
        exceeds.then(|| format!("a shard has {heaviest} % of its fair share of the load"))
    }

    pub(super) fn text(&self) -> String {
        format!(
            "Balance      the shard with most load had {} % of its fair share before, and has {} % now; at most {} % is permitted.",
            Self::heaviest_percent(&self.before),
            Self::heaviest_percent(&self.after),
            self.permitted_percent()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balance(by: Measure, loads: [u64; 4]) -> LoadBalance {
        let shards = ["a", "b", "c", "d"].map(ShardName::from);
        LoadBalance {
            by,
            threshold_percent: 30,
            before: BTreeMap::new(),
            after: shards.into_iter().zip(loads).collect(),
        }
    }

    #[test]
    fn few_transactions_are_judged_by_their_chance() {
        // 134 % of the fair share.
        assert!(
            balance(Measure::Writes, [122, 80, 80, 81])
                .threshold_problem()
                .is_none()
        );
        assert!(
            balance(Measure::Rows, [122, 80, 80, 81])
                .threshold_problem()
                .is_some()
        );
        assert!(
            balance(Measure::Writes, [12_200, 8_000, 8_000, 8_100])
                .threshold_problem()
                .is_some()
        );
        assert!(
            balance(Measure::Writes, [150, 71, 71, 71])
                .threshold_problem()
                .is_some()
        );
    }
}
