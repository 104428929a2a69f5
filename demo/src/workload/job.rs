//! Executes the statements of one transaction, and returns what they changed.

use super::plan::{TransactionKind, TransactionPlan};
use super::tenant_tables::TenantTables;
use crate::ledger::RowEffect;
use crate::shop::{KeyShape, LONG_TEXT};
use client::Transaction;
use rand::Rng;
use tokio_postgres::types::ToSql;

/// Why a transaction did not reach its commit.
#[derive(Debug, thiserror::Error)]
pub(super) enum JobError {
    /// A statement failed.
    #[error("statement failed")]
    Statement(#[from] tokio_postgres::Error),
    /// The client rolls back intentionally.
    #[error("the client rolls back intentionally")]
    GivenUp,
    /// A row that must exist once does not exist, or exists twice.
    #[error("{changed} rows changed by a {kind} instead of one")]
    RowCount { kind: &'static str, changed: u64 },
}

const WAIT_FOR_OPERATION: &str =
    "select pg_advisory_xact_lock($1::integer, ($2::bigint % 1000000000)::integer)";

/// The SQL statements, with the key's columns ([`KeyShape::fill`]). The tenant is `$1`.
#[derive(Debug)]
pub(super) struct JobStatements {
    tables: TenantTables,
    mark: String,
    add: String,
    deposit: String,
    find: String,
    detour: String,
    touch: String,
    log: String,
    cancel: String,
    insert_order: String,
    items: String,
}

impl JobStatements {
    pub(super) fn new(shape: KeyShape) -> Self {
        // The transaction holds the advisory lock until it ends. `is_committed` waits for this lock before it searches
        // for the operation.
        let mark = "insert into ledger ({keys}, op, client, kind) \
            select {key_of_1}, $2::bigint, $3::integer, $4::text from ( \
                select pg_advisory_xact_lock($3::integer, ($2::bigint % 1000000000)::integer)) as held";
        let add = "update accounts set balance = balance + $3::bigint, changes = changes + 1 \
            where {is_1} and id = $2::bigint";
        let deposit = "with mark as ( \
                insert into ledger ({keys}, op, client, kind) \
                select {key_of_1}, $4::bigint, $5::integer, 'deposit' from ( \
                    select pg_advisory_xact_lock($5::integer, ($4::bigint % 1000000000)::integer)) as held) \
            update accounts set balance = balance + $3::bigint, changes = changes + 1 \
            where {is_1} and id = $2::bigint";
        let detour = "update accounts set balance = balance + 1, changes = changes + 1 \
            where {is_1} and id = (select min(id) from accounts where {is_1})";
        let touch = "update events set seen = seen + 1 where {is_1} and id = $2::bigint";
        let log = "insert into events ({keys}, op, kind, payload, body) \
            values ({key_of_1}, $2::bigint, 'workload', jsonb_build_object('op', $2::bigint), $3::text)";
        let insert_order = "insert into orders ({keys}, account_id, op, quantity, price, status) \
            values ({key_of_1}, $2::bigint, $3::bigint, $4::integer, $5::bigint / 100.0, 'OPEN') returning id";
        let items = "insert into order_items ({keys}, order_id, line, op, sku, quantity, cents) \
            select {key_of_1}, $2::bigint, line, $3::bigint, 'sku-' || line, $4::integer, $5::bigint \
            from generate_series(1, 2) line";
        let dependent_items = "insert into order_items (order_id, line, op, sku, quantity, cents) \
            select o.id, line, $3::bigint, 'sku-' || line, $4::integer, $5::bigint \
            from generate_series(1, 2) line, orders o where o.{is_1} and o.id = $2::bigint";
        let items = if shape == KeyShape::Dependents {
            dependent_items
        } else {
            items
        };
        let fill = |text: &str| shape.fill(text);
        Self {
            tables: TenantTables::new(shape),
            mark: fill(mark),
            add: fill(add),
            deposit: fill(deposit),
            find: fill("select 1 from ledger where {is_1} and op = $2::bigint"),
            detour: fill(detour),
            touch: fill(touch),
            log: fill(log),
            cancel: fill("delete from orders where {is_1} and op = $2::bigint"),
            insert_order: fill(insert_order),
            items: fill(items),
        }
    }
}

/// A transaction to execute, and the session.
#[derive(Debug, Clone, Copy)]
pub(super) struct TransactionJob<'j> {
    pub(super) tx: &'j Transaction,
    pub(super) plan: &'j TransactionPlan,
    pub(super) sql: &'j JobStatements,
}

impl TransactionJob<'_> {
    /// Executes the statements of the plan. Returns the changes that exist if it commits.
    pub(super) async fn run(self) -> Result<Vec<RowEffect>, JobError> {
        let plan = self.plan;
        self.sql.tables.select(self.tx, plan.tenant).await?;
        if let TransactionKind::Deposit { account, amount } = plan.kind {
            let (op, client) = (plan.op, plan.client);
            let params: [&(dyn ToSql + Sync); 5] = [&plan.tenant, &account, &amount, &op, &client];
            self.change_one_row(&self.sql.deposit, &params).await?;
            return give_up_or_commit(plan, vec![account_effect(account, amount)]);
        }
        self.insert_ledger_row(plan.op).await?;
        if let Some(op) = plan.rolled_back_op {
            self.write_and_roll_back(op).await?;
        }
        let effects = self.execute_kind().await?;
        give_up_or_commit(plan, effects)
    }

