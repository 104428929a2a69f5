//! Metrics in the OpenMetrics text format. docs/metrics.md lists all of them.
//!
//! `api::gauges` computes gauges of the current state for each request; `ProcessMetrics` counts events in this process.
//! Labels contain only names that operators chose and fixed words, never a key or a value of a row.

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
            "Duration of attempts of steps, by kind and result",
            steps.clone(),
        );
        registry.register(
            "write_stop_seconds",
            "Write-blocked windows of cutovers and rollbacks",
            windows.clone(),
        );
        registry.register(
            "http_requests",
            "HTTP requests that were answered",
            requests.clone(),
        );
        registry.register(
            "http_request_duration_seconds",
            "Duration of HTTP requests, without event streams and waiting claims",
            request_seconds.clone(),
        );
        registry.register(
            "refused",
            "Requests refused for lack of access, by error code",
            refused.clone(),
        );
        registry.register("hook_calls", "Calls of hooks, by answer", hooks.clone());
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
    pub(crate) fn step(&self, kind: StepKind, outcome: &Outcome, duration: Duration) {
        let (outcome_label, output) = match outcome {
            Outcome::Done { output } => ("done", Some(output)),
            Outcome::Failed { .. } => ("failed", None),
            Outcome::Interrupted => ("interrupted", None),
            Outcome::Reshaped { .. } | Outcome::Rewind { .. } => ("again", None),
        };
        let labels = vec![
            ("kind", kind.name().to_owned()),
            ("result", outcome_label.to_owned()),
        ];
        self.steps
            .get_or_create(&labels)
            .observe(duration.as_secs_f64());
        let is_cutover = matches!(kind, StepKind::Cutover | StepKind::Rollback);
        let Some(output) = output.filter(|_| is_cutover) else {
            return;
        };
        if let Ok(result) = serde_json::from_value::<CutoverResult>(output.clone()) {
            let labels = vec![("kind", kind.name().to_owned())];
            self.windows
                .get_or_create(&labels)
                .observe(result.write_block.total / 1000.0);
        }
    }

    /// Counts an answered request. `duration` is `None` if the answer waited for an event.
    pub(crate) fn request(
        &self,
        method: &str,
        route: &str,
        status: u16,
        duration: Option<Duration>,
    ) {
        let class = format!("{}xx", status / 100);
        let labels = |status_class: Option<String>| {
            let mut labels = vec![("method", method.to_owned()), ("route", route.to_owned())];
            labels.extend(status_class.map(|class| ("status", class)));
            labels
        };
        self.requests.get_or_create(&labels(Some(class))).inc();
        if let Some(duration) = duration {
            let labels = labels(None);
            self.request_seconds
                .get_or_create(&labels)
                .observe(duration.as_secs_f64());
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

    /// Returns all metrics, with those of `gauges`.
    pub(crate) fn text(&self, gauges: &Registry) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode_registry(&mut text, gauges)?;
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
    const HISTOGRAM_SUFFIXES: [&str; 3] = ["_bucket", "_count", "_sum"];

    /// Returns the words that begin with the prefix of the metrics.
    fn metric_names(text: &str) -> BTreeSet<String> {
        let is_name_character = |c: char| c.is_ascii_lowercase() || c == '_';
        let words = text.split(|c: char| !is_name_character(c));
        let metrics = words.filter(|word| word.starts_with("shardwright_"));
        metrics.map(str::to_owned).collect()
    }

    /// Returns the names of all metrics that a controller exports.
    fn exported_names() -> BTreeSet<String> {
        let metrics = ProcessMetrics::default();
        metrics.step(
            StepKind::Cutover,
            &Outcome::Done {
                output: serde_json::to_value(CutoverResult::default()).unwrap_or_default(),
            },
            Duration::from_secs(1),
        );
        metrics.request("GET", "/", 200, Some(Duration::from_millis(1)));
        metrics.refusal("token.missing");
        metrics.hook("freeze", "no");
        let text = metrics.text(&Registry::default()).unwrap_or_default();
        let families = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        let families = families.filter_map(|line| line.split_once(' '));
        let names = families.map(|(name, kind)| match kind {
            "counter" => format!("{name}_total"),
            _ => name.to_owned(),
        });
        let gauges = crate::api::gauges::NAMES
            .iter()
            .map(|(name, _)| format!("{PREFIX}_{name}"));
        names.chain(gauges).collect()
    }

    #[test]
    fn the_docs_list_every_metric_and_no_other() {
        assert_eq!(metric_names(DOCS), exported_names());
    }

    #[test]
    fn alerts_query_only_metrics_that_exist() {
        let used = metric_names(ALERTS);
        assert!(used.len() > 5, "{used:?}");
        let unknown: Vec<_> = used.difference(&exported_names()).cloned().collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    /// Collects every value with the field name `name`, at any depth.
    fn collect_fields<'v>(value: &'v Value, name: &str, found: &mut Vec<&'v Value>) {
        if let Value::Object(fields) = value {
            found.extend(fields.get(name));
            fields
                .values()
                .for_each(|field| collect_fields(field, name, found));
        }
        if let Value::Array(items) = value {
            items
                .iter()
                .for_each(|item| collect_fields(item, name, found));
        }
    }

    fn fields_named<'v>(value: &'v Value, name: &str) -> Vec<&'v Value> {
        let mut found = Vec::new();
        collect_fields(value, name, &mut found);
        found
    }

    /// Returns the metric to which a series belongs.
    fn metric_of(series: &str) -> &str {
        let mut suffixes = HISTOGRAM_SUFFIXES.iter();
        suffixes
            .find_map(|suffix| series.strip_suffix(suffix))
            .unwrap_or(series)
    }

    #[test]
    fn the_board_queries_only_metrics_that_exist() {
        let board: Value = serde_json::from_str(BOARD).unwrap();
        let queries = fields_named(&board, "expr")
            .into_iter()
            .chain(fields_named(&board, "query"));
        let queries: Vec<&str> = queries.map(|text| text.as_str().unwrap()).collect();
        assert!(queries.len() > 15, "{queries:?}");
        let exported = exported_names();
        for text in queries {
            let used = metric_names(text);
            assert!(!used.is_empty(), "no metric in {text}");
            for series in &used {
                assert!(exported.contains(metric_of(series)), "{series} in {text}");
            }
        }
    }

    #[test]
    fn the_user_chooses_the_data_source_when_importing_the_board() {
        let board: Value = serde_json::from_str(BOARD).unwrap();
        assert_eq!(board["__inputs"][0]["name"], "DS_PROMETHEUS");
        assert_eq!(board["__inputs"][0]["pluginId"], "prometheus");
        let sources = fields_named(&board, "datasource");
        assert!(sources.len() > 15, "{sources:?}");
        for source in sources {
            assert_eq!(source["type"], "prometheus");
            assert_eq!(source["uid"], SOURCE);
        }
    }

    #[test]
    fn a_write_blocked_window_is_exported_in_seconds() {
        let metrics = ProcessMetrics::default();
        let mut cut = CutoverResult::default();
        cut.write_block.total = 40.0;
        let output = serde_json::to_value(cut).unwrap_or_default();
        metrics.step(
            StepKind::Cutover,
            &Outcome::Done { output },
            Duration::from_secs(1),
        );
        let text = metrics.text(&Registry::default()).unwrap_or_default();
        assert!(
            text.contains("shardwright_write_stop_seconds_sum{kind=\"cutover\"} 0.04"),
            "{text}"
        );
        assert!(text.ends_with("# EOF\n"), "{text}");
    }
}
