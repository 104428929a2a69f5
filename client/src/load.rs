//! Counts which keys are used most, and reports them to the controller at regular intervals.
//!
//! Each use is counted; at the end of a time window the counts are sent. If the controller does not accept a report,
//! its counts are lost. No transaction waits for a report. The memory is limited (a Misra-Gries summary): of `n` uses
//! in a window at most `n / MAX_KEYS` are not counted for any key, so the report contains every key with more uses than
//! that. If the key of the map changes, the counts of the earlier key are removed.

use crate::controllers::Controllers;
use crate::error::BoxError;
use controller_client::ControllerClient;
use plans::key::Key;
use plans::shard_map::ShardMap;
use reqwest::Method;
use serde::Serialize;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// The maximum number of keys in a report.
const MAX_KEYS: usize = 512;
const POST_TIMEOUT: Duration = Duration::from_secs(5);

/// The counts, and the task that reports them. Dropping the value ends the task.
#[derive(Debug)]
pub(crate) struct LoadReporter {
    summary: Arc<Mutex<Summary>>,
    task: JoinHandle<()>,
}

/// The body of a report.
#[derive(Debug, Serialize)]
struct Report {
    /// The keys with the numbers of their uses, the most used first.
    counts: Vec<(Key, u64)>,
    /// The length of the time window in milliseconds.
    window_ms: u64,
}

impl LoadReporter {
    /// Starts to report to one of `controllers`, at the end of each window of length `every`.
    pub(crate) fn start(
        client: ControllerClient,
        controllers: Controllers,
        every: Duration,
    ) -> Self {
        let summary = Arc::new(Mutex::new(Summary::default()));
        let task = tokio::spawn(report(client, controllers, Arc::clone(&summary), every));
        Self { summary, task }
    }

    /// Counts one use of `key`, which was looked up in `map`.
    pub(crate) fn count(&self, map: &Arc<ShardMap>, key: &Key) {
        let mut summary = self.summary.lock().unwrap_or_else(PoisonError::into_inner);
        summary.follow(map);
        summary.count(key);
    }
}

impl Drop for LoadReporter {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn report(
    client: ControllerClient,
    controllers: Controllers,
    summary: Arc<Mutex<Summary>>,
    every: Duration,
) {
    let mut begun = Instant::now();
    loop {
        tokio::time::sleep(every).await;
        let summary_of_window =
            std::mem::take(&mut *summary.lock().unwrap_or_else(PoisonError::into_inner));
        let window = begun.elapsed();
        begun = Instant::now();
        let report = Report {
            counts: summary_of_window.most_used(),
            window_ms: u64::try_from(window.as_millis()).unwrap_or(u64::MAX),
        };
        if report.counts.is_empty() {
            continue;
        }
        let controller = controllers.current();
        if let Err(error) = post(&client, controller.url, &report).await {
            tracing::debug!(url = controller.url, %error, "load not reported");
            controllers.switch_after_failure(&controller);
        }
    }
}

async fn post(client: &ControllerClient, url: &str, report: &Report) -> Result<(), BoxError> {
    let url = format!("{url}/counters");
    let request = client.request(Method::POST, url);
    let sent = client.send(request.timeout(POST_TIMEOUT).json(report));
    sent.await?.error_for_status()?;
    Ok(())
}

/// The counts of at most twice [`MAX_KEYS`] keys.
#[derive(Debug, Default)]
struct Summary {
    counts: HashMap<Key, u64>,
    /// The map in which the last key was looked up.
    map: Option<Arc<ShardMap>>,
}

impl Summary {
    /// Removes all counts if the keys of `map` are others than those that were counted.
    fn follow(&mut self, map: &Arc<ShardMap>) {
        if let Some(earlier) = &self.map {
            if Arc::ptr_eq(earlier, map) {
                return;
            }
            if earlier.key != map.key || earlier.settings.tables != map.settings.tables {
                self.counts.clear();
            }
        }
        self.map = Some(Arc::clone(map));
    }

    fn count(&mut self, key: &Key) {
        if let Some(count) = self.counts.get_mut(key) {
            *count += 1;
            return;
        }
        if self.counts.len() >= 2 * MAX_KEYS {
            self.reduce();
        }
        self.counts.insert(key.clone(), 1);
    }

    /// Subtracts the count that has exactly [`MAX_KEYS`] others before it, by size, from every count. At most this many
    /// keys remain.
    fn reduce(&mut self) {
        let mut counts: Vec<u64> = self.counts.values().copied().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let subtracted = counts.get(MAX_KEYS).copied().unwrap_or(0);
        self.counts.retain(|_, count| {
            *count = count.saturating_sub(subtracted);
            *count > 0
        });
    }

    fn most_used(self) -> Vec<(Key, u64)> {
        let mut counts: Vec<(Key, u64)> = self.counts.into_iter().collect();
        counts.sort_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
        counts.truncate(MAX_KEYS);
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hot_key_is_found_among_many_cold_ones() {
        let mut summary = Summary::default();
        let uses = 40_000_u64;
        for n in 0..30_000_i64 {
            summary.count(&Key::Int(n));
            if n % 3 == 0 {
                summary.count(&Key::Int(-1));
            }
            assert!(summary.counts.len() <= 2 * MAX_KEYS);
        }
        let report = summary.most_used();
        assert!(report.len() <= MAX_KEYS);
        let (key, count) = report.first().unwrap();
        assert_eq!(key, &Key::Int(-1));
        let missed = uses / u64::try_from(MAX_KEYS).unwrap();
        assert!((10_000 - missed..=10_000).contains(count), "{count}");
    }

    #[test]
    fn the_counts_of_a_former_key_are_removed() {
        let map = |key: &str| {
            let json = format!(
                r#"{{"name": "m", "strategy": "range", "key": ["{key}"], "version": 1, "incarnation": "i",
                    "mappings": [{{"keys": {{"range": [{{}}]}}, "shard": "a"}}]}}"#
            );
            Arc::new(serde_json::from_str::<ShardMap>(&json).unwrap())
        };
        let mut summary = Summary::default();
        for (key, counted) in [("bigint", 1), ("bigint", 2), ("text", 1)] {
            summary.follow(&map(key));
            summary.count(&Key::Int(7));
            assert_eq!(summary.counts[&Key::Int(7)], counted);
        }
    }

    #[test]
    fn few_keys_are_counted_exactly() {
        let mut summary = Summary::default();
        for key in ["b", "a", "b", "c", "b", "a"] {
            summary.count(&Key::from(key));
        }
        let counts = [("b", 3), ("a", 2), ("c", 1)].map(|(key, n)| (Key::from(key), n));
        assert_eq!(summary.most_used(), counts);
    }
}
