//! The bank workload: tellers move money between accounts, and an auditor adds up the accounts of a tenant.
//!
//! Most transfers are between two accounts of a tenant, some between tenants that have the same owner at the moment.
//! Both legs are written in the transaction that changes the accounts. A commit with an unknown outcome is repeated; if
//! the first leg already exists, nothing remains to be done. Commits wait for the disk.

use super::client_loop::ClientAction;
use super::plan::choose_isolation;
use super::shared_tenant::{SharedTenant, still_owns};
use super::tenant_tables::TenantTables;
use super::worker::SharedClients;
use crate::ledger::{Balances, TransactionOutcome, Transfer, TransferLeg};
use crate::shop::{BANK_ACCOUNTS, KeyShape, Shop};
use client::{ClientError, Isolation, Map, Transaction, TransactionOptions};
use futures::FutureExt;
use rand::Rng;
use rand::rngs::StdRng;
use std::io;
use std::sync::Arc;

/// How often a commit with an unknown outcome is repeated.
const MAX_UNKNOWN_COMMITS: u32 = 10;
/// The part of the transfers that are between tenants.
const BETWEEN_TENANTS: f64 = 0.3;

/// The SQL statements. The tenant is `$1`. [`KeyShape::fill`] explains the placeholders in braces.
#[derive(Debug)]
pub(super) struct BankStatements {
    tables: TenantTables,
    insert_leg: String,
    add_to_account: String,
    read_balances: String,
}

impl BankStatements {
    pub(super) fn new(shape: KeyShape) -> Self {
        let leg = "insert into transfers ({keys}, id, account, delta) \
            values ({key_of_1}, $2::bigint, $3::integer, $4::bigint) on conflict do nothing";
        let add =
            "update bank set balance = balance + $3::bigint where {is_1} and id = $2::integer";
        let read = "select balance from bank where {is_1} and id > 0 order by id";
        Self {
            tables: TenantTables::new(shape),
            insert_leg: shape.fill(leg),
            add_to_account: shape.fill(add),
            read_balances: shape.fill(read),
        }
    }
}

/// Why a transfer did not reach its commit.
#[derive(Debug, thiserror::Error)]
enum TransferError {
    #[error("statement failed")]
    Statement(#[from] tokio_postgres::Error),
    #[error("the two tenants have different owners")]
    DifferentOwners,
    #[error("{changed} rows changed instead of one")]
    RowCount { changed: u64 },
}

/// An account and the amount that is added to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TransferSide {
    tenant: i64,
    account: i32,
    delta: i64,
}

/// A client that moves money.
#[derive(Debug)]
pub(super) struct Teller {
    pub(super) shop: Shop,
    pub(super) shared_tenant: Arc<SharedTenant>,
    pub(super) sql: Arc<BankStatements>,
    pub(super) shared: SharedClients,
    pub(super) rng: StdRng,
    /// The number of the next transfer.
    pub(super) next_id: i64,
}

impl ClientAction for Teller {
    async fn act(&mut self) -> io::Result<()> {
        let sides = self.choose_sides();
        let options = choose_isolation(&mut self.rng);
        let id = self.next_id;
        self.next_id += 1;
        let outcome = self.transfer(id, sides, options).await;
        let leg = |side: TransferSide| TransferLeg {
            key: self.shop.key(side.tenant),
            account: side.account,
            delta: side.delta,
        };
        let legs = sides.map(leg);
        self.shared
            .ledger
            .record_transfer(Transfer { id, outcome, legs })
    }
}

impl Teller {
    /// Returns two accounts, in the order in which all clients lock them.
    fn choose_sides(&mut self) -> [TransferSide; 2] {
        let (tenant, other) = self.shared_tenant.next();
        let amount = self.rng.random_range(1..100);
        let side = |tenant, account, delta| TransferSide {
            tenant,
            account,
            delta,
        };
        let other = other.filter(|_| self.rng.random_bool(BETWEEN_TENANTS));
        let mut sides = match other.filter(|other| self.have_same_owner(tenant, *other)) {
            Some(other) => [side(tenant, 0, -amount), side(other, 0, amount)],
            None => {
                let from = self.rng.random_range(0..BANK_ACCOUNTS);
                let to = (from + self.rng.random_range(1..BANK_ACCOUNTS)) % BANK_ACCOUNTS;
                [
                    side(tenant, from + 1, -amount),
                    side(tenant, to + 1, amount),
                ]
            }
        };
        sides.sort_unstable();
        sides
    }

