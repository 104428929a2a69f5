//! Metrics of the current state of the fleet.

use crate::controller::{ControlError, Controller, LeadershipState};
use crate::metrics::{Labels, PREFIX};
use crate::view::{MigrationView, StepView};
use chrono::{DateTime, Utc};
use plans::inspection::check::DefectKind;
use plans::inspection::reconcile::ContradictionKind;
use plans::state::step::StepState;
use plans::wire::{Progress, StreamStatus};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::sync::atomic::AtomicU64;

/// A gauge with a value for each set of labels.
type GaugeFamily = Family<Labels, Gauge<f64, AtomicU64>>;

/// Returns gauges of the current state. A follower does not probe the fleet, so it has only gauges of itself and of the
/// store.
///
/// # Errors
/// Returns an error of the store.
pub(crate) async fn gauges(controller: &Controller) -> Result<Registry, ControlError> {
    let (mut gauges, now) = (GaugeSnapshot::new(), Utc::now());
    gauges.add_process(controller);
    gauges.add_checks(controller);
    if matches!(controller.role(), LeadershipState::Leads(_)) {
        gauges.add_fleet(controller);
        for snapshot in controller.store().unfinished().await?.iter() {
            let figures = controller.figures(&snapshot.migration.id);
            gauges.add_migration(&MigrationView::new(snapshot, figures.as_ref(), now), now);
        }
        for agent in controller.store().agents().await? {
            let labels = vec![("agent", agent.name.to_string())];
            gauges.set(AGENT_SILENCE, labels, seconds(now, agent.last_seen));
        }
    }
    Ok(gauges.registry)
}

/// A metric's name without its prefix, and its help text.
type MetricName = (&'static str, &'static str);

const LEADS: MetricName = ("controller_leads", "Whether this controller leads");
const BUILD: MetricName = ("build", "The version of this controller; the value is 1");
const READ_ONLY: MetricName = (
    "controller_read_only",
    "Whether this controller refuses all changes",
);
const FINDINGS: MetricName = (
    "fleet_findings",
    "Contradictions to the map that the last probes of the shards found",
);
const DEFECTS: MetricName = ("map_defects", "Defects that the last check of a map found");
const CHECKED: MetricName = (
    "map_checked_at",
    "Unix time of the last check of a map, seconds",
);
const AGENT_SILENCE: MetricName = (
    "agent_silence_seconds",
    "Time since the last request of an agent",
);
const STATE: MetricName = (
    "migration_state",
    "The state of a migration that has not ended; the value is 1",
);
const WAITS: MetricName = (
    "migration_waits",
    "What a migration waits for, or is slowed by; the value is 1",
);
const WAITING: MetricName = (
    "migration_waiting_seconds",
    "How long a migration has waited for this, if it is known",
);
const OWNED: MetricName = (
    "migration_owned",
    "Whether an agent has the lease of the migration",
);
const ATTEMPTS: MetricName = ("step_attempts", "Attempts of the step that has not ended");
const ROWS: MetricName = ("step_rows", "Rows that the running step has processed");
const ROWS_EXPECTED: MetricName = (
    "step_rows_expected",
    "Rows that the running step has to process",
);
const BYTES: MetricName = ("step_bytes", "Bytes that the running step has processed");
const ROW_RATE: MetricName = (
    "step_rows_per_second",
    "Rows that the running step processes per second",
);
const BYTE_RATE: MetricName = (
    "step_bytes_per_second",
    "Bytes that the running step processes per second",
);
const REMAINING: MetricName = (
    "step_remaining_seconds",
    "Estimated time to the end of the step",
);
const THROTTLE_RATIO: MetricName = (
    "migration_share_ratio",
    "The part of the time in which heavy work may run",
);
const LAG_SECONDS: MetricName = ("stream_lag_seconds", "Lag of the change stream");
const LAG_BYTES: MetricName = (
    "stream_lag_bytes",
    "Log that was written upstream and is not applied yet",
);
const RETAINED: MetricName = (
    "stream_retained_bytes",
    "Log that the upstream shard retains for the stream",
);
const SPOOLED: MetricName = (
    "stream_spooled_bytes",
    "Log in the spool on the agent's disk",
);
const TRANSACTIONS: MetricName = (
    "stream_transactions",
    "Transactions applied since the stream was opened",
);
const CHANGES: MetricName = (
    "stream_changes",
    "Row changes applied since the stream was opened",
);
const DEGRADED: MetricName = (
    "stream_degraded",
    "Whether a synchronous dual-write is asynchronous at the moment",
);

/// All names of this module, for the list in the documentation.
#[cfg(test)]
pub(crate) const NAMES: [MetricName; 26] = [
    LEADS,
    BUILD,
    READ_ONLY,
    FINDINGS,
    DEFECTS,
    CHECKED,
    AGENT_SILENCE,
    STATE,
    WAITS,
    WAITING,
    OWNED,
    ATTEMPTS,
    ROWS,
    ROWS_EXPECTED,
    BYTES,
    ROW_RATE,
    BYTE_RATE,
    REMAINING,
    THROTTLE_RATIO,
    LAG_SECONDS,
    LAG_BYTES,
    RETAINED,
    SPOOLED,
    TRANSACTIONS,
    CHANGES,
    DEGRADED,
];

