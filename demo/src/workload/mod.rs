//! The application's clients: concurrent transactions through the client library, each recorded in the ledger.
//!
//! For each transaction a client chooses tenant and kind, executes it, determines the outcome of an unknown commit by a
//! search, and writes the ledger line. [`TenantMix`] determines which tenants are chosen. [`KeyReaders`] read
//! concurrently. [`StandbyWriter`] tries to write where the map does not permit it. Other clients append to lists, for histories that a checker can verify, and some move money in a bank.

mod bank;
mod client_loop;
mod job;
mod lists;
mod plan;
mod readers;
mod shared_tenant;
mod standby_writer;
mod tenant_tables;
mod worker;

pub use plan::{TenantChoice, TenantMix};
pub use readers::KeyReaders;
pub use standby_writer::{StandbyWriter, StandbyWriterSettings, WriteJudge, WriteVerdict};

use crate::ledger::Ledger;
use crate::shop::Shop;
use client::Map;
use client_loop::{ClientAction, ClientCommand, ClientLoop};
use rand::SeedableRng;
use rand::rngs::StdRng;
use shared_tenant::SharedTenant;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use worker::{SharedClients, Worker};

/// The settings of the workload.
#[derive(Debug, Clone)]
pub struct WorkloadSettings {
    /// The number of concurrent clients.
    pub clients: u32,
    /// The maximum number of transactions per second of the shop's clients together. The clients of lists and of the
    /// bank add their part of it ([`APPENDERS`], [`TELLERS`]).
    pub rate: f64,
    /// Makes the choices repeatable, as far as concurrency permits.
    pub seed: u64,
    /// The tenants among which the clients choose.
    pub mix: Arc<TenantMix>,
}

/// The running clients. Dropping the value ends them immediately.
#[derive(Debug)]
pub struct Workload {
    commands: watch::Sender<ClientCommand>,
    clients: JoinSet<Result<(), std::io::Error>>,
    paused: Arc<AtomicU64>,
}

/// Added to the seed, for the clients of lists.
const LIST_SEED: u64 = 1_000_000;
/// Added to the seed, for the clients of the bank.
const BANK_SEED: u64 = 2_000_000;
/// The number of clients of lists, and their part of the rate.
const APPENDERS: (u32, f64) = (4, 0.1);
/// The number of clients that move money, and their part of the rate.
const TELLERS: (u32, f64) = (2, 0.04);
/// The number of clients that read the bank, and their part of the rate.
const AUDITORS: (u32, f64) = (1, 0.02);
/// The number of transfer numbers that each teller has.
const TRANSFERS_PER_TELLER: i64 = 1_000_000_000;

impl Workload {
    /// Starts the clients, including those of lists and of the bank.
    #[must_use]
    pub fn start(settings: WorkloadSettings, shop: Shop, map: &Map, ledger: &Arc<Ledger>) -> Self {
        let mut workload = Self {
            commands: watch::Sender::new(ClientCommand::Run),
            clients: JoinSet::new(),
            paused: Arc::new(AtomicU64::new(0)),
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
        let shared_tenant = Arc::new(SharedTenant::new(&settings.mix, seed));
        let lists = Arc::new(lists::CurrentLists::default());
        let sql = Arc::new(lists::ListStatements::new(shop.shape));
        let (clients, share) = APPENDERS;
        for number in 0..u64::from(clients) {
            let appender = lists::Appender {
                process: number,
                clients: u64::from(clients),
                shop,
                shared_tenant: Arc::clone(&shared_tenant),
                lists: Arc::clone(&lists),
                sql: Arc::clone(&sql),
                shared: shared.clone(),
                rng: StdRng::seed_from_u64(seed.wrapping_add(number)),
            };
            self.add((clients, settings.rate * share), appender);
        }
    }

    fn add_bank(&mut self, settings: &WorkloadSettings, shop: Shop, shared: &SharedClients) {
        let seed = settings.seed.wrapping_add(BANK_SEED);
        let shared_tenant = Arc::new(SharedTenant::new(&settings.mix, seed));
        let sql = Arc::new(bank::BankStatements::new(shop.shape));
        let (tellers, share) = TELLERS;
        for number in 0..tellers {
            let teller = bank::Teller {
                shop,
                shared_tenant: Arc::clone(&shared_tenant),
                sql: Arc::clone(&sql),
                shared: shared.clone(),
                rng: StdRng::seed_from_u64(seed.wrapping_add(u64::from(number))),
                next_id: i64::from(number) * TRANSFERS_PER_TELLER + 1,
            };
            self.add((tellers, settings.rate * share), teller);
        }
        let (auditors, share) = AUDITORS;
        for _ in 0..auditors {
            let auditor = bank::Auditor {
                shop,
                shared_tenant: Arc::clone(&shared_tenant),
                sql: Arc::clone(&sql),
                shared: shared.clone(),
            };
            self.add((auditors, settings.rate * share), auditor);
        }
    }

    /// Starts one of a number of clients that together work at this rate.
    fn add(&mut self, (clients, rate): (u32, f64), client: impl ClientAction + Send + 'static) {
        let client_loop = ClientLoop {
            period: Duration::from_secs_f64(f64::from(clients) / rate),
            paused: Arc::clone(&self.paused),
            command: self.commands.subscribe(),
        };
        self.clients.spawn(client_loop.run(client));
    }

    /// Returns the clients, to pause them from another task.
    #[must_use]
    pub fn clients(&self) -> WorkloadClients {
        WorkloadClients {
            commands: self.commands.clone(),
            count: u64::try_from(self.clients.len()).unwrap_or(u64::MAX),
            paused: Arc::clone(&self.paused),
        }
    }

    /// As [`WorkloadClients::pause`].
    pub async fn pause(&self) {
        self.clients().pause().await;
    }

    /// Continues after [`Workload::pause`].
    pub fn resume(&self) {
        self.clients().resume();
    }

    /// Lets every client finish its transaction, and ends the clients.
    ///
    /// # Errors
    /// An error of the ledger file, or of a client that panicked.
    pub async fn stop(mut self) -> Result<(), std::io::Error> {
        self.commands.send_replace(ClientCommand::Stop);
        while let Some(ended) = self.clients.join_next().await {
            ended.map_err(std::io::Error::other)??;
        }
        Ok(())
    }
}

/// The clients of a running workload.
#[derive(Debug, Clone)]
pub struct WorkloadClients {
    commands: watch::Sender<ClientCommand>,
    count: u64,
    paused: Arc<AtomicU64>,
}

impl WorkloadClients {
    /// Lets every client finish its transaction. Returns when no transaction is open.
    pub async fn pause(&self) {
        self.commands.send_replace(ClientCommand::Pause);
        while self.paused.load(Ordering::Acquire) < self.count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Continues after [`WorkloadClients::pause`].
    pub fn resume(&self) {
        self.commands.send_replace(ClientCommand::Run);
    }
}
