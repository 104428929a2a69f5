//! The checks of a request that need no map. They report all problems together.

use super::{
    Cutover, Drain, Isolate, Measure, Merge, MoveEntry, MoveOperation, Options, Part, Rebalance,
    Request, Split,
};
use crate::id::ShardName;
use crate::table::TableName;
use std::collections::BTreeSet;

impl Request {
    /// Returns all problems of the request.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems = self.options().problems();
        problems.extend(self.name_problem());
        problems.extend(self.table_problems());
        match self {
            Self::Split(split) => problems.extend(split.problems()),
            Self::Merge(merge) => problems.extend(merge.problems()),
            Self::Move(moves) => problems.extend(moves.problems()),
            Self::Drain(drain) => problems.extend(drain.problems()),
            Self::Rebalance(rebalance) => problems.extend(rebalance.problems()),
            Self::Isolate(_) => {}
        }
        problems
    }

    /// Returns a problem if the name of the map or of any shard is empty.
    fn name_problem(&self) -> Option<String> {
        let shards: Vec<&ShardName> = match self {
            Self::Split(split) => split
                .into
                .iter()
                .map(|part| &part.shard)
                .chain([&split.source])
                .collect(),
            Self::Merge(merge) => merge.sources.iter().chain([&merge.into]).collect(),
            Self::Move(moves) => moves
                .moves
                .iter()
                .flat_map(|entry| [&entry.source, &entry.target])
                .collect(),
            Self::Isolate(Isolate { target, .. }) => vec![target],
            Self::Drain(drain) => drain.targets.iter().chain([&drain.source]).collect(),
            Self::Rebalance(rebalance) => rebalance.onto.iter().collect(),
        };
        let empty = self.map().as_str().is_empty() || shards.iter().any(|s| s.as_str().is_empty());
        empty.then(|| "the name of a map or shard is empty".to_owned())
    }

    /// Returns a problem for each table that is listed more than once in `tables` and `ignore` together.
    fn table_problems(&self) -> Vec<String> {
        let (tables, ignore) = self.tables();
        let mut names = BTreeSet::new();
        tables
            .keys()
            .chain(ignore)
            .map(|text| TableName::parse(text))
            .filter(|table| !names.insert(table.clone()))
            .map(|table| {
                format!("table {table} is listed more than once under `tables` and `ignore`")
            })
            .collect()
    }
}

impl Split {
    /// Returns the problems of a split. With `even`, which is a measure of load, the planner finds the split points;
    /// without `even`, the parts name their keys.
    fn problems(&self) -> Vec<String> {
        let mut problems = self.even.as_ref().map_or_else(Vec::new, Measure::problems);
        if self.into.len() < 2 {
            problems.push("a split needs at least two parts under `into`".to_owned());
        }
        for part in &self.into {
            match (&self.even, part) {
                (Some(_), Part { keys: Some(_), .. }) => problems.push(format!(
                    "part {} names keys, although with `even` the planner finds the split points",
                    part.shard
                )),
                (None, Part { keys: None, .. }) => problems.push(format!(
                    "part {} names no keys; name them, or set `even` so that the planner finds the split points",
                    part.shard
                )),
                (None, Part { share: Some(_), .. }) => problems.push(format!(
                    "part {} has a share, which is only possible with `even`",
                    part.shard
                )),
                (Some(_), Part { share: Some(0), .. }) => {
                    problems.push(format!("the share of part {} is 0", part.shard));
                }
                (_, _) => {}
            }
        }
        problems
    }
}

impl Merge {
    /// Returns the problems of a merge. The shard under `into` receives the keys of all other shards under `sources`.
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.sources.iter().all(|source| source == &self.into) {
            problems.push(format!(
                "a merge needs a source other than shard {}, which is named under `into`",
                self.into
            ));
        }
        let mut names = BTreeSet::new();
        for source in &self.sources {
            if !names.insert(source) {
                problems.push(format!("shard {source} is named twice under `sources`"));
            }
        }
        problems
    }
}

impl MoveOperation {
    /// Returns the problems of the operation `move`.
    fn problems(&self) -> Vec<String> {
        if self.moves.is_empty() {
            return vec!["the list `moves` is empty".to_owned()];
        }
        self.moves
            .iter()
            .filter(|MoveEntry { source, target, .. }| source == target)
            .map(|entry| {
                format!(
                    "keys of shard {0} are to move to shard {0} itself",
                    entry.source
                )
            })
            .collect()
    }
}

impl Drain {
    fn problems(&self) -> Vec<String> {
        // `by` is the measure of load.
        let mut problems = self.by.problems();
        if self.targets.contains(&self.source) {
            problems.push(format!(
                "shard {} cannot receive its own keys; remove it from `targets`",
                self.source
            ));
        }
        problems
    }
}

impl Rebalance {
    fn problems(&self) -> Vec<String> {
        let limits = [
            ("threshold_percent", self.threshold_percent, 1, 100),
            ("watch_seconds", self.watch_seconds, 1, 3600),
        ];
        // `by` is the measure of load.
        let mut problems = self.by.problems();
        problems.extend(limit_problems(limits));
        problems
    }
}

impl Measure {
    /// Returns a problem if the query that measures the load is empty.
    fn problems(&self) -> Vec<String> {
        match self {
            Self::Query(query) if query.trim().is_empty() => {
                vec!["the query that measures the load is empty".to_owned()]
            }
            Self::Query(_) | Self::Rows | Self::Bytes | Self::Writes => Vec::new(),
        }
    }
}

/// Returns a problem for each value outside its limits. Each tuple is: name, value, least, greatest.
fn limit_problems<const N: usize>(
    limits: [(&str, u32, u32, u32); N],
) -> impl Iterator<Item = String> {
    limits
        .into_iter()
        .filter(|(_, value, low, high)| value < low || value > high)
        .map(|(name, value, low, high)| format!("{name} is {value}, not within {low} to {high}"))
}

impl Options {
    fn problems(&self) -> Vec<String> {
        let limits = [
            (
                "write_stop_budget_ms",
                self.write_stop_budget_ms,
                50,
                60_000,
            ),
            ("approvals", self.approvals, 1, 5),
            ("copy_streams", self.copy_streams, 1, 16),
            ("apply_sessions", self.apply_sessions, 1, 2),
            ("max_attempts", self.max_attempts, 1, 100),
            ("moves_at_once", self.moves_at_once, 1, 64),
            ("moves_per_shard", self.moves_per_shard, 1, 64),
            ("drop_pause_ms", self.drop_pause_ms, 0, 60_000),
            ("dual_write_limit_ms", self.dual_write_limit_ms, 200, 60_000),
            ("snapshot_age_s", self.snapshot_age_s, 10, 86_400),
            ("wal_cap_mb", self.wal_cap_mb, 64, 1_048_576),
        ];
        let mut problems: Vec<String> = limit_problems(limits)
            .map(|text| format!("option {text}"))
            .collect();
        problems.extend(self.throttle.problems());
        if self.approvals > 1 && self.cutover == Cutover::Automatic {
            problems.push(format!(
                "option cutover is automatic, but option approvals requires {} approvals",
                self.approvals
            ));
        }
        if self
            .override_rules
            .as_ref()
            .is_some_and(|why| why.trim().is_empty())
        {
            problems.push("option override_rules needs a reason".to_owned());
        }
        problems
    }
}