    fn have_same_owner(&self, tenant: i64, other: i64) -> bool {
        let owner = |tenant: i64| self.shared.map.shard_for(self.shop.key(tenant)).ok();
        owner(tenant) == owner(other)
    }

    async fn transfer(
        &self,
        id: i64,
        sides: [TransferSide; 2],
        options: TransactionOptions,
    ) -> TransactionOutcome {
        let key = self.shop.key(sides[0].tenant);
        let other = self.shop.key(sides[1].tenant);
        let mut is_unknown = false;
        for _ in 0..MAX_UNKNOWN_COMMITS {
            let done = self.shared.map.with_shard(&key, options, |tx| {
                let (sql, map) = (Arc::clone(&self.sql), self.shared.map.clone());
                let other = other.clone();
                async move {
                    if map.shard_for(&other).ok().as_ref() != Some(tx.shard()) {
                        return Err(TransferError::DifferentOwners);
                    }
                    write_transfer(tx, &sql, id, sides).await
                }
                .boxed()
            });
            match done.await {
                Ok(()) => return TransactionOutcome::Acknowledged,
                Err(ClientError::CommitUnknown { .. }) => is_unknown = true,
                Err(error) => {
                    tracing::debug!(id, %error, "transfer failed");
                    break;
                }
            }
        }
        match is_unknown {
            true => TransactionOutcome::InDoubt,
            false => TransactionOutcome::Failed,
        }
    }
}

/// Writes both legs and changes both accounts. Does nothing if the legs exist.
async fn write_transfer(
    tx: &Transaction,
    sql: &BankStatements,
    id: i64,
    sides: [TransferSide; 2],
) -> Result<(), TransferError> {
    for (number, side) in sides.iter().enumerate() {
        let params: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
            [&side.tenant, &id, &side.account, &side.delta];
        sql.tables.select(tx, side.tenant).await?;
        match tx.execute(&sql.insert_leg, &params).await? {
            1 => {}
            0 if number == 0 => return Ok(()),
            changed => return Err(TransferError::RowCount { changed }),
        }
    }
    for side in &sides {
        sql.tables.select(tx, side.tenant).await?;
        let changed = tx
            .execute(
                &sql.add_to_account,
                &[&side.tenant, &side.account, &side.delta],
            )
            .await?;
        if changed != 1 {
            return Err(TransferError::RowCount { changed });
        }
    }
    Ok(())
}

/// A client that reads the balances of a tenant's accounts.
#[derive(Debug)]
pub(super) struct Auditor {
    pub(super) shop: Shop,
    pub(super) shared_tenant: Arc<SharedTenant>,
    pub(super) sql: Arc<BankStatements>,
    pub(super) shared: SharedClients,
}

impl ClientAction for Auditor {
    async fn act(&mut self) -> io::Result<()> {
        let (tenant, _) = self.shared_tenant.next();
        match self.read(&self.shared.map, tenant).await {
            Some(balances) => {
                let key = self.shop.key(tenant);
                self.shared
                    .ledger
                    .record_balances(Balances { key, balances })
            }
            None => Ok(()),
        }
    }
}

impl Auditor {
    /// Reads the accounts in one snapshot. Returns `None` if the read failed, or reached a shard that no longer owns
    /// the tenant.
    async fn read(&self, map: &Map, tenant: i64) -> Option<Vec<i64>> {
        let options = TransactionOptions {
            isolation: Isolation::RepeatableRead,
            ..TransactionOptions::default()
        };
        let key = self.shop.key(tenant);
        let done = map.with_shard(&key, options, |tx| {
            let sql = Arc::clone(&self.sql);
            async move {
                sql.tables.select(tx, tenant).await?;
                let rows = tx.query(&sql.read_balances, &[&tenant]).await?;
                let balances: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
                Ok::<_, tokio_postgres::Error>((balances, tx.shard().clone()))
            }
            .boxed()
        });
        let (balances, shard) = match done.await {
            Ok(read) => read,
            Err(error) => {
                tracing::debug!(tenant, %error, "accounts not read");
                return None;
            }
        };
        let is_complete = i32::try_from(balances.len()) == Ok(BANK_ACCOUNTS);
        (is_complete || still_owns(map, &self.shop, tenant, &shard).await).then_some(balances)
    }
}
