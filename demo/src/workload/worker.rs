//! One client: transaction after transaction, each with its line in the ledger.

use super::job::{Job, JobError, Statements};
use super::pace::Client;
use super::plan::{self, Kind, Placed, Plan};
use super::{Mix, Settings};
use crate::ledger::{Effect, Entry, Ledger, Outcome, Phase};
use crate::shop::Shop;
use client::{ClientError, Map, TransactionOptions};
use futures::FutureExt;
use plans::id::ShardName;
use plans::key::Key;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

const OPS_PER_CLIENT: i64 = 1_000_000_000;
const ORDERS_REMEMBERED: usize = 200;
/// A commit whose end is unknown is settled and, if need be, run again this often.
const UNKNOWN_COMMITS: u32 = 10;

/// What all clients use.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    pub(super) map: Map,
    pub(super) ledger: Arc<Ledger>,
}

#[derive(Debug)]
pub(super) struct Worker {
    client: i32,
    shop: Shop,
    mix: Arc<Mix>,
    sql: Arc<Statements>,
    shared: Shared,
    rng: StdRng,
    next_op: i64,
    placed: Vec<Placed>,
}

/// The last attempt of a transaction, kept outside of it: where it ran and what it changed.
#[derive(Debug, Clone, Default)]
struct Attempt {
    shard: Option<ShardName>,
    effects: Vec<Effect>,
    since: u64,
}

impl Client for Worker {
    async fn turn(&mut self) -> io::Result<()> {
        self.transact().await
    }
}

impl Worker {
    pub(super) fn new(client: u32, settings: &Settings, shop: Shop, shared: Shared) -> Self {
        let number = i32::try_from(client).unwrap_or_default() + 1;
        Self {
            client: number,
            shop,
            mix: Arc::clone(&settings.mix),
            sql: Arc::new(Statements::new(shop.shape)),
            shared,
            rng: StdRng::seed_from_u64(settings.seed.wrapping_add(u64::from(client))),
            next_op: i64::from(number) * OPS_PER_CLIENT,
            placed: Vec::new(),
        }
    }

    async fn transact(&mut self) -> io::Result<()> {
        let plan = self.choose();
        let phase = self.shared.ledger.phase();
        let (outcome, attempt) = self.perform(&plan).await;
        let remember = outcome == Outcome::Acknowledged && matches!(plan.kind, Kind::Order { .. });
        if remember && self.placed.len() < ORDERS_REMEMBERED {
            self.placed.push(Placed {
                tenant: plan.tenant,
                op: plan.op,
            });
        }
        if let Some(op) = plan.detour {
            let detour = self.entry(&plan, phase, Outcome::RolledBack, Attempt::default());
            self.shared.ledger.record(Entry { op, ..detour })?;
        }
        let entry = self.entry(&plan, phase, outcome, attempt);
        self.shared.ledger.record(entry)
    }

    fn choose(&mut self) -> Plan {
        let rng = &mut self.rng;
        let cancel = !self.placed.is_empty() && rng.random_bool(0.08);
        let (tenant, kind) = if cancel {
            let order = self
                .placed
                .swap_remove(rng.random_range(0..self.placed.len()));
            (order.tenant, Kind::Cancel { order })
        } else {
            let tenant = self.mix.tenant(rng);
            (tenant, plan::kind(&self.shop, tenant, rng))
        };
        let op = self.next_op;
        self.next_op += 2;
        Plan {
            op,
            client: self.client,
            tenant,
            options: plan::options(rng),
            detour: (!matches!(kind, Kind::Deposit { .. }) && rng.random_bool(0.2))
                .then_some(op + 1),
            give_up: !cancel && rng.random_bool(0.05),
            kind,
        }
    }

    /// Runs the transaction as an application would: settles an unknown commit by looking for it.
    async fn perform(&self, plan: &Plan) -> (Outcome, Attempt) {
        let last = Arc::new(Mutex::new(Attempt::default()));
        for _ in 0..UNKNOWN_COMMITS {
            let result = self.once(plan, &last).await;
            let attempt = last.lock().unwrap_or_else(PoisonError::into_inner).clone();
            match result {
                Ok(()) => return (Outcome::Acknowledged, attempt),
                Err(ClientError::CommitUnknown { .. }) => match self.is_there(plan).await {
                    Ok(true) => return (Outcome::Acknowledged, attempt),
                    Ok(false) => {}
                    Err(error) => {
                        tracing::warn!(op = plan.op, %error, "commit not settled");
                        return (Outcome::InDoubt, attempt);
                    }
                },
                Err(error) if given_up(&error) => return (Outcome::RolledBack, attempt),
                Err(error) => {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    tracing::warn!(op = plan.op, %error, cause, "transaction failed");
                    return (Outcome::Failed, attempt);
                }
            }
        }
        (Outcome::Failed, Attempt::default())
    }

    async fn once(&self, plan: &Plan, last: &Arc<Mutex<Attempt>>) -> Result<(), ClientError> {
        let key = self.key(plan);
        let ledger = &self.shared.ledger;
        let work = |tx: &client::Transaction| {
            let shard = tx.shard().clone();
            let (_, since) = ledger.crashes(&shard);
            let begun = Attempt {
                shard: Some(shard),
                effects: Vec::new(),
                since,
            };
            *last.lock().unwrap_or_else(PoisonError::into_inner) = begun;
            (last.clone(), plan.clone(), Arc::clone(&self.sql))
        };
        self.shared
            .map
            .with_shard(&key, plan.options, |tx| {
                let (last, plan, sql) = work(tx);
                async move {
                    let (plan, sql) = (&plan, &sql);
                    let effects = Job { tx, plan, sql }.run().await?;
                    last.lock().unwrap_or_else(PoisonError::into_inner).effects = effects;
                    Ok::<_, JobError>(())
                }
                .boxed()
            })
            .await
    }

    async fn is_there(&self, plan: &Plan) -> Result<bool, ClientError> {
        let key = self.key(plan);
        let plain = TransactionOptions::default();
        self.shared
            .map
            .with_shard(&key, plain, |tx| {
                let (plan, sql) = (plan.clone(), Arc::clone(&self.sql));
                async move {
                    let (plan, sql) = (&plan, &sql);
                    Job { tx, plan, sql }.is_there().await
                }
                .boxed()
            })
            .await
    }

    fn key(&self, plan: &Plan) -> Key {
        self.shop.key(plan.tenant)
    }

    fn entry(&self, plan: &Plan, phase: Phase, outcome: Outcome, attempt: Attempt) -> Entry {
        let crashes = attempt.shard.as_ref();
        let until = crashes.map_or(0, |shard| self.shared.ledger.crashes(shard).0);
        Entry {
            op: plan.op,
            key: self.key(plan),
            client: self.client,
            phase,
            outcome,
            shard: attempt.shard,
            synchronous: plan.options.synchronous_commit,
            since: attempt.since,
            until,
            effects: attempt.effects,
        }
    }
}

fn given_up(error: &ClientError) -> bool {
    let source = std::error::Error::source(error);
    source
        .and_then(|cause| cause.downcast_ref())
        .is_some_and(|cause| matches!(cause, JobError::GivenUp))
}
