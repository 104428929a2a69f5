//! Conversions: a map gets another strategy or another key, and no row moves (ADR 78).
//!
//! The store has a record of a conversion until its last guard is removed. The process that runs the conversion can end at
//! any time. The next leader then takes it over with a new epoch: if the version was written, it replaces the guards,
//! otherwise it removes them.

mod request;
mod settle;

pub use request::{ConversionReport, ConvertRequest};

use super::dispatch::shard_ref;
use super::{ControlError, Controller, clock, fail_points};
use crate::store::{ConversionRecord, ShardRecord};
use futures::future::try_join_all;
use plans::doctor::Finding;
use plans::failure::{Failure, RetryClass};
use plans::id::{Epoch, MapName, MigrationId, ShardName};
use plans::inspection::convert::{ConversionPhase, ConvertTask, ConvertedShard, Division};
use plans::inspection::{Inspected, Inspection};
use plans::planner::PlanError;
use plans::shard_map::{ConversionError, KeysByShard, ShardMap};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Additional time for an agent that reads the keys of whole tables.
const WORK: Duration = Duration::from_secs(3600);

/// How often the shards are read again because keys appeared. After the first guards only keys can appear that were
/// written before them, so the second reading finds nothing.
const MAX_READINGS: usize = 5;

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
    wanted: ShardMap,
    shards: Vec<ShardRecord>,
    /// The shards that may have rows or guards of the map.
    involved: Vec<ShardName>,
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
        let record = ConversionRecord {
            id: super::admission::new_id(),
            map: name.clone(),
            epoch: Epoch(1),
            before: shapes.before.version,
            version: None,
            shards: shapes.involved.clone(),
            by: actor.to_owned(),
            created_at: clock(),
            finished_at: None,
        };
        let running = Running {
            controller: self.clone(),
            id: record.id.clone(),
        };
        let conversions = &self.inner.conversions;
        conversions.with(|all| all.insert(record.id.clone()));
        self.inner.store.begin_conversion(&record).await?;
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

    /// Returns the maps and the shards of a conversion.
    async fn shapes(
        &self,
        name: &MapName,
        request: &ConvertRequest,
    ) -> Result<Shapes, ControlError> {
        let before = self.bare_map(name).await?;
        let shards = self.inner.store.shards().await?;
        let known: Vec<ShardName> = shards.iter().map(|shard| shard.name.clone()).collect();
        let wanted = request.wanted(&before, &known)?;
        wanted.check_complete()?;
        let mut involved: BTreeSet<ShardName> =
            before.shards().into_iter().chain(wanted.shards()).collect();
        involved.extend(self.inner.store.shards_of_map(name).await?);
        Ok(Shapes {
            before,
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
        let (existing, keys) = self.read_keys(None, shapes).await?;
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
        fail_point::hit(fail_points::CONVERSION_WRITTEN).await?;
        Ok(closed)
    }

    /// Reads the keys, creates the guards, and reads the keys again until no new one is found.
    async fn close_shards(
        &self,
        record: &ConversionRecord,
        shapes: &Shapes,
    ) -> Result<Closed, ControlError> {
        let (mut existing, mut keys) = self.read_keys(Some(record), shapes).await?;
        let since = Instant::now();
        for _ in 0..MAX_READINGS {
            let map = shapes.wanted.with_existing(&existing)?;
            let division = division_of(&map);
            let tasks = shapes.involved.iter().map(|shard| {
                let phase = ConversionPhase::Close {
                    refused: map.refused_by(shard),
                };
                self.convert_shard(record, &shapes.shards, shard, &division, phase)
            });
            let mut found_new = false;
            for (shard, read) in shapes.involved.iter().zip(try_join_all(tasks).await?) {
                let Some(found) = read.keys.filter(|keys| !keys.is_empty()) else {
                    continue;
                };
                found_new = true;
                keys += u64::try_from(found.pieces().len()).unwrap_or_default();
                let own = existing
                    .entry(shard.clone())
                    .or_insert_with(|| map.empty_key_set());
                *own = own.union(&found);
            }
            if !found_new {
                return Ok(Closed { map, keys, since });
            }
        }
        Err(ControlError::Inspection(Failure {
            code: plans::failure::StepCode::ConvertEnded.into(),
            message: format!(
                "keys appeared on other shards of map {} although guards refused them",
                record.map
            ),
            hint: Some(
                "a session of the application bypasses the guards: see docs/application.md"
                    .to_owned(),
            ),
            retry: RetryClass::None,
        }))
    }

    /// Reads the keys of every shard. With a conversion the shards are enrolled in it.
    async fn read_keys(
        &self,
        record: Option<&ConversionRecord>,
        shapes: &Shapes,
    ) -> Result<(KeysByShard, u64), ControlError> {
        let example = ConversionRecord {
            id: super::admission::new_id(),
            map: shapes.before.name.clone(),
            epoch: Epoch(0),
            before: shapes.before.version,
            version: None,
            shards: Vec::new(),
            by: String::new(),
            created_at: clock(),
            finished_at: None,
        };
        let division = division_of(&shapes.wanted);
        let tasks = shapes.involved.iter().map(|shard| {
            let phase = ConversionPhase::Read {
                enrol: record.is_some(),
                before: division_of(&shapes.before),
                owned: shapes.before.owned_by(shard),
                empty: shapes.wanted.empty_key_set(),
            };
            let record = record.unwrap_or(&example);
            self.convert_shard(record, &shapes.shards, shard, &division, phase)
        });
        let read = try_join_all(tasks).await?;
        let count = read.iter().map(|shard| shard.count).sum();
        let keys = shapes.involved.iter().cloned().zip(read);
        let keys = keys.filter_map(|(shard, read)| Some((shard, read.keys?)));
        Ok((keys.collect(), count))
    }

    /// Lets an agent perform one task of a conversion on one shard.
    async fn convert_shard(
        &self,
        record: &ConversionRecord,
        shards: &[ShardRecord],
        shard: &ShardName,
        division: &Division,
        phase: ConversionPhase,
    ) -> Result<ConvertedShard, ControlError> {
        let task = ConvertTask {
            shard: shard_ref(shards, shard)?,
            conversion: record.id.clone(),
            epoch: record.epoch.0,
            map: record.map.clone(),
            before: record.before,
            division: division.clone(),
            phase,
        };
        let inspection = Inspection::Convert(Box::new(task));
        match self.inspect(inspection, WORK).await? {
            Inspected::Converted(converted) => Ok(converted),
            _ => Err(ControlError::InspectionLost),
        }
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
            other => Self::Conversion(Box::new(other)),
        }
    }
}
