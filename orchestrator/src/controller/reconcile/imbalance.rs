//! The history of the fleet's imbalance: one sample in each five minutes, from the last probes of the shards.

use super::super::{ControlError, Controller, FleetMeasure, ProbedShard};
use crate::store::{IMBALANCE_KEPT, ImbalanceSample, ShardRecord};
use chrono::{DateTime, Utc};
use plans::id::ShardName;
use std::collections::BTreeMap;

impl Controller {
    /// Returns the imbalance of the fleet over the last day, oldest first.
    ///
    /// # Errors
    /// An error of the store.
    pub async fn imbalance_history(&self) -> Result<Vec<ImbalanceSample>, ControlError> {
        let since = super::clock() - IMBALANCE_KEPT;
        Ok(self.inner.store.imbalance(since).await?)
    }

    /// Stores the imbalance of this interval, unless every measure that is known now is stored already.
    pub(super) async fn sample_imbalance(
        &self,
        shards: &[ShardRecord],
        now: DateTime<Utc>,
    ) -> Result<(), ControlError> {
        let sample = ImbalanceSample {
            at: ImbalanceSample::interval_of(now),
            factors: factors(shards, &self.inner.fleet.probed_shards()),
        };
        if self.inner.fleet.is_new_sample(&sample) {
            self.inner.store.add_imbalance(&sample).await?;
            self.inner.fleet.note_sample(sample);
        }
        Ok(())
    }
}

/// Returns the imbalance by each measure. Nothing counts as measured while most of the last probes have failed: their
/// values are from an earlier time.
fn factors(
    shards: &[ShardRecord],
    probes: &BTreeMap<ShardName, ProbedShard>,
) -> BTreeMap<String, f64> {
    let primaries = shards.iter().filter(|shard| !shard.is_standby());
    let probed: Vec<(&ShardRecord, &ProbedShard)> = primaries
        .filter_map(|shard| Some((shard, probes.get(&shard.name)?)))
        .collect();
    let is_reached = |(_, probed): &&(&ShardRecord, &ProbedShard)| probed.failure.is_none();
    let reached = probed.iter().filter(is_reached).count();
    if 2 * reached < probed.len() {
        return BTreeMap::new();
    }
    let factor = |measure: FleetMeasure| {
        let factor = measure.imbalance(probed.iter().copied())?;
        Some((measure.name().to_owned(), factor))
    };
    FleetMeasure::ALL.into_iter().filter_map(factor).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::fleet_measure::tests::{shard, sized};

    #[test]
    fn the_values_of_unreachable_shards_are_no_sample() {
        let shards = ["a", "b", "c"].map(|name| ShardRecord {
            name: ShardName::from(name),
            ..shard(100)
        });
        let probes = |failed: usize| -> BTreeMap<ShardName, ProbedShard> {
            let probe = |(number, shard): (usize, &ShardRecord)| {
                let probed = ProbedShard {
                    failure: (number < failed).then(|| "refused".to_owned()),
                    ..sized(Some(100))
                };
                (shard.name.clone(), probed)
            };
            shards.iter().enumerate().map(probe).collect()
        };
        assert_eq!(factors(&shards, &probes(1)).get("size"), Some(&1.0));
        assert_eq!(factors(&shards, &probes(2)), BTreeMap::new());
    }
}
