//! The application's clients: concurrent transactions through the client library, each written to the ledger.
//!
//! Order for each transaction: choose tenant and kind, run it, settle an unknown commit by looking for it,
//! write the line. [`TenantMix`] says which tenants are chosen; [`KeyReaders`] read beside the clients that write.
//! Beside them some clients append to lists, for histories that a checker can prove, and some move money in a bank.

mod bank;
mod focus;
mod job;
mod lists;
mod pace;
mod plan;
mod readers;
mod worker;

pub use plan::{TenantChoice, TenantMix};
pub use readers::KeyReaders;

use crate::ledger::Ledger;
use crate::shop::Shop;
use client::Map;
use focus::TenantFocus;
use pace::{ClientBeat, ClientCommand, ClientFuture};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use worker::{SharedClients, Worker};

/// How hard the clients work.
#[derive(Debug, Clone)]
pub struct WorkloadSettings {
    /// Clients side by side.
    pub clients: u32,
    /// Transactions per second of all clients together, at most.
    pub rate: f64,
    /// Makes the choices repeatable, as far as concurrency allows.
    pub seed: u64,
    /// Which tenants they choose.
    pub mix: Arc<TenantMix>,
}

/// Running clients. Dropping it ends them in the middle.
#[derive(Debug)]
pub struct Workload {
    run: watch::Sender<ClientCommand>,
    clients: JoinSet<Result<(), std::io::Error>>,
    idle: Arc<AtomicU64>,
}

/// What is added to the seeds of these clients.
const LIST_SEED: u64 = 1_000_000;
const BANK_SEED: u64 = 2_000_000;
/// Clients of lists, and their share of the rate.
const APPENDERS: (u32, f64) = (4, 0.1);
/// Clients that move money.
const TELLERS: (u32, f64) = (2, 0.04);
/// Clients that read the bank.
const AUDITORS: (u32, f64) = (1, 0.02);
/// Numbers of transfers that a teller has for itself.
const TRANSFERS_PER_TELLER: i64 = 1_000_000_000;

impl Workload {
    /// Starts the clients, and beside them some that append to lists and some of the bank.
    #[must_use]
    pub fn start(settings: WorkloadSettings, shop: Shop, map: &Map, ledger: &Arc<Ledger>) -> Self {
        let mut workload = Self {
            run: watch::Sender::new(ClientCommand::Go),
            clients: JoinSet::new(),
            idle: Arc::new(AtomicU64::new(0)),
        };
        let shared = SharedClients {
            map: map.clone(),
            ledger: Arc::clone(ledger),
        };
        for client in 0..settings.clients {
            let worker = Worker::new(client, &settings, shop, shared.clone());
            workload.add((settings.clients, settings.rate), worker);
        }
        workload.add_lists(&settings, shop, &shared);
        workload.add_bank(&settings, shop, &shared);
        workload
    }

    fn add_lists(&mut self, settings: &WorkloadSettings, shop: Shop, shared: &SharedClients) {
        let seed = settings.seed.wrapping_add(LIST_SEED);
        let focus = Arc::new(TenantFocus::new(&settings.mix, seed));
        let board = Arc::new(lists::ListBoard::default());
        let sql = Arc::new(lists::ListStatements::new(shop.shape));
        let (clients, share) = APPENDERS;
        for number in 0..u64::from(clients) {
            let appender = lists::Appender {
                process: number,
                processes: u64::from(clients),
                shop,
                focus: Arc::clone(&focus),
                board: Arc::clone(&board),
                sql: Arc::clone(&sql),
                shared: shared.clone(),
                rng: StdRng::seed_from_u64(seed.wrapping_add(number)),
            };
            self.add((clients, settings.rate * share), appender);
        }
    }

    fn add_bank(&mut self, settings: &WorkloadSettings, shop: Shop, shared: &SharedClients) {
        let seed = settings.seed.wrapping_add(BANK_SEED);
        let focus = Arc::new(TenantFocus::new(&settings.mix, seed));
        let sql = Arc::new(bank::BankStatements::new(shop.shape));
        let (tellers, share) = TELLERS;
        for number in 0..tellers {
            let teller = bank::Teller {
                shop,
                focus: Arc::clone(&focus),
                sql: Arc::clone(&sql),
                shared: shared.clone(),
                rng: StdRng::seed_from_u64(seed.wrapping_add(u64::from(number))),
                next: i64::from(number) * TRANSFERS_PER_TELLER + 1,
            };
            self.add((tellers, settings.rate * share), teller);
        }
        let (auditors, share) = AUDITORS;
        for _ in 0..auditors {
            let auditor = bank::Auditor {
                shop,
                focus: Arc::clone(&focus),
                sql: Arc::clone(&sql),
                shared: shared.clone(),
            };
            self.add((auditors, settings.rate * share), auditor);
        }
    }

    /// Starts one of so many clients that work at this rate together.
    fn add(&mut self, (clients, rate): (u32, f64), client: impl ClientFuture + Send + 'static) {
        let beat = ClientBeat {
            period: Duration::from_secs_f64(f64::from(clients) / rate),
            idle: Arc::clone(&self.idle),
            command: self.run.subscribe(),
        };
        self.clients.spawn(beat.drive(client));
    }

    /// Lets every client finish its transaction and returns when none is under way.
    pub async fn pause(&self) {
        self.run.send_replace(ClientCommand::Pause);
        let everyone = u64::try_from(self.clients.len()).unwrap_or(u64::MAX);
        while self.idle.load(Ordering::Acquire) < everyone {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Goes on after [`Workload::pause`].
    pub fn resume(&self) {
        self.run.send_replace(ClientCommand::Go);
    }

    /// Lets every client finish its transaction and ends.
    ///
    /// # Errors
    /// The ledger file's, or that of a client that panicked.
    pub async fn stop(mut self) -> Result<(), std::io::Error> {
        self.run.send_replace(ClientCommand::Stop);
        while let Some(ended) = self.clients.join_next().await {
            ended.map_err(std::io::Error::other)??;
        }
        Ok(())
    }
}
