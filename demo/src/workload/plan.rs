//! What a client does next. It is chosen before the transaction, so that a retry does the same again.

use crate::shop::Shop;
use client::{Isolation, TransactionOptions};
use rand::Rng;
use rand::rngs::StdRng;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A transaction to execute.
#[derive(Debug, Clone)]
pub(super) struct TransactionPlan {
    pub(super) op: i64,
    pub(super) client: i32,
    pub(super) tenant: i64,
    pub(super) kind: TransactionKind,
    pub(super) options: TransactionOptions,
    /// The operation number of changes that are rolled back to a savepoint, if the transaction makes such changes.
    pub(super) rolled_back_op: Option<i64>,
    /// True to roll the whole transaction back at its end.
    pub(super) give_up: bool,
}

#[derive(Debug, Clone)]
pub(super) enum TransactionKind {
    /// Creates an order with two items, which is paid from an account.
    Order {
        account: i64,
        quantity: i32,
        cents: i64,
    },
    /// Moves an amount from one account to another.
    Transfer { from: i64, to: i64, amount: i64 },
    /// Increments a counter in a row with a long text, which is not written again.
    Touch { event: i64 },
    /// Writes the ledger row and changes an account in a single statement.
    Deposit { account: i64, amount: i64 },
    /// Creates an event, sometimes with a long text.
    Log { long: bool },
    /// Deletes an order of this client.
    Cancel { order: PlacedOrder },
}

impl TransactionKind {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Order { .. } => "order",
            Self::Transfer { .. } => "transfer",
            Self::Touch { .. } => "touch",
            Self::Deposit { .. } => "deposit",
            Self::Log { .. } => "log",
            Self::Cancel { .. } => "cancel",
        }
    }
}

/// An order that was acknowledged.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedOrder {
    pub(super) tenant: i64,
    pub(super) op: i64,
}

/// The tenants that the clients choose, and how often.
#[derive(Debug, Clone)]
pub struct TenantMix {
    /// The tenants whose keys move.
    pub moving: Vec<i64>,
    /// The other tenants.
    pub staying: Vec<i64>,
    /// The fraction of the transactions with moving keys.
    pub share: f64,
    /// How a tenant is chosen among the moving ones, or among the others.
    pub choice: TenantChoice,
}

/// How a tenant is chosen among several.
#[derive(Debug, Clone)]
pub enum TenantChoice {
    /// The first tenants are chosen more often than the last.
    Skewed,
    /// One after the other, so that a few seconds are representative of the whole run.
    InTurn(Arc<AtomicUsize>),
}

impl TenantMix {
    /// Chooses a tenant.
    pub(super) fn choose_tenant(&self, rng: &mut StdRng) -> i64 {
        let is_moving = self.staying.is_empty() || rng.random_bool(self.share);
        let tenants = if is_moving && !self.moving.is_empty() {
            &self.moving
        } else {
            &self.staying
        };
        let index = match &self.choice {
            TenantChoice::Skewed => skewed_index(tenants.len(), rng),
            TenantChoice::InTurn(next) => next.fetch_add(1, Ordering::Relaxed) % tenants.len(),
        };
        tenants[index.min(tenants.len() - 1)]
    }
}

/// Returns an index below `count`. Low ones are more likely.
fn skewed_index(count: usize, rng: &mut StdRng) -> usize {
    let random: f64 = rng.random_range(0.0..1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a small number of tenants"
    )]
    let index = (random.powi(3) * count as f64) as usize;
    index
}

/// Chooses the action for `tenant`.
pub(super) fn choose_kind(shop: &Shop, tenant: i64, rng: &mut StdRng) -> TransactionKind {
    let account = |rng: &mut StdRng| shop.account(tenant, rng.random_range(0..shop.rows.accounts));
    match rng.random_range(0..100) {
        0..30 => TransactionKind::Order {
            account: account(rng),
            quantity: rng.random_range(1..5),
            cents: rng.random_range(1..2_000),
        },
        30..58 => {
            let from = account(rng);
            let to = account(rng);
            if from == to {
                let amount = 1;
                return TransactionKind::Deposit {
                    account: from,
                    amount,
                };
            }
            TransactionKind::Transfer {
                from,
                to,
                amount: rng.random_range(1..500),
            }
        }
        58..72 => TransactionKind::Touch {
            event: shop.long_event(tenant, rng.random_range(0..2)),
        },
        72..76 => TransactionKind::Touch {
            event: shop.event(tenant, rng.random_range(0..shop.rows.events)),
        },
        76..90 => TransactionKind::Deposit {
            account: account(rng),
            amount: rng.random_range(1..500),
        },
        _ => TransactionKind::Log {
            long: rng.random_bool(0.2),
        },
    }
}

/// Chooses the options of the transaction.
pub(super) fn choose_options(rng: &mut StdRng) -> TransactionOptions {
    TransactionOptions {
        synchronous_commit: !rng.random_bool(0.25),
        ..choose_isolation(rng)
    }
}

/// Chooses the isolation of a transaction whose commit waits for the disk.
pub(super) fn choose_isolation(rng: &mut StdRng) -> TransactionOptions {
    TransactionOptions {
        isolation: if rng.random_bool(0.3) {
            Isolation::RepeatableRead
        } else {
            Isolation::ReadCommitted
        },
        synchronous_commit: true,
    }
}
