//! A client that executes transaction after transaction, and writes a ledger line for each.

use super::client_beat::ClientFuture;
use super::job::{JobError, JobStatements, TransactionJob};
use super::plan::{self, PlacedOrder, TransactionKind, TransactionPlan};
use super::{TenantMix, WorkloadSettings};
use crate::ledger::{Ledger, LedgerPhase, RowEffect, TransactionEntry, TransactionOutcome};
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
/// How often the outcome of an unknown commit is determined, and the transaction repeated if necessary.
const UNKNOWN_COMMITS: u32 = 10;

/// What all clients use.
#[derive(Debug, Clone)]
pub(super) struct SharedClients {
    pub(super) map: Map,
    pub(super) ledger: Arc<Ledger>,
}

#[derive(Debug)]
pub(super) struct Worker {
    client: i32,
    shop: Shop,
    mix: Arc<TenantMix>,
    sql: Arc<JobStatements>,
    shared: SharedClients,
    rng: StdRng,
    next_op: i64,
    placed: Vec<PlacedOrder>,
}

/// The last attempt of a transaction, stored outside the attempt: its shard and its changes.
#[derive(Debug, Clone, Default)]
struct LastAttempt {
    shard: Option<ShardName>,
    effects: Vec<RowEffect>,
    since: u64,
}

impl ClientFuture for Worker {
    async fn turn(&mut self) -> io::Result<()> {
        self.transact().await
    }
}

impl Worker {
    pub(super) fn new(
        client: u32,
        settings: &WorkloadSettings,
        shop: Shop,
        shared: SharedClients,
    ) -> Self {
        let number = i32::try_from(client).unwrap_or_default() + 1;
        Self {
            client: number,
            shop,
            mix: Arc::clone(&settings.mix),
            sql: Arc::new(JobStatements::new(shop.shape)),
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
        let remember = outcome == TransactionOutcome::Acknowledged
            && matches!(plan.kind, TransactionKind::Order { .. });
        if remember && self.placed.len() < ORDERS_REMEMBERED {
            self.placed.push(PlacedOrder {
                tenant: plan.tenant,
                op: plan.op,
            });
        }
        if let Some(op) = plan.detour {
            let detour = self.entry(
                &plan,
                phase,
                TransactionOutcome::RolledBack,
                LastAttempt::default(),
            );
            self.shared
                .ledger
                .record(TransactionEntry { op, ..detour })?;
        }
        let entry = self.entry(&plan, phase, outcome, attempt);
        self.shared.ledger.record(entry)
    }

    fn choose(&mut self) -> TransactionPlan {
        let rng = &mut self.rng;
        let cancel = !self.placed.is_empty() && rng.random_bool(0.08);
        let (tenant, kind) = if cancel {
            let order = self
                .placed
                .swap_remove(rng.random_range(0..self.placed.len()));
            (order.tenant, TransactionKind::Cancel { order })
        } else {
            let tenant = self.mix.tenant(rng);
            (tenant, plan::kind(&self.shop, tenant, rng))
        };
        let op = self.next_op;
        self.next_op += 2;
        TransactionPlan {
            op,
            client: self.client,
            tenant,
            options: plan::options(rng),
            detour: (!matches!(kind, TransactionKind::Deposit { .. }) && rng.random_bool(0.2))
                .then_some(op + 1),
            give_up: !cancel && rng.random_bool(0.05),
            kind,
        }
    }

    /// Executes the transaction as an application would. If the outcome of a commit is unknown, it searches for the
    /// operation.
    async fn perform(&self, plan: &TransactionPlan) -> (TransactionOutcome, LastAttempt) {
        let last = Arc::new(Mutex::new(LastAttempt::default()));
        for _ in 0..UNKNOWN_COMMITS {
            let result = self.once(plan, &last).await;
            let attempt = last.lock().unwrap_or_else(PoisonError::into_inner).clone();
            match result {
                Ok(()) => return (TransactionOutcome::Acknowledged, attempt),
                Err(ClientError::CommitUnknown { .. }) => match self.is_committed(plan).await {
                    Ok(true) => return (TransactionOutcome::Acknowledged, attempt),
                    Ok(false) => {}
                    Err(error) => {
                        tracing::warn!(op = plan.op, %error, "commit not settled");
                        return (TransactionOutcome::InDoubt, attempt);
                    }
                },
                Err(error) if is_final(&error) => return (TransactionOutcome::RolledBack, attempt),
                Err(error) => {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    tracing::warn!(op = plan.op, %error, cause, "transaction failed");
                    return (TransactionOutcome::Failed, attempt);
                }
            }
        }
        (TransactionOutcome::Failed, LastAttempt::default())
    }

    async fn once(
        &self,
        plan: &TransactionPlan,
        last: &Arc<Mutex<LastAttempt>>,
    ) -> Result<(), ClientError> {
        let key = self.key(plan);
        let ledger = &self.shared.ledger;
        let work = |tx: &client::Transaction| {
            let shard = tx.shard().clone();
            let (_, since) = ledger.crashes(&shard);
            let begun = LastAttempt {
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
                    let effects = TransactionJob { tx, plan, sql }.run().await?;
                    last.lock().unwrap_or_else(PoisonError::into_inner).effects = effects;
                    Ok::<_, JobError>(())
                }
                .boxed()
            })
            .await
    }

    async fn is_committed(&self, plan: &TransactionPlan) -> Result<bool, ClientError> {
        let key = self.key(plan);
        let plain = TransactionOptions::default();
        self.shared
            .map
            .with_shard(&key, plain, |tx| {
                let (plan, sql) = (plan.clone(), Arc::clone(&self.sql));
                async move {
                    let (plan, sql) = (&plan, &sql);
                    TransactionJob { tx, plan, sql }.is_committed().await
                }
                .boxed()
            })
            .await
    }

    fn key(&self, plan: &TransactionPlan) -> Key {
        self.shop.key(plan.tenant)
    }

    fn entry(
        &self,
        plan: &TransactionPlan,
        phase: LedgerPhase,
        outcome: TransactionOutcome,
        attempt: LastAttempt,
    ) -> TransactionEntry {
        let crashes = attempt.shard.as_ref();
        let until = crashes.map_or(0, |shard| self.shared.ledger.crashes(shard).0);
        TransactionEntry {
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

fn is_final(error: &ClientError) -> bool {
    let source = std::error::Error::source(error);
    source
        .and_then(|cause| cause.downcast_ref())
        .is_some_and(|cause| matches!(cause, JobError::GivenUp))
}
