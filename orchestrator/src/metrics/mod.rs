//! Metrics in the OpenMetrics text format. docs/metrics.md lists all of them.
//!
//! The registry `now` contains gauges, which the controller computes when it is queried; `ProcessMetrics` counts events
//! in this process. Labels contain only names that operators chose and fixed words, never a key or a value of a row.

use plans::step::StepKind;
use plans::step::cutover::CutoverResult;
use plans::wire::Outcome;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use std::time::Duration;

/// The prefix of every metric.
pub(crate) const PREFIX: &str = "shardwright";
/// The content type of the metrics.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Label names with their values.
pub(crate) type Labels = Vec<(&'static str, String)>;
type Histograms = Family<Labels, Histogram, fn() -> Histogram>;

/// The counters and histograms of this process since its start.
#[derive(Debug)]
pub(crate) struct ProcessMetrics {
    registry: Registry,
    steps: Histograms,
    /// The write-blocked windows of cutovers and rollbacks.
    windows: Histograms,
    requests: Family<Labels, Counter>,
    request_seconds: Histograms,
    refused: Family<Labels, Counter>,
    hooks: Family<Labels, Counter>,
}

impl Default for ProcessMetrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix(PREFIX);
        let steps =
            Histograms::new_with_constructor(|| Histogram::new(exponential_buckets(0.05, 3.0, 12)));
        let windows = Histograms::new_with_constructor(|| {
            Histogram::new(exponential_buckets(0.002, 2.0, 12))
        });
        let request_seconds = Histograms::new_with_constructor(|| {
            Histogram::new(exponential_buckets(0.0005, 4.0, 9))
        });
        let (requests, refused, hooks) = (Family::default(), Family::default(), Family::default());
        registry.register(
            "step_duration_seconds",
            "How long attempts of steps took, by kind and by what came of them",
            steps.clone(),
        );
        registry.register(
            "write_stop_seconds",
            "How long writes to moving keys were refused by cutovers and roll backs",
            windows.clone(),
        );
        registry.register(
            "http_requests",
            "Requests that were answered",
            requests.clone(),
        );
        registry.register(
            "http_request_duration_seconds",
            "How long answers took; streams and claims that wait are left out",
            request_seconds.clone(),
        );
        registry.register(
            "refused",
            "Requests refused at the door, by why",
            refused.clone(),
        );
        registry.register(
            "hook_calls",
            "Calls of hooks, by what they answered",
            hooks.clone(),
        );
        Self {
            registry,
            hooks,
            steps,
            windows,
            requests,
            request_seconds,
            refused,
        }
    }
}

impl ProcessMetrics {
    /// Counts an attempt of a step that has ended.
    pub(crate) fn step(&self, kind: StepKind, outcome: &Outcome, took: Duration) {
        let (result, output) = match outcome {
            Outcome::Done { output } => ("done", Some(output)),
            Outcome::Failed { .. } => ("failed", None),
            Outcome::Interrupted => ("interrupted", None),
            Outcome::Reshaped { .. } | Outcome::Rewind { .. } => ("again", None),
        };
        let labels = vec![
            ("kind", kind.name().to_owned()),
            ("result", result.to_owned()),
        ];
        self.steps
            .get_or_create(&labels)
            .observe(took.as_secs_f64());
        let cuts = matches!(kind, StepKind::Cutover | StepKind::Rollback);
        let Some(output) = output.filter(|_| cuts) else {
            return;
        };
        if let Ok(cut) = serde_json::from_value::<CutoverResult>(output.clone()) {
            let labels = vec![("kind", kind.name().to_owned())];
            self.windows
                .get_or_create(&labels)
                .observe(cut.write_block.total / 1000.0);
        }
    }

    /// Counts an answered request. `took` is `None` if the answer waited for an event.
    pub(crate) fn request(&self, method: &str, route: &str, status: u16, took: Option<Duration>) {
        let class = format!("{}xx", status / 100);
        let labels = |more: Option<String>| {
            let mut labels = vec![("method", method.to_owned()), ("route", route.to_owned())];
            labels.extend(more.map(|class| ("status", class)));
            labels
        };
        self.requests.get_or_create(&labels(Some(class))).inc();
        if let Some(took) = took {
            let labels = labels(None);
            self.request_seconds
                .get_or_create(&labels)
                .observe(took.as_secs_f64());
        }
    }

    /// Counts a request that was refused for lack of access.
    pub(crate) fn refusal(&self, code: &str) {
        self.refused
            .get_or_create(&vec![("code", code.to_owned())])
            .inc();
    }

    /// Counts a call of a hook.
    pub(crate) fn hook(&self, name: &str, answer: &str) {
        let labels = vec![("hook", name.to_owned()), ("answer", answer.to_owned())];
        self.hooks.get_or_create(&labels).inc();
    }

