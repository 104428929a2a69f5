//! Conversions: a map gets another strategy or another key, and no row moves (ADR 78).
//!
//! The store has a record of a conversion until its last guard is removed. The process that runs the conversion can end at
//! any time. The next leader then takes it over with a new epoch: if the version was written, it replaces the guards,
//! otherwise it removes them.

mod request;
mod settle;
mod shards;

pub use request::{ConversionReport, ConvertRequest};

use super::{ControlError, Controller, clock, fail_points};
use crate::store::{ConversionRecord, ShardRecord};
use plans::doctor::Finding;
use plans::id::{Epoch, MapName, MapVersion, MigrationId, ShardName};
use plans::inspection::convert::Division;
use plans::planner::PlanError;
use plans::shard_map::{ConversionError, ShardMap};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The conversions that this process runs. It does not take them over from itself.
#[derive(Debug, Default)]
pub(super) struct RunningConversions(Mutex<BTreeSet<MigrationId>>);

impl RunningConversions {
    fn with<T>(&self, act: impl FnOnce(&mut BTreeSet<MigrationId>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Ends the mark that this process runs a conversion.
struct Running {
    controller: Controller,
    id: MigrationId,
}

impl Drop for Running {
    fn drop(&mut self) {
        let running = &self.controller.inner.conversions;
        running.with(|all| all.remove(&self.id));
    }
}

/// A map before the conversion, and as the request wants it.
#[derive(Clone)]
struct Shapes {
    before: Arc<ShardMap>,
    /// The revision of the settings of `before`.
    revision: i64,
    wanted: ShardMap,
    shards: Vec<ShardRecord>,
    /// The shards that may have rows or guards of the map.
    involved: Vec<ShardName>,
}

impl Shapes {
    /// Returns the record of a conversion that has not begun.
    fn record(&self, by: &str) -> ConversionRecord {
        ConversionRecord {
            id: super::admission::new_id(),
            map: self.before.name.clone(),
            epoch: Epoch(1),
            before: self.before.version,
            version: None,
            shards: self.involved.clone(),
            by: by.to_owned(),
            created_at: clock(),
            finished_at: None,
        }
    }
}

/// The result of the readings: the converted map, and when the first guard was created.
struct Closed {
    map: ShardMap,
    keys: u64,
    since: Instant,
}

impl Controller {
    /// Gives a map another strategy or another key. Each key that exists keeps its shard.
    ///
    /// The conversion continues if the caller does not wait for it any longer.
    ///
    /// # Errors
    /// A request that does not give an owner to each key, a key on two shards, rows without a key or on a wrong shard, an
    /// unfinished migration of the map, or a shard or an agent that does not answer.
    pub async fn convert_map(
        &self,
        name: &MapName,
        request: ConvertRequest,
        actor: &str,
    ) -> Result<ConversionReport, ControlError> {
        let shapes = self.shapes(name, &request).await?;
        self.refuse_new_obstacles(&shapes).await?;
        if request.dry_run {
            return self.estimate_conversion(&shapes).await;
        }
        let record = shapes.record(actor);
        let running = Running {
            controller: self.clone(),
            id: record.id.clone(),
        };
        let conversions = &self.inner.conversions;
        conversions.with(|all| all.insert(record.id.clone()));
        let store = &self.inner.store;
        store.begin_conversion(&record, shapes.revision).await?;
        let data = json!({ "conversion": record.id, "strategy": shapes.wanted.strategy });
        self.audit(
            actor,
            "map.converting",
            super::maps::audit_object(name),
            data,
        )
        .await?;
        let controller = self.clone();
        let task = tokio::spawn(async move {
            let _running = running;
            controller.run_conversion(&record, &shapes).await
        });
        task.await
            .unwrap_or_else(|_| Err(ControlError::InspectionLost))
    }

    /// Returns the last version between the two that divides the keys in another way than the version before.
    ///
    /// # Errors
    /// An error of the store.
    pub async fn converted_between(
        &self,
        map: &MapName,
        from: MapVersion,
        to: MapVersion,
    ) -> Result<Option<MapVersion>, ControlError> {
        let conversions = self.inner.store.conversions().await?;
        let versions = conversions.iter().filter(|c| &c.map == map);
        let versions = versions.filter_map(|conversion| conversion.version);
        let between =
            versions.filter(|version| *version > from.min(to) && *version <= from.max(to));
        Ok(between.max())
    }

    /// Returns the maps and the shards of a conversion.
    async fn shapes(
        &self,
        name: &MapName,
        request: &ConvertRequest,
    ) -> Result<Shapes, ControlError> {
        // The revision comes first: a change of the settings in between is then found when the conversion begins.
        let settings = self.inner.store.settings(name).await?;
        let revision = settings.first().map_or(0, |record| record.revision);
        let before = self.bare_map(name).await?;
        let shards = self.inner.store.shards().await?;
        let known: Vec<ShardName> = shards.iter().map(|shard| shard.name.clone()).collect();
        let wanted = request.wanted(&before, &known)?;
        wanted.check_complete()?;
        let mut involved: BTreeSet<ShardName> =
            before.shards().into_iter().chain(wanted.shards()).collect();
        // A shard that has released all of its keys has a guard, too. The rows of a standby are its primary's.
        involved.extend(self.inner.store.shards_of_map(name).await?);
        involved.retain(|name| {
            let mut standbys = shards.iter().filter(|shard| shard.is_standby());
            !standbys.any(|standby| &standby.name == name)
        });
        Ok(Shapes {
            before,
            revision,
            wanted,
            shards,
            involved: involved.into_iter().collect(),
        })
    }

    /// Fails if the tables could move with the key columns before the conversion, and cannot with those after it.
    async fn refuse_new_obstacles(&self, shapes: &Shapes) -> Result<(), ControlError> {
        let Shapes {
            before,
            wanted,
            shards,
            ..
        } = shapes;
        if division_of(before) == division_of(wanted) {
            return Ok(());
        }
        let known = self.obstacles(before, shards).await?;
        let mut findings = self.obstacles(wanted, shards).await?;
        let is_known = |finding: &Finding| {
            let mut known = known.iter();
            known.any(|known| (&known.code, &known.object) == (&finding.code, &finding.object))
        };
        findings.retain(|finding| !is_known(finding));
        if findings.is_empty() {
            return Ok(());
        }
        Err(PlanError::Refused { findings }.into())
    }

    /// Reads the keys, and returns what the conversion would do.
    async fn estimate_conversion(&self, shapes: &Shapes) -> Result<ConversionReport, ControlError> {
        let started = Instant::now();
        let record = shapes.record("");
        let (existing, keys) = self.read_keys(&record, shapes, false).await?;
        let map = shapes.wanted.with_existing(&existing)?;
        Ok(ConversionReport::new(
            &shapes.wanted,
            &map,
            keys,
            started.elapsed(),
        ))
    }

    async fn run_conversion(
        &self,
        record: &ConversionRecord,
        shapes: &Shapes,
    ) -> Result<ConversionReport, ControlError> {
        let written = self.write_version(record, shapes).await;
        // After an error of the store the version may have been written: the store decides.
        let settled = self.settle_conversion(&record.id).await;
        let closed = match (written, settled) {
            (Ok(closed), Ok(())) => closed,
            (Ok(closed), Err(error)) => {
                tracing::warn!(%error, conversion = %record.id, "the guards of a conversion are not replaced yet");
                closed
            }
            (Err(error), settled) => {
                if let Err(settling) = settled {
                    tracing::warn!(error = %settling, conversion = %record.id, "the guards of a conversion are not removed yet");
                }
                return Err(error);
            }
        };
        let mut report = ConversionReport::new(
            &shapes.wanted,
            &closed.map,
            closed.keys,
            closed.since.elapsed(),
        );
        report.conversion = Some(record.id.clone());
        report.version = Some(record.before.next());
        let data = json!({ "conversion": record.id, "version": report.version });
        self.audit(
            &record.by,
            "map.converted",
            super::maps::audit_object(&record.map),
            data,
        )
        .await?;
        self.announce();
        Ok(report)
    }

    /// Creates the guards on the shards, and then writes the version.
    async fn write_version(
        &self,
        record: &ConversionRecord,
        shapes: &Shapes,
    ) -> Result<Closed, ControlError> {
        fail_point::hit(fail_points::CONVERSION_BEGUN).await?;
        let closed = self.close_shards(record, shapes).await?;
        fail_point::hit(fail_points::CONVERSION_CLOSED).await?;
        self.inner.store.put_converted(record, &closed.map).await?;
        self.inner.counters.forget(&record.map);
        fail_point::hit(fail_points::CONVERSION_WRITTEN).await?;
        Ok(closed)
    }
}

fn division_of(map: &ShardMap) -> Division {
    Division {
        key: map.key.clone(),
        settings: map.settings.clone(),
    }
}

impl From<ConversionError> for ControlError {
    fn from(error: ConversionError) -> Self {
        match error {
            ConversionError::Map(error) => Self::Map(error),
            ConversionError::Unmapped { .. }
            | ConversionError::List { .. }
            | ConversionError::TwoShards { .. }
            | ConversionError::TooMany { .. } => Self::Conversion(Box::new(error)),
        }
    }
}
