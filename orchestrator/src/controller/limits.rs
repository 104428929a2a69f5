//! What a migration may take of its shards: changed by the operator at any time, told to its agent with the next
//! heartbeat, together with what the application reports of itself.

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

/// One limit and its new value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitChange {
    /// Which.
    pub limit: Setting,
    /// As a person writes it; `off` takes it away.
    pub value: String,
    /// Why; kept in the journal.
    #[serde(default)]
    pub reason: Option<String>,
}

/// An application's word about its own latency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencyReport {
    /// 99 of 100 requests of the last seconds took no longer, milliseconds.
    pub p99_ms: f64,
}

/// The last report for each map; in memory, lost with the process.
#[derive(Debug, Default)]
pub(super) struct Latencies(Mutex<BTreeMap<MapName, (f64, DateTime<Utc>)>>);

impl Latencies {
    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<MapName, (f64, DateTime<Utc>)>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Controller {
    /// Sets a limit of a migration that has not ended.
    ///
    /// # Errors
    /// [`ControlError::Limit`] for a value that it cannot have, [`ControlError::Illegal`] after the end.
    pub async fn set_limit(
        &self,
        id: &MigrationId,
        change: &LimitChange,
        actor: &str,
    ) -> Result<Snapshot, ControlError> {
        let edit = |draft: &mut MigrationDraft| set(draft, change);
        let ((), after) = self.change(id, actor, edit).await?;
        let (limit, value) = (change.limit, &change.value);
        tracing::info!(migration = %id, %limit, value, actor, "limit set");
        Ok(after)
    }

    /// Takes what the application that uses a map reports of itself.
    ///
    /// # Errors
    /// An unknown map, a p99 that is none, or what the store says.
    pub async fn hear_latency(
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
        let heard = (report.p99_ms, clock());
        self.inner
            .latencies
            .with(|table| table.insert(map.clone(), heard));
        Ok(())
    }

    /// The last report for a map, with its age.
    pub(super) fn latency(&self, map: &MapName) -> Option<Latency> {
        let (p99_ms, at) = self.inner.latencies.with(|table| table.get(map).copied())?;
        Some(Latency {
            p99_ms,
            age_ms: (clock() - at).num_milliseconds(),
        })
    }
}

fn set(draft: &mut MigrationDraft, change: &LimitChange) -> Result<(), ControlError> {
    let m = &draft.snapshot().migration;
    if m.finished_at.is_some() {
        return Err(ended(m, change.limit));
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
    draft.note("limits.set", None, data);
    Ok(())
}

fn ended(m: &Migration, limit: Setting) -> ControlError {
    ControlError::Illegal {
        command: format!("set {limit}"),
        migration: m.id.clone(),
        state: m.state,
        ownership: m.ownership,
        hint: Some("it has ended".to_owned()),
    }
}
