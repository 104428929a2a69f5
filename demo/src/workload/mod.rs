//! The application's clients: concurrent transactions through the client library, each written to the ledger.
//!
//! Order for each transaction: choose tenant and kind, run it, settle an unknown commit by looking for it,
//! write the line. [`Mix`] says which tenants are chosen; [`Readers`] read beside the clients that write.

mod job;
mod plan;
mod readers;
mod worker;

pub use plan::{Choice, Mix};
pub use readers::Readers;

use crate::ledger::Ledger;
use crate::shop::Shop;
use client::Map;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How hard the clients work.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Clients side by side.
    pub clients: u32,
    /// Transactions per second of all clients together, at most.
    pub rate: f64,
    /// Makes the choices repeatable, as far as concurrency allows.
    pub seed: u64,
    /// Which tenants they choose.
    pub mix: Arc<Mix>,
}

/// Running clients. Dropping it ends them in the middle.
#[derive(Debug)]
pub struct Workload {
    run: watch::Sender<Run>,
    clients: JoinSet<Result<(), std::io::Error>>,
    idle: Arc<AtomicU64>,
    settings: Settings,
}

/// What the clients are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run {
    Go,
    Pause,
    Stop,
}

impl Workload {
    /// Starts the clients.
    #[must_use]
    pub fn start(settings: Settings, shop: Shop, map: &Map, ledger: &Arc<Ledger>) -> Self {
        let run = watch::Sender::new(Run::Go);
        let mut clients = JoinSet::new();
        let idle = Arc::new(AtomicU64::new(0));
        for client in 0..settings.clients {
            let worker = worker::Worker::new(
                client,
                &settings,
                shop,
                worker::Shared {
                    map: map.clone(),
                    ledger: Arc::clone(ledger),
                    idle: Arc::clone(&idle),
                },
            );
            clients.spawn(worker.run(run.subscribe()));
        }
        Self {
            run,
            clients,
            idle,
            settings,
        }
    }

    /// Lets every client finish its transaction and returns when none is under way.
    pub async fn pause(&self) {
        self.run.send_replace(Run::Pause);
        let everyone = u64::from(self.settings.clients);
        while self.idle.load(std::sync::atomic::Ordering::Acquire) < everyone {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    /// Goes on after [`Workload::pause`].
    pub fn resume(&self) {
        self.run.send_replace(Run::Go);
    }

    /// Lets every client finish its transaction and ends.
    ///
    /// # Errors
    /// The ledger file's, or that of a client that panicked.
    pub async fn stop(mut self) -> Result<(), std::io::Error> {
        self.run.send_replace(Run::Stop);
        while let Some(ended) = self.clients.join_next().await {
            ended.map_err(std::io::Error::other)??;
        }
        Ok(())
    }
}
