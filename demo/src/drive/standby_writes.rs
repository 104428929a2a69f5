//! The client that tries to write to the standby that becomes the target, and the judgement of accepted writes.

use super::DemoRun;
use crate::api::{Api, ApiError, MigrationStatus};
use crate::error::DemoError;
use crate::fleet::{Fleet, TARGET};
use crate::ledger::Ledger;
use crate::scenario::Scenario;
use crate::workload::{StandbyWriter, StandbyWriterSettings, WriteJudge, WriteVerdict};
use futures::FutureExt;
use plans::id::MapName;
use plans::key::Key;
use plans::state::migration::MigrationState;
use plans::step::StepKind;
use std::sync::Arc;
use std::time::Duration;

const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Starts the client.
pub(crate) fn start(
    scenario: &Scenario,
    fleet: &Fleet,
    api: &Api,
    ledger: &Arc<Ledger>,
) -> Result<StandbyWriter, DemoError> {
    let settings = StandbyWriterSettings {
        shard: TARGET.into(),
        dsn: fleet.app_dsn(TARGET)?,
        mix: Arc::new(scenario.mix()),
        shop: scenario.shop,
        judge: judge_by(api.clone(), scenario.map.name.clone()),
    };
    Ok(StandbyWriter::start(settings, ledger))
}

/// Judges by what the controller answers after the write. The target opens after the flip (I5), so a write that it may
/// accept is always younger than the map that permits it.
fn judge_by(api: Api, map: MapName) -> WriteJudge {
    Arc::new(move |key| {
        let (api, map) = (api.clone(), map.clone());
        async move {
            loop {
                if let Ok(verdict) = judge(&api, &map, &key).await {
                    return verdict;
                }
                // The controller, or its store, may be unreachable for a while.
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
        .boxed()
    })
}

async fn judge(api: &Api, map: &MapName, key: &Key) -> Result<WriteVerdict, ApiError> {
    if let Some(id) = api.newest_operation().await?
        && is_abandoned(&api.migration(&id).await?)
    {
        return Ok(WriteVerdict::NoShard);
    }
    let map = api.map(map).await?;
    let owner = map.locate(key).map(|mapping| mapping.shard.as_str());
    Ok(match owner == Some(TARGET) {
        true => WriteVerdict::Owner,
        false => WriteVerdict::Violation,
    })
}

/// Returns whether the agent has removed, or is removing, the guards on a target that does not become a shard.
fn is_abandoned(migration: &MigrationStatus) -> bool {
    let is_removed = migration
        .step(StepKind::DropNew)
        .is_some_and(|step| step.attempt > 0);
    match migration.state {
        MigrationState::Unwinding | MigrationState::Unwound => true,
        MigrationState::RolledBack => is_removed,
        MigrationState::Planned
        | MigrationState::Running
        | MigrationState::Waiting
        | MigrationState::Paused
        | MigrationState::Failed
        | MigrationState::Flipped
        | MigrationState::Completed => false,
    }
}

impl DemoRun<'_> {
    /// Starts the client that writes to the standby, if the target is a standby.
    pub(super) async fn start_standby_writer(&self) -> Result<(), DemoError> {
        if self.options.is_seeded() {
            let writer = start(&self.scenario, &self.fleet, &self.api, &self.ledger)?;
            self.standby_writer.lock().await.replace(writer);
        }
        Ok(())
    }

    /// Ends the client that writes to the standby, if it runs.
    pub(super) async fn stop_standby_writer(&self) -> Result<(), DemoError> {
        let writer = self.standby_writer.lock().await.take();
        match writer {
            Some(writer) => writer
                .stop()
                .await
                .map_err(DemoError::io("write the ledger")),
            None => Ok(()),
        }
    }
}
