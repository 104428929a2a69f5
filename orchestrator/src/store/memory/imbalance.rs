//! The history of the fleet's imbalance in memory.

use super::MemoryStore;
use crate::store::{IMBALANCE_KEPT, ImbalanceSample, ImbalanceStore, StoreFuture};
use chrono::{DateTime, Utc};

impl ImbalanceStore for MemoryStore {
    fn add_imbalance<'a>(&'a self, sample: &'a ImbalanceSample) -> StoreFuture<'a, ()> {
        self.write(|state| {
            let kept = &mut state.imbalance;
            kept.retain(|at, _| *at >= sample.at - IMBALANCE_KEPT);
            let factors = kept.entry(sample.at).or_default();
            factors.extend(sample.factors.clone());
            Ok(())
        })
    }

    fn imbalance(&self, since: DateTime<Utc>) -> StoreFuture<'_, Vec<ImbalanceSample>> {
        self.run(|state| {
            let samples = state.imbalance.range(since..);
            let samples = samples.map(|(at, factors)| ImbalanceSample {
                at: *at,
                factors: factors.clone(),
            });
            Ok(samples.collect())
        })
    }
}
