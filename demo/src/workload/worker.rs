//! A client that executes transaction after transaction, and writes a ledger line for each.

use super::client_loop::ClientAction;
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
const MAX_REMEMBERED_ORDERS: usize = 200;
/// How often the outcome of an unknown commit is determined, and the transaction repeated if necessary.
const MAX_UNKNOWN_COMMITS: u32 = 10;

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
    /// Acknowledged orders that a later transaction may cancel.
    placed_orders: Vec<PlacedOrder>,
}

/// What the last attempt of a transaction recorded. The client library repeats attempts, so the record is outside of
/// them.
#[derive(Debug, Clone, Default)]
struct LastAttempt {
    shard: Option<ShardName>,
    effects: Vec<RowEffect>,
    /// The number of crashes of the shard that had ended when the attempt began.
    since: u64,
}

impl ClientAction for Worker {
    async fn act(&mut self) -> io::Result<()> {
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
            placed_orders: Vec::new(),
        }
    }

    async fn transact(&mut self) -> io::Result<()> {
        let plan = self.choose();
        let phase = self.shared.ledger.phase();
        let (outcome, attempt) = self.perform(&plan).await;
        let is_acknowledged_purchase = outcome == TransactionOutcome::Acknowledged
            && matches!(plan.kind, TransactionKind::Order { .. });
        if is_acknowledged_purchase && self.placed_orders.len() < MAX_REMEMBERED_ORDERS {
            self.placed_orders.push(PlacedOrder {
                tenant: plan.tenant,
                op: plan.op,
            });
        }
        if let Some(op) = plan.rolled_back_op {
            let rolled_back = self.entry(
                &plan,
                phase,
                TransactionOutcome::RolledBack,
                LastAttempt::default(),
            );
            self.shared
                .ledger
                .record(TransactionEntry { op, ..rolled_back })?;
        }
        let entry = self.entry(&plan, phase, outcome, attempt);
        self.shared.ledger.record(entry)
    }

    fn choose(&mut self) -> TransactionPlan {
        let rng = &mut self.rng;
        let cancels = !self.placed_orders.is_empty() && rng.random_bool(0.08);
        let (tenant, kind) = if cancels {
            let order = self
                .placed_orders
                .swap_remove(rng.random_range(0..self.placed_orders.len()));
            (order.tenant, TransactionKind::Cancel { order })
        } else {
            let tenant = self.mix.choose_tenant(rng);
            (tenant, plan::choose_kind(&self.shop, tenant, rng))
        };
        let op = self.next_op;
        // The second number is for changes that are rolled back to a savepoint.
        self.next_op += 2;
        TransactionPlan {
            op,
            client: self.client,
            tenant,
            options: plan::choose_options(rng),
            rolled_back_op: (!matches!(kind, TransactionKind::Deposit { .. })
                && rng.random_bool(0.2))
            .then_some(op + 1),
            give_up: !cancels && rng.random_bool(0.05),
            kind,
        }
    }

    /// Executes the transaction as an application would. If the outcome of a commit is unknown, it searches for the
    /// operation.
    async fn perform(&self, plan: &TransactionPlan) -> (TransactionOutcome, LastAttempt) {
        let last = Arc::new(Mutex::new(LastAttempt::default()));
        for _ in 0..MAX_UNKNOWN_COMMITS {
            let result = self.execute_once(plan, &last).await;
            let attempt = last.lock().unwrap_or_else(PoisonError::into_inner).clone();
            match result {
                Ok(()) => return (TransactionOutcome::Acknowledged, attempt),
                Err(ClientError::CommitUnknown { .. }) => match self.is_committed(plan).await {
                    Ok(true) => return (TransactionOutcome::Acknowledged, attempt),
                    Ok(false) => {}
                    Err(error) => {
                        tracing::warn!(op = plan.op, %error, "could not determine the outcome of a commit");
                        return (TransactionOutcome::InDoubt, attempt);
                    }
                },
                Err(error) if is_intentional_rollback(&error) => {
                    return (TransactionOutcome::RolledBack, attempt);
                }
                Err(error) => {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    tracing::warn!(op = plan.op, %error, cause, "transaction failed");
                    return (TransactionOutcome::Failed, attempt);
                }
            }
        }
        (TransactionOutcome::Failed, LastAttempt::default())
    }

    async fn execute_once(
        &self,
        plan: &TransactionPlan,
        last: &Arc<Mutex<LastAttempt>>,
    ) -> Result<(), ClientError> {
        let key = self.key(plan);
        let ledger = &self.shared.ledger;
        let begin_attempt = |tx: &client::Transaction| {
            let shard = tx.shard().clone();
            let (_, since) = ledger.crashes(&shard);
            let attempt = LastAttempt {
                shard: Some(shard),
                effects: Vec::new(),
                since,
            };
            *last.lock().unwrap_or_else(PoisonError::into_inner) = attempt;
            (last.clone(), plan.clone(), Arc::clone(&self.sql))
        };
        self.shared
            .map
            .with_shard(&key, plan.options, |tx| {
                let (last, plan, sql) = begin_attempt(tx);
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
        let shard = attempt.shard.as_ref();
        let until = shard.map_or(0, |shard| self.shared.ledger.crashes(shard).0);
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

fn is_intentional_rollback(error: &ClientError) -> bool {
    let source = std::error::Error::source(error);
    source
        .and_then(|cause| cause.downcast_ref())
        .is_some_and(|cause| matches!(cause, JobError::GivenUp))
}
