//! One tenant at a time, so that the clients meet: all clients of the lists (or of the bank) use the same tenant for a
//! few actions, then all use the next one.

use super::TenantMix;
use crate::shop::Shop;
use client::Map;
use plans::id::ShardName;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The maximum number of moving tenants, and of other tenants, that are used.
const MAX_TENANTS: usize = 16;
/// How many actions all clients together execute with one tenant.
const ACTIONS_PER_TENANT: u64 = 8;
/// The time within which a client receives a map with another owner.
const NEW_MAP_LIMIT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Selects the next tenant.
#[derive(Debug)]
pub(super) struct SharedTenant {
    moving: Vec<i64>,
    staying: Vec<i64>,
    share: f64,
    seed: u64,
    actions: AtomicU64,
}

impl SharedTenant {
    pub(super) fn new(mix: &TenantMix, seed: u64) -> Self {
        let few = |tenants: &[i64]| tenants.iter().take(MAX_TENANTS).copied().collect();
        Self {
            moving: few(&mix.moving),
            staying: few(&mix.staying),
            share: mix.share,
            seed,
            actions: AtomicU64::new(0),
        }
    }

    /// Reactions the tenant of the next action, and another one that moves or stays in the same way, if there is one.
    pub(super) fn next(&self) -> (i64, Option<i64>) {
        let round = self.actions.fetch_add(1, Ordering::Relaxed) / ACTIONS_PER_TENANT;
        let mut rng = StdRng::seed_from_u64(self.seed.wrapping_add(round));
        let is_moving = self.staying.is_empty() || rng.random_bool(self.share);
        let tenants = if is_moving && !self.moving.is_empty() {
            &self.moving
        } else {
            &self.staying
        };
        let index = usize::try_from(round).unwrap_or_default() % tenants.len();
        let other = tenants[(index + 1) % tenants.len()];
        (tenants[index], (tenants.len() > 1).then_some(other))
    }
}

/// Reactions whether `shard` owns the tenant's key. It is called if no row was found.
///
/// A read uses the map that its client had when it began. It may reach an old owner on which rows are being removed
/// (docs/protocol.md: the guard does not refuse reads). Then the map already names another owner, or soon will.
pub(super) async fn still_owns(map: &Map, shop: &Shop, tenant: i64, shard: &ShardName) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < NEW_MAP_LIMIT {
        let owner = map.shard_for(shop.key(tenant));
        if owner.is_ok_and(|owner| owner != *shard) {
            return false;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    true
}
