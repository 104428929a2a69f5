//! What a client does next: chosen before the transaction, so that a retry does the same again.

use crate::shop::Shop;
use client::{Isolation, TransactionOptions};
use rand::Rng;
use rand::rngs::StdRng;

/// One transaction to be.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) op: i64,
    pub(super) client: i32,
    pub(super) tenant: i64,
    pub(super) kind: Kind,
    pub(super) options: TransactionOptions,
    /// A part that is taken back to a savepoint; it has a number of its own.
    pub(super) detour: Option<i64>,
    /// Taken back as a whole at its end.
    pub(super) give_up: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// A new order with two items, paid from an account.
    Order {
        account: i64,
        quantity: i32,
        cents: i64,
    },
    /// From one account to another.
    Transfer { from: i64, to: i64, amount: i64 },
    /// A counter beside a long text, which is not written again.
    Touch { event: i64 },
    /// Ledger and account in a single statement.
    Deposit { account: i64, amount: i64 },
    /// A new event, sometimes with a long text.
    Log { long: bool },
    /// Deletes an order of this client.
    Cancel { order: Placed },
}

impl Kind {
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
pub(super) struct Placed {
    pub(super) tenant: i64,
    pub(super) op: i64,
}

/// Which tenants the clients choose, and how often.
#[derive(Debug, Clone)]
pub struct Mix {
    /// Tenants whose keys move.
    pub moving: Vec<i64>,
    /// The others.
    pub staying: Vec<i64>,
    /// Share of the transactions that go to moving keys.
    pub share: f64,
    /// Whether the first of the moving tenants, and of the others, are hotter than the last.
    pub skewed: bool,
}

impl Mix {
    /// Chooses a tenant.
    pub(super) fn tenant(&self, rng: &mut StdRng) -> i64 {
        let drawn: f64 = rng.random_range(0.0..1.0);
        let moves = self.staying.is_empty() || rng.random_bool(self.share);
        let tenants = if moves && !self.moving.is_empty() {
            &self.moving
        } else {
            &self.staying
        };
        let place = if self.skewed { drawn.powi(3) } else { drawn };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "a small number of tenants"
        )]
        let index = (place * tenants.len() as f64) as usize;
        tenants[index.min(tenants.len() - 1)]
    }
}

/// Chooses what to do for `tenant`.
pub(super) fn kind(shop: &Shop, tenant: i64, rng: &mut StdRng) -> Kind {
    let account = |rng: &mut StdRng| shop.account(tenant, rng.random_range(0..shop.rows.accounts));
    match rng.random_range(0..100) {
        0..30 => Kind::Order {
            account: account(rng),
            quantity: rng.random_range(1..5),
            cents: rng.random_range(1..2_000),
        },
        30..58 => {
            let from = account(rng);
            let to = account(rng);
            if from == to {
                let amount = 1;
                return Kind::Deposit {
                    account: from,
                    amount,
                };
            }
            Kind::Transfer {
                from,
                to,
                amount: rng.random_range(1..500),
            }
        }
        58..72 => Kind::Touch {
            event: shop.long_event(tenant, rng.random_range(0..2)),
        },
        72..76 => Kind::Touch {
            event: shop.event(tenant, rng.random_range(0..shop.rows.events)),
        },
        76..90 => Kind::Deposit {
            account: account(rng),
            amount: rng.random_range(1..500),
        },
        _ => Kind::Log {
            long: rng.random_bool(0.2),
        },
    }
}

/// Chooses how the transaction runs.
pub(super) fn options(rng: &mut StdRng) -> TransactionOptions {
    TransactionOptions {
        isolation: if rng.random_bool(0.3) {
            Isolation::RepeatableRead
        } else {
            Isolation::ReadCommitted
        },
        synchronous_commit: !rng.random_bool(0.25),
    }
}
