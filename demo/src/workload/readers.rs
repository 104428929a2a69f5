//! Clients that only read. They show whether moving keys can be read all the time.

use super::TenantMix;
use super::tenant_tables::TenantTables;
use crate::shop::Shop;
use client::{Map, TransactionOptions};
use futures::FutureExt;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;

/// The time between two reads.
const READ_INTERVAL: Duration = Duration::from_millis(5);

/// A running reader of moving keys. Dropping the value ends it.
#[derive(Debug)]
pub struct KeyReaders {
    task: JoinHandle<()>,
    succeeded: Arc<AtomicU64>,
}

impl KeyReaders {
    /// Starts to read.
    #[must_use]
    pub fn start(seed: u64, mix: Arc<TenantMix>, shop: Shop, map: Map) -> Self {
        let succeeded = Arc::new(AtomicU64::new(0));
        let moving = TenantMix {
            staying: Vec::new(),
            ..mix.as_ref().clone()
        };
        let task = tokio::spawn(read_repeatedly(
            seed,
            moving,
            shop,
            map,
            Arc::clone(&succeeded),
        ));
        Self { task, succeeded }
    }

    /// Returns the number of reads of moving keys that have found their tenant.
    #[must_use]
    pub fn succeeded(&self) -> u64 {
        self.succeeded.load(Ordering::Relaxed)
    }
}

impl Drop for KeyReaders {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read_repeatedly(
    seed: u64,
    mix: TenantMix,
    shop: Shop,
    map: Map,
    succeeded: Arc<AtomicU64>,
) {
    let mut rng = StdRng::seed_from_u64(seed);
    let sql = shop
        .shape
        .fill("select id from accounts where {is_1} limit 1");
    let tables = TenantTables::new(shop.shape);
    loop {
        let tenant = mix.choose_tenant(&mut rng);
        let plain = TransactionOptions::default();
        let found = map
            .with_shard(&shop.key(tenant), plain, |tx| {
                let (sql, tables) = (sql.clone(), tables.clone());
                async move {
                    tables.select(tx, tenant).await?;
                    tx.query(&sql, &[&tenant]).await
                }
                .boxed()
            })
            .await;
        match found {
            Ok(rows) if !rows.is_empty() => {
                succeeded.fetch_add(1, Ordering::Relaxed);
            }
            Ok(_) => tracing::warn!(tenant, "a moving tenant has no account"),
            Err(error) => tracing::warn!(tenant, %error, "could not read a moving tenant"),
        }
        tokio::time::sleep(READ_INTERVAL).await;
    }
}