    /// Returns true if the operation's ledger row is on this shard. It first waits until every transaction that may
    /// still insert the row has ended.
    pub(super) async fn is_committed(self) -> Result<bool, JobError> {
        let Self { tx, plan, sql } = self;
        sql.tables.select(tx, plan.tenant).await?;
        // The lock is taken in a separate statement before the search, so that the search has a newer snapshot.
        tx.query(WAIT_FOR_OPERATION, &[&plan.client, &plan.op])
            .await?;
        let found = tx.query(&sql.find, &[&plan.tenant, &plan.op]).await?;
        Ok(!found.is_empty())
    }

    async fn insert_ledger_row(self, op: i64) -> Result<(), JobError> {
        let Self { tx, plan, sql } = self;
        let kind = plan.kind.name();
        tx.execute(&sql.mark, &[&plan.tenant, &op, &plan.client, &kind])
            .await?;
        Ok(())
    }

    /// Makes changes and rolls them back to a savepoint, before the transaction continues.
    async fn write_and_roll_back(self, op: i64) -> Result<(), JobError> {
        self.tx.savepoint("detour").await?;
        self.insert_ledger_row(op).await?;
        self.tx
            .execute(&self.sql.detour, &[&self.plan.tenant])
            .await?;
        self.tx.rollback_to("detour").await?;
        Ok(())
    }

    async fn execute_kind(self) -> Result<Vec<RowEffect>, JobError> {
        let Self { tx, plan, sql } = self;
        let tenant = plan.tenant;
        match plan.kind {
            TransactionKind::Order {
                account,
                quantity,
                cents,
            } => self.place_order(account, quantity, cents).await,
            TransactionKind::Transfer { from, to, amount } => {
                let mut legs = [(from, -amount), (to, amount)];
                legs.sort_unstable();
                for (account, delta) in legs {
                    self.change_one_row(&sql.add, &[&tenant, &account, &delta])
                        .await?;
                }
                Ok(legs.map(|(id, delta)| account_effect(id, delta)).to_vec())
            }
            TransactionKind::Touch { event } => {
                self.change_one_row(&sql.touch, &[&tenant, &event]).await?;
                Ok(vec![RowEffect::Touched { id: event }])
            }
            TransactionKind::Deposit { account, amount } => {
                self.change_one_row(&sql.add, &[&tenant, &account, &amount])
                    .await?;
                Ok(vec![account_effect(account, amount)])
            }
            TransactionKind::Log { long } => {
                let body = long.then(long_text);
                self.change_one_row(&sql.log, &[&tenant, &plan.op, &body])
                    .await?;
                Ok(vec![RowEffect::Logged])
            }
            TransactionKind::Cancel { order } => {
                // A crash may have lost the order's asynchronous commit. Then there is no order to cancel.
                let cancelled = tx.execute(&sql.cancel, &[&tenant, &order.op]).await?;
                Ok(if cancelled == 1 {
                    vec![RowEffect::Cancelled { op: order.op }]
                } else {
                    Vec::new()
                })
            }
        }
    }

    async fn place_order(
        self,
        account: i64,
        quantity: i32,
        cents: i64,
    ) -> Result<Vec<RowEffect>, JobError> {
        let Self { tx, plan, sql } = self;
        let tenant = plan.tenant;
        let params: [&(dyn ToSql + Sync); 5] = [&tenant, &account, &plan.op, &quantity, &cents];
        let rows = tx.query(&sql.insert_order, &params).await?;
        let id: i64 = rows.first().map_or(0, |row| row.get(0));
        let params: [&(dyn ToSql + Sync); 5] = [&tenant, &id, &plan.op, &quantity, &cents];
        tx.execute(&sql.items, &params).await?;
        let delta = -(cents * i64::from(quantity));
        self.change_one_row(&sql.add, &[&tenant, &account, &delta])
            .await?;
        Ok(vec![
            RowEffect::Ordered { items: 2 },
            account_effect(account, delta),
        ])
    }

    /// Executes a statement that must change one row.
    async fn change_one_row(
        self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<(), JobError> {
        let changed = self.tx.execute(sql, params).await?;
        if changed == 1 {
            return Ok(());
        }
        let kind = self.plan.kind.name();
        Err(JobError::RowCount { kind, changed })
    }
}

fn give_up_or_commit(
    plan: &TransactionPlan,
    effects: Vec<RowEffect>,
) -> Result<Vec<RowEffect>, JobError> {
    if plan.give_up {
        Err(JobError::GivenUp)
    } else {
        Ok(effects)
    }
}

fn account_effect(id: i64, delta: i64) -> RowEffect {
    RowEffect::Account { id, delta }
}

fn long_text() -> String {
    let mut rng = rand::rng();
    (0..LONG_TEXT / 16)
        .map(|_| format!("{:016x}", rng.random::<u64>()))
        .collect()
}
