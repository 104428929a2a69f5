//! What agents do on the shards for a conversion.

use super::super::dispatch::shard_ref;
use super::super::planning::AT_ONCE;
use super::super::{ControlError, Controller};
use super::{Closed, Shapes, division_of};
use crate::store::{ConversionRecord, ShardRecord};
use futures::stream::{StreamExt, TryStreamExt};
use plans::failure::{Failure, RetryClass, StepCode};
use plans::id::ShardName;
use plans::inspection::convert::{
    ConversionPhase, ConvertTask, ConvertedShard, Division, KeyReading,
};
use plans::inspection::{Inspected, Inspection};
use plans::shard_map::KeysByShard;
use std::time::{Duration, Instant};

/// Additional time for an agent that reads the keys of whole tables.
const WORK: Duration = Duration::from_secs(3600);

/// How often the shards are read again because keys appeared. After the first guards only keys can appear that were
/// written before them, so the second reading finds nothing.
const MAX_READINGS: usize = 5;

impl Controller {
    /// Reads the keys, creates the guards, and reads the keys again until no new one is found.
    pub(super) async fn close_shards(
        &self,
        record: &ConversionRecord,
        shapes: &Shapes,
    ) -> Result<Closed, ControlError> {
        let (mut existing, mut keys) = self.read_keys(record, shapes, true).await?;
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
            let read: Vec<ConvertedShard> = some_at_once(tasks).try_collect().await?;
            for (shard, read) in shapes.involved.iter().zip(read) {
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
            code: StepCode::ConvertBypassed.into(),
            message: format!(
                "keys appeared on other shards of map {} although guards refused them",
                record.map
            ),
            hint: StepCode::ConvertBypassed.hint().map(str::to_owned),
            retry: RetryClass::None,
        }))
    }

    /// Reads the keys of every shard. With `enrol` the shards are enrolled in the conversion.
    pub(super) async fn read_keys(
        &self,
        record: &ConversionRecord,
        shapes: &Shapes,
        enrol: bool,
    ) -> Result<(KeysByShard, u64), ControlError> {
        let division = division_of(&shapes.wanted);
        let tasks = shapes.involved.iter().map(|shard| {
            let phase = ConversionPhase::Read(Box::new(KeyReading {
                enrol,
                before: division_of(&shapes.before),
                owned: shapes.before.owned_by(shard),
                empty: shapes.wanted.empty_key_set(),
            }));
            self.convert_shard(record, &shapes.shards, shard, &division, phase)
        });
        let read: Vec<ConvertedShard> = some_at_once(tasks).try_collect().await?;
        let count = read.iter().map(|shard| shard.count).sum();
        let keys = shapes.involved.iter().cloned().zip(read);
        let keys = keys.filter_map(|(shard, read)| Some((shard, read.keys?)));
        Ok((keys.collect(), count))
    }

    /// Lets an agent perform one task of a conversion on one shard.
    pub(super) async fn convert_shard(
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
        let Inspected::Converted(converted) = self.inspect(inspection, WORK).await? else {
            return Err(ControlError::OtherAnswer);
        };
        Ok(converted)
    }
}

/// Runs the tasks of some shards at once, in their order. More would wait for an agent for too long.
pub(super) fn some_at_once<T: Future>(
    tasks: impl Iterator<Item = T>,
) -> impl futures::Stream<Item = T::Output> {
    futures::stream::iter(tasks.collect::<Vec<_>>()).buffered(AT_ONCE)
}
