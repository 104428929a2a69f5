//! How often keys are used, as client libraries report it. The reports of the last minute are kept in memory.

use super::{ControlError, Controller, clock};
use chrono::{DateTime, TimeDelta, Utc};
use plans::id::MapName;
use plans::key::Key;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// How long a report is counted.
const COUNTED_FOR: TimeDelta = TimeDelta::seconds(60);
/// The largest number of reports that are kept for one map.
const MAX_REPORTS: usize = 1024;
/// The largest number of keys in an answer.
const MAX_KEYS: usize = 50;

/// The counts of one client since its last report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientReport {
    /// The keys, each with the number of its uses.
    pub counts: Vec<(Key, u64)>,
    /// The time in which the uses were counted, in milliseconds.
    pub window_ms: u64,
}

/// The uses of one key in the last minute, summed over all clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientCount {
    /// The key.
    pub key: Key,
    /// The number of uses in the last minute.
    pub uses: u64,
    /// The mean number of uses per second.
    pub per_second: f64,
}

type CounterTable = BTreeMap<MapName, VecDeque<(DateTime<Utc>, ClientReport)>>;

/// The reports of each map.
#[derive(Debug, Default)]
pub(super) struct ClientCounters(Mutex<CounterTable>);

impl ClientCounters {
    /// Adds a report, and removes reports that are too old or too many.
    fn add(&self, map: &MapName, report: ClientReport, now: DateTime<Utc>) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reports = table.entry(map.clone()).or_default();
        reports.push_back((now, report));
        while reports.len() > MAX_REPORTS
            || reports
                .front()
                .is_some_and(|(at, _)| now - *at > COUNTED_FOR)
        {
            reports.pop_front();
        }
    }

    /// Removes the reports of a map. Its keys have another form from now on.
    pub(super) fn forget(&self, map: &MapName) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.remove(map);
    }

    /// Returns the uses of each key in the last minute, the most used keys first.
    fn counts(&self, map: &MapName, now: DateTime<Utc>) -> Vec<ClientCount> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reports = table.get(map).into_iter().flatten();
        let mut uses: BTreeMap<&Key, u64> = BTreeMap::new();
        for (_, report) in reports.filter(|(at, _)| now - *at <= COUNTED_FOR) {
            for (key, count) in &report.counts {
                let sum = uses.entry(key).or_default();
                *sum = sum.saturating_add(*count);
            }
        }
        let mut counted: Vec<ClientCount> = uses
            .into_iter()
            .map(|(key, uses)| ClientCount {
                key: key.clone(),
                uses,
                per_second: uses as f64 / COUNTED_FOR.as_seconds_f64(),
            })
            .collect();
        counted.sort_by(|a, b| b.uses.cmp(&a.uses).then_with(|| a.key.cmp(&b.key)));
        counted.truncate(MAX_KEYS);
        counted
    }
}

impl Controller {
    /// Records a client's report.
    ///
    /// # Errors
    /// The map does not exist, or the store failed.
    pub async fn count(&self, map: &MapName, report: ClientReport) -> Result<(), ControlError> {
        self.bare_map(map).await?;
        self.inner.counters.add(map, report, clock());
        Ok(())
    }

    /// Returns the counts of the last minute, the most used keys first.
    pub(super) fn counted(&self, map: &MapName) -> Vec<ClientCount> {
        self.inner.counters.counts(map, clock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_the_last_minute_add_up() {
        let counters = ClientCounters::default();
        let map = MapName::from("m");
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let report = |key, uses| ClientReport {
            counts: vec![(Key::Int(key), uses), (Key::Int(0), 1)],
            window_ms: 1000,
        };
        counters.add(&map, report(7, 5), now - TimeDelta::seconds(100));
        counters.add(&map, report(8, 60), now - TimeDelta::seconds(50));
        counters.add(&map, report(9, 120), now);
        let counted: Vec<_> = counters
            .counts(&map, now)
            .into_iter()
            .map(|c| (c.key, c.uses))
            .collect();
        assert_eq!(
            counted,
            [(Key::Int(9), 120), (Key::Int(8), 60), (Key::Int(0), 2)]
        );
        assert!(counters.counts(&MapName::from("other"), now).is_empty());
    }
}
