//! Generates fleets of any size with skewed load, regions, pinned items, misplaced items and drained shards.

use plans::rebalance::{
    AllowedId, AllowedSet, AllowedTable, RebalanceItem, RebalanceLimits, RebalanceResult,
    RebalanceShard, rebalance,
};
use std::collections::BTreeMap;

/// The regions. Shard `i` is in region `i` modulo the number of regions.
const REGIONS: [&str; 4] = ["eu", "us", "ap", "sa"];

/// The input of a rebalance.
#[derive(Debug, Clone)]
pub struct Fleet {
    /// The shards. An item refers to its shard by the index.
    pub shards: Vec<RebalanceShard>,
    /// The items: the keys that a rebalance can move as a unit.
    pub items: Vec<RebalanceItem>,
    /// The sets of shards on which items are allowed. An item refers to its set by the index.
    pub allowed: Vec<AllowedSet>,
    /// The limits: threshold 10 %, at most one concurrent move per shard and 16 in total.
    pub limits: RebalanceLimits,
}

impl Fleet {
    /// Plans the fleet's rebalance.
    ///
    /// # Panics
    /// Never for a generated fleet: its indices are valid.
    #[must_use]
    pub fn rebalance(&self) -> RebalanceResult {
        match rebalance(&self.shards, &self.items, &self.allowed, &self.limits) {
            Ok(outcome) => outcome,
            Err(error) => panic!("a generated fleet has valid indices: {error}"),
        }
    }
}

/// Generates a fleet of `shards` shards with `items` items, most of them on the first half of the shards.
///
/// Half of the items must stay in their region. Some items must not be on a certain shard, or are pinned to their
/// present shard. A few items may be on a shard that is not allowed for them. One shard in a hundred is drained.
#[must_use]
pub fn skewed(shards: u32, items: u32) -> Fleet {
    let fleet: Vec<RebalanceShard> = (0..shards).map(shard).collect();
    let mut table = AllowedTable::default();
    let all_shards = table.id(AllowedSet::everywhere());
    let regions = REGIONS.map(|region| {
        let inside = |shard: &RebalanceShard| {
            shard
                .labels
                .get("region")
                .is_some_and(|label| label == region)
        };
        table.id(AllowedSet::matching(&fleet, inside))
    });
    let pinned: Vec<AllowedId> = (0..shards)
        .map(|shard| table.id(AllowedSet::of([shard])))
        .collect();
    let exclusions: Vec<AllowedId> = (0..shards)
        .map(|shard| table.id(AllowedSet::of((0..shards).filter(|other| *other != shard))))
        .collect();
    let mut random = Random(42);
    let item = |_| {
        let on_first_half = random.below(100) < 75;
        let half = shards.div_ceil(2);
        let shard = if on_first_half {
            random.below(half)
        } else {
            random.below(shards)
        };
        let allowed = match random.below(1_000) {
            0..500 => regions[shard as usize % REGIONS.len()],
            500..502 => regions[random.below(4) as usize],
            502..530 if shard % 100 != 99 => pinned[shard as usize],
            530..600 => exclusions[((shard + 1 + random.below(shards - 1)) % shards) as usize],
            _ => all_shards,
        };
        let cost = u64::from(1 + random.below(1_000));
        let bytes = u64::from(1_000 + random.below(100_000)) * (1 + cost / 100);
        RebalanceItem {
            shard,
            cost,
            bytes,
            allowed,
        }
    };
    Fleet {
        items: (0..items).map(item).collect(),
        shards: fleet,
        allowed: table.sets().to_vec(),
        limits: RebalanceLimits {
            threshold_ppm: 100_000,
            max_bytes: None,
            per_shard: 1,
            total: 16,
        },
    }
}

fn shard(index: u32) -> RebalanceShard {
    let region = REGIONS[index as usize % REGIONS.len()];
    RebalanceShard {
        name: format!("shard-{index:04}").as_str().into(),
        capacity: 2 + u64::from(index % 3),
        space: Some(1 << 40),
        labels: BTreeMap::from([("region".to_owned(), region.to_owned())]),
        accepts: index % 100 != 99,
    }
}

/// The random number generator `SplitMix64`. It gives the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `end` - 1.
    fn below(&mut self, end: u32) -> u32 {
        (self.next() % u64::from(end)) as u32
    }
}