    /// Returns all metrics, with the gauges of `now`.
    pub(crate) fn text(&self, now: &Registry) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode_registry(&mut text, now)?;
        encode_registry(&mut text, &self.registry)?;
        encode_eof(&mut text)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::collections::BTreeSet;

    const DOCS: &str = include_str!("../../../docs/metrics.md");
    const ALERTS: &str = include_str!("../../../deploy/alerts.yaml");
    const BOARD: &str = include_str!("../../../deploy/grafana.json");
    /// The data source that the user chooses when importing the dashboard.
    const SOURCE: &str = "${DS_PROMETHEUS}";
    /// The suffixes of the series of a histogram.
    const PARTS: [&str; 3] = ["_bucket", "_count", "_sum"];

    /// Returns the words that begin like our metrics.
    fn names(text: &str) -> BTreeSet<String> {
        let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
        let words = text.split(|c: char| !is_part(c));
        let ours = words.filter(|word| word.starts_with("shardwright_"));
        ours.map(str::to_owned).collect()
    }

    fn real() -> BTreeSet<String> {
        let observed = ProcessMetrics::default();
        observed.step(
            StepKind::Cutover,
            &Outcome::Done {
                output: serde_json::to_value(CutoverResult::default()).unwrap_or_default(),
            },
            Duration::from_secs(1),
        );
        observed.request("GET", "/", 200, Some(Duration::from_millis(1)));
        observed.refusal("token.missing");
        observed.hook("freeze", "no");
        let text = observed.text(&Registry::default()).unwrap_or_default();
        let families = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        let families = families.filter_map(|line| line.split_once(' '));
        let counted = families.map(|(name, kind)| match kind {
            "counter" => format!("{name}_total"),
            _ => name.to_owned(),
        });
        let gauges = crate::api::gauges::NAMES
            .iter()
            .map(|(name, _)| format!("{PREFIX}_{name}"));
        counted.chain(gauges).collect()
    }

    #[test]
    fn the_docs_list_every_metric_and_no_other() {
        assert_eq!(names(DOCS), real());
    }

    #[test]
    fn alerts_are_about_metrics_that_exist() {
        let used = names(ALERTS);
        assert!(used.len() > 5, "{used:?}");
        let unknown: Vec<_> = used.difference(&real()).cloned().collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    /// Collects every value with the field name `name`, at any depth.
    fn under<'v>(value: &'v Value, name: &str, found: &mut Vec<&'v Value>) {
        if let Value::Object(fields) = value {
            found.extend(fields.get(name));
            fields.values().for_each(|field| under(field, name, found));
        }
        if let Value::Array(items) = value {
            items.iter().for_each(|item| under(item, name, found));
        }
    }

    fn all<'v>(value: &'v Value, name: &str) -> Vec<&'v Value> {
        let mut found = Vec::new();
        under(value, name, &mut found);
        found
    }

    /// Returns the metric to which a series belongs.
    fn metric(series: &str) -> &str {
        let mut parts = PARTS.iter();
        parts
            .find_map(|part| series.strip_suffix(part))
            .unwrap_or(series)
    }

    #[test]
    fn the_board_asks_for_metrics_that_exist_and_says_what_for() {
        let board: Value = serde_json::from_str(BOARD).unwrap();
        let queries = all(&board, "expr").into_iter().chain(all(&board, "query"));
        let queries: Vec<&str> = queries.map(|text| text.as_str().unwrap()).collect();
        assert!(queries.len() > 15, "{queries:?}");
        let real = real();
        for text in queries {
            let used = names(text);
            assert!(!used.is_empty(), "nothing of ours in {text}");
            for series in &used {
                assert!(real.contains(metric(series)), "{series} in {text}");
            }
        }
    }

    #[test]
    fn whoever_imports_the_board_chooses_its_data_source() {
        let board: Value = serde_json::from_str(BOARD).unwrap();
        assert_eq!(board["__inputs"][0]["name"], "DS_PROMETHEUS");
        assert_eq!(board["__inputs"][0]["pluginId"], "prometheus");
        let sources = all(&board, "datasource");
        assert!(sources.len() > 15, "{sources:?}");
        for source in sources {
            assert_eq!(source["type"], "prometheus");
            assert_eq!(source["uid"], SOURCE);
        }
    }

    #[test]
    fn a_write_stop_is_counted_in_seconds() {
        let observed = ProcessMetrics::default();
        let mut cut = CutoverResult::default();
        cut.write_block.total = 40.0;
        let output = serde_json::to_value(cut).unwrap_or_default();
        observed.step(
            StepKind::Cutover,
            &Outcome::Done { output },
            Duration::from_secs(1),
        );
        let text = observed.text(&Registry::default()).unwrap_or_default();
        assert!(
            text.contains("shardwright_write_stop_seconds_sum{kind=\"cutover\"} 0.04"),
            "{text}"
        );
        assert!(text.ends_with("# EOF\n"), "{text}");
    }
}
