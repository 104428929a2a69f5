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
    let (mut now, at) = (GaugeSnapshot::new(), Utc::now());
    now.of_process(controller);
    now.of_checks(controller);
    if matches!(controller.role(), LeadershipState::Leads(_)) {
        now.of_fleet(controller);
        for snapshot in controller.store().unfinished().await?.iter() {
            let figures = controller.figures(&snapshot.migration.id);
            now.of_migration(&MigrationView::new(snapshot, figures.as_ref(), at), at);
        }
        for agent in controller.store().agents().await? {
            let labels = vec![("agent", agent.name.to_string())];
            now.set(AGENT_SILENCE, labels, seconds(at, agent.last_seen));
        }
    }
    Ok(now.registry)
}

/// A metric's name without its prefix, and its help text.
type MetricName = (&'static str, &'static str);

const LEADS: MetricName = ("controller_leads", "Whether this controller leads");
const BUILD: MetricName = ("build", "The version of this controller; the value is 1");
const READ_ONLY: MetricName = (
    "controller_read_only",
    "Whether nobody may change anything through this controller",
);
const FINDINGS: MetricName = (
    "fleet_findings",
    "What the last looks at the shards found to contradict the map",
);
const DEFECTS: MetricName = ("map_defects", "Defects that the last check of a map found");
const CHECKED: MetricName = (
    "map_checked_at",
    "Unix time of the last check of a map, seconds",
);
const AGENT_SILENCE: MetricName = ("agent_silence_seconds", "How long an agent has not spoken");
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
    "Since when a migration waits for this, where it is known",
);
const OWNED: MetricName = ("migration_owned", "Whether an agent holds the migration");
const ATTEMPTS: MetricName = ("step_attempts", "Attempts of the step that is not over");
const ROWS: MetricName = ("step_rows", "Rows done by the step that runs");
const ROWS_EXPECTED: MetricName = (
    "step_rows_expected",
    "Rows that the step that runs has to do",
);
const BYTES: MetricName = ("step_bytes", "Bytes done by the step that runs");
const ROW_RATE: MetricName = (
    "step_rows_per_second",
    "Rows that the step does in a second now",
);
const BYTE_RATE: MetricName = (
    "step_bytes_per_second",
    "Bytes that the step does in a second now",
);
const LEFT: MetricName = (
    "step_remaining_seconds",
    "Estimated time to the end of the step",
);
const THROTTLE_RATIO: MetricName = (
    "migration_share_ratio",
    "The part of the time in which heavy work may run",
);
const LAG_SECONDS: MetricName = ("stream_lag_seconds", "How far the change stream is behind");
const LAG_BYTES: MetricName = (
    "stream_lag_bytes",
    "Log between what was written and what was applied",
);
const RETAINED: MetricName = (
    "stream_retained_bytes",
    "Log that the origin keeps for the stream",
);
const SPOOLED: MetricName = ("stream_spooled_bytes", "Log that waits on the agent's disk");
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
    "Whether a synchronous dual-write is asynchronous for now",
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
    LEFT,
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
    known: Vec<(&'static str, GaugeFamily)>,
}

impl GaugeSnapshot {
    fn new() -> Self {
        Self {
            registry: Registry::with_prefix(PREFIX),
            known: Vec::new(),
        }
    }

    fn set(&mut self, (name, help): MetricName, labels: Labels, value: f64) {
        let found = self.known.iter().position(|(known, _)| *known == name);
        let at = found.unwrap_or_else(|| {
            let gauges = GaugeFamily::default();
            self.registry.register(name, help, gauges.clone());
            self.known.push((name, gauges));
            self.known.len() - 1
        });
        self.known[at].1.get_or_create(&labels).set(value);
    }

    fn of_process(&mut self, controller: &Controller) {
        let leads = matches!(controller.role(), LeadershipState::Leads(_));
        self.set(LEADS, Vec::new(), flag(leads));
        self.set(READ_ONLY, Vec::new(), flag(controller.is_read_only()));
        let version = env!("CARGO_PKG_VERSION").to_owned();
        self.set(BUILD, vec![("version", version)], 1.0);
    }

    fn of_checks(&mut self, controller: &Controller) {
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

    fn of_fleet(&mut self, controller: &Controller) {
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

    fn of_migration(&mut self, view: &MigrationView, at: DateTime<Utc>) {
        let m = &view.summary;
        let id = || vec![("migration", m.id.to_string())];
        let with = |name, value: String| [id(), vec![(name, value)]].concat();
        let mut labels = with("state", m.state.to_string());
        labels.extend([
            ("map", m.map.to_string()),
            ("source", m.source.to_string()),
            ("target", m.target.to_string()),
        ]);
        self.set(STATE, labels, 1.0);
        let live = view.owner.as_ref().is_some_and(|owner| owner.live);
        self.set(OWNED, id(), flag(live));
        for wait in &view.waits {
            let labels = with("kind", wait.kind.name().to_owned());
            if let Some(since) = wait.since {
                self.set(WAITING, labels.clone(), seconds(at, since));
            }
            self.set(WAITS, labels, 1.0);
        }
        let ratio = view.throttle_status().map_or(1.0, |slowed| slowed.ratio);
        self.set(THROTTLE_RATIO, id(), ratio);
        for step in &view.steps {
            self.of_step(&with("step", step.id.to_string()), step);
        }
        if let Some(stream) = &view.stream {
            self.of_stream(&with("direction", stream.direction.to_string()), stream);
        }
    }

    fn of_step(&mut self, labels: &Labels, step: &StepView) {
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
            self.set(LEFT, labels.clone(), left);
        }
    }

    fn of_stream(&mut self, labels: &Labels, stream: &StreamStatus) {
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