struct GaugeSnapshot {
    registry: Registry,
    /// The registered gauges, by name.
    families: Vec<(&'static str, GaugeFamily)>,
}

impl GaugeSnapshot {
    fn new() -> Self {
        Self {
            registry: Registry::with_prefix(PREFIX),
            families: Vec::new(),
        }
    }

    /// Sets the value of a gauge for these labels. Registers the gauge if it is new.
    fn set(&mut self, (name, help): MetricName, labels: Labels, value: f64) {
        let found = self.families.iter().position(|(known, _)| *known == name);
        let index = found.unwrap_or_else(|| {
            let gauges = GaugeFamily::default();
            self.registry.register(name, help, gauges.clone());
            self.families.push((name, gauges));
            self.families.len() - 1
        });
        self.families[index].1.get_or_create(&labels).set(value);
    }

    fn add_process(&mut self, controller: &Controller) {
        let leads = matches!(controller.role(), LeadershipState::Leads(_));
        self.set(LEADS, Vec::new(), flag(leads));
        self.set(READ_ONLY, Vec::new(), flag(controller.is_read_only()));
        let version = env!("CARGO_PKG_VERSION").to_owned();
        self.set(BUILD, vec![("version", version)], 1.0);
    }

    fn add_checks(&mut self, controller: &Controller) {
        for check in controller.last_checks() {
            let map = check.map.to_string();
            for kind in DefectKind::ALL {
                let found = check.defects.iter().filter(|defect| defect.kind == kind);
                let labels = vec![("map", map.clone()), ("kind", kind.to_string())];
                self.set(DEFECTS, labels, number(found.count()));
            }
            self.set(CHECKED, vec![("map", map)], check.at.timestamp() as f64);
        }
    }

    fn add_fleet(&mut self, controller: &Controller) {
        let findings = controller.fleet().findings;
        for kind in ContradictionKind::ALL {
            let found = findings.iter().filter(|finding| finding.kind == kind);
            self.set(
                FINDINGS,
                vec![("kind", kind.to_string())],
                number(found.count()),
            );
        }
    }

    fn add_migration(&mut self, view: &MigrationView, now: DateTime<Utc>) {
        let m = &view.summary;
        let id_label = || vec![("migration", m.id.to_string())];
        let labels_with = |name, value: String| [id_label(), vec![(name, value)]].concat();
        let mut labels = labels_with("state", m.state.to_string());
        labels.extend([
            ("map", m.map.to_string()),
            ("source", m.source.to_string()),
            ("target", m.target.to_string()),
        ]);
        self.set(STATE, labels, 1.0);
        let live = view.owner.as_ref().is_some_and(|owner| owner.live);
        self.set(OWNED, id_label(), flag(live));
        for wait in &view.waits {
            let labels = labels_with("kind", wait.kind.name().to_owned());
            if let Some(since) = wait.since {
                self.set(WAITING, labels.clone(), seconds(now, since));
            }
            self.set(WAITS, labels, 1.0);
        }
        let ratio = view.throttle_status().map_or(1.0, |slowed| slowed.ratio);
        self.set(THROTTLE_RATIO, id_label(), ratio);
        for step in &view.steps {
            self.add_step(&labels_with("step", step.id.to_string()), step);
        }
        if let Some(stream) = &view.stream {
            self.add_stream(
                &labels_with("direction", stream.direction.to_string()),
                stream,
            );
        }
    }

    fn add_step(&mut self, labels: &Labels, step: &StepView) {
        let is_running = matches!(step.state, StepState::Running | StepState::Backoff);
        if is_running {
            self.set(ATTEMPTS, labels.clone(), step.attempt.into());
        }
        let running = step
            .progress
            .as_ref()
            .filter(|_| step.state == StepState::Running);
        let Some(progress) = running else { return };
        let Progress { tables, .. } = progress;
        if !tables.is_empty() {
            let sum = |figure: fn(&plans::wire::TableProgress) -> i64| {
                tables.iter().map(figure).sum::<i64>() as f64
            };
            self.set(ROWS, labels.clone(), sum(|t| t.rows_done));
            self.set(ROWS_EXPECTED, labels.clone(), sum(|t| t.rows_total));
            self.set(BYTES, labels.clone(), sum(|t| t.bytes_done));
            self.set(ROW_RATE, labels.clone(), progress.rows_per_second);
            self.set(BYTE_RATE, labels.clone(), progress.bytes_per_second);
        }
        if let Some(left) = progress.eta_seconds {
            self.set(REMAINING, labels.clone(), left);
        }
    }

    fn add_stream(&mut self, labels: &Labels, stream: &StreamStatus) {
        let degraded = matches!(
            stream.dual_write,
            plans::wire::DualWriteState::Degraded { .. }
        );
        for (name, value) in [
            (LAG_SECONDS, stream.lag_ms as f64 / 1000.0),
            (LAG_BYTES, stream.lag_bytes as f64),
            (RETAINED, stream.retained.bytes as f64),
            (SPOOLED, stream.spooled_bytes as f64),
            (TRANSACTIONS, stream.transactions as f64),
            (CHANGES, stream.changes as f64),
            (DEGRADED, flag(degraded)),
        ] {
            self.set(name, labels.clone(), value);
        }
    }
}

fn flag(is: bool) -> f64 {
    f64::from(u8::from(is))
}

fn number(count: usize) -> f64 {
    count as f64
}

fn seconds(now: DateTime<Utc>, since: DateTime<Utc>) -> f64 {
    (now - since).num_milliseconds().max(0) as f64 / 1000.0
}
