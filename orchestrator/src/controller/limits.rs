//! Limits of a migration. The operator can change them at any time. The controller sends them to the agent with the
//! answer to the next heartbeat, together with the latency that the application reports.

use super::draft::MigrationDraft;
use super::{ControlError, Controller, clock};
use crate::store::{Migration, Snapshot};
use chrono::{DateTime, Utc};
use plans::id::{MapName, MigrationId};
use plans::throttle::{Latency, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A limit and its new value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitChange {
    /// The limit.
    pub limit: Setting,
    /// The new value, for example `20MB/s` for the rate of the copy. `off` removes the limit; for `streams` it restores
    /// the number of the plan.
    pub value: String,
    /// The reason, for the journal.
    #[serde(default)]
    pub reason: Option<String>,
}

/// The latency of an application, as the application reports it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencyReport {
    /// The 99th percentile of the duration of requests in the last seconds, in milliseconds.
    pub p99_ms: f64,
}

/// The last reported latency (p99) of each map, in milliseconds, and when it arrived. It exists only in memory.
#[derive(Debug, Default)]
pub(super) struct Latencies(Mutex<BTreeMap<MapName, (f64, DateTime<Utc>)>>);

impl Latencies {
    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<MapName, (f64, DateTime<Utc>)>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Controller {
    /// Sets a limit of an unfinished migration.
    ///
    /// # Errors
    /// [`ControlError::Limit`] if the limit cannot have this value, [`ControlError::Illegal`] if the migration has
    /// ended.
    pub async fn set_limit(
        &self,
        id: &MigrationId,
        change: &LimitChange,
        actor: &str,
    ) -> Result<Snapshot, ControlError> {
        let edit = |draft: &mut MigrationDraft| set_on_draft(draft, change);
        let ((), after) = self.change(id, actor, edit).await?;
        let (limit, value) = (change.limit, &change.value);
        tracing::info!(migration = %id, %limit, value, actor, "limit set");
        Ok(after)
    }

    /// Records the latency that an application reports for a map.
    ///
    /// # Errors
    /// The map does not exist, `p99_ms` is not a number above 0, or the store failed.
    pub async fn record_latency(
        &self,
        map: &MapName,
        report: LatencyReport,
    ) -> Result<(), ControlError> {
        if !(report.p99_ms.is_finite() && report.p99_ms > 0.0) {
            return Err(ControlError::Invalid {
                what: format!("p99_ms is {}, not above 0", report.p99_ms),
            });
        }
        self.bare_map(map).await?;
        let latency = (report.p99_ms, clock());
        self.inner
            .latencies
            .with(|table| table.insert(map.clone(), latency));
        Ok(())
    }

    /// Returns the last report for a map, with its age.
    pub(super) fn latency(&self, map: &MapName) -> Option<Latency> {
        let (p99_ms, at) = self.inner.latencies.with(|table| table.get(map).copied())?;
        Some(Latency {
            p99_ms,
            age_ms: (clock() - at).num_milliseconds(),
        })
    }
}

/// Sets the limit on the draft, and records it in the journal.
fn set_on_draft(draft: &mut MigrationDraft, change: &LimitChange) -> Result<(), ControlError> {
    let m = &draft.snapshot().migration;
    if m.finished_at.is_some() {
        return Err(ended_error(m, change.limit));
    }
    let before = m.limits();
    let mut limits = before.clone();
    change
        .limit
        .set(&mut limits, &change.value, m.plan.options.copy_streams)?;
    draft.migration().limits = Some(limits.clone());
    let data = json!({
        "limit": change.limit,
        "value": change.value,
        "reason": change.reason,
        "before": before,
        "after": limits,
    });
    draft.record("limits.set", None, data);
    Ok(())
}

/// Returns the error for a migration that has ended.
fn ended_error(m: &Migration, limit: Setting) -> ControlError {
    ControlError::Illegal {
        command: format!("set {limit}"),
        migration: m.id.clone(),
        state: m.state,
        ownership: m.ownership,
        hint: Some("the migration has ended".to_owned()),
    }
}
