//! Runs one transaction's statements and says what they changed.

use super::plan::{Kind, Plan};
use crate::ledger::Effect;
use client::Transaction;
use rand::Rng;

/// Why a transaction did not reach its commit.
#[derive(Debug, thiserror::Error)]
pub(super) enum JobError {
    /// A statement failed.
    #[error("statement failed")]
    Statement(#[from] tokio_postgres::Error),
    /// By intent.
    #[error("given up on purpose")]
    GivenUp,
    /// A row that must be there was not, or was there twice.
    #[error("{changed} rows changed by a {kind} instead of one")]
    Missing { kind: &'static str, changed: u64 },
}

/// The lock is held until the transaction ends: who looks for an operation waits for its end first.
const MARK: &str = "insert into ledger (tenant_id, op, client, kind) \
    select $1::bigint, $2::bigint, $3::integer, $4::text from ( \
        select pg_advisory_xact_lock($3::integer, ($2::bigint % 1000000000)::integer)) as held";
const ADD: &str = "update accounts set balance = balance + $3, changes = changes + 1 \
    where tenant_id = $1 and id = $2";
const DEPOSIT: &str = "with mark as ( \
        insert into ledger (tenant_id, op, client, kind) \
        select $1::bigint, $4::bigint, $5::integer, 'deposit' from ( \
            select pg_advisory_xact_lock($5::integer, ($4::bigint % 1000000000)::integer)) as held) \
    update accounts set balance = balance + $3::bigint, changes = changes + 1 \
    where tenant_id = $1::bigint and id = $2::bigint";
const HOLD: &str = "select pg_advisory_xact_lock($1::integer, ($2::bigint % 1000000000)::integer)";
const FIND: &str = "select 1 from ledger where tenant_id = $1 and op = $2";

/// Runs the plan's statements; the changes that stand if it commits.
pub(super) async fn run(tx: &Transaction, plan: &Plan) -> Result<Vec<Effect>, JobError> {
    if let Kind::Deposit { account, amount } = plan.kind {
        let (op, client) = (plan.op, plan.client);
        let changed = tx
            .execute(DEPOSIT, &[&plan.tenant, &account, &amount, &op, &client])
            .await?;
        one(plan, changed)?;
        return finish(plan, vec![account_effect(account, amount)]);
    }
    mark(tx, plan, plan.op).await?;
    if let Some(op) = plan.detour {
        detour(tx, plan, op).await?;
    }
    let effects = change(tx, plan).await?;
    finish(plan, effects)
}

/// True if the operation is on this shard; waits until a transaction that may still write it has ended.
pub(super) async fn is_there(tx: &Transaction, plan: &Plan) -> Result<bool, JobError> {
    // The lock comes in a statement before the one that looks, whose snapshot is then new enough.
    tx.query(HOLD, &[&plan.client, &plan.op]).await?;
    let found = tx.query(FIND, &[&plan.tenant, &plan.op]).await?;
    Ok(!found.is_empty())
}

async fn mark(tx: &Transaction, plan: &Plan, op: i64) -> Result<(), JobError> {
    let kind = plan.kind.name();
    tx.execute(MARK, &[&plan.tenant, &op, &plan.client, &kind])
        .await?;
    Ok(())
}

/// Changes that are taken back to a savepoint before the transaction goes on.
async fn detour(tx: &Transaction, plan: &Plan, op: i64) -> Result<(), JobError> {
    tx.savepoint("detour").await?;
    mark(tx, plan, op).await?;
    let all = "update accounts set balance = balance + 1, changes = changes + 1 \
        where tenant_id = $1 and id = (select min(id) from accounts where tenant_id = $1)";
    tx.execute(all, &[&plan.tenant]).await?;
    tx.rollback_to("detour").await?;
    Ok(())
}

async fn change(tx: &Transaction, plan: &Plan) -> Result<Vec<Effect>, JobError> {
    let tenant = plan.tenant;
    match plan.kind {
        Kind::Order {
            account,
            quantity,
            cents,
        } => order(tx, plan, (account, quantity, cents)).await,
        Kind::Transfer { from, to, amount } => {
            let mut legs = [(from, -amount), (to, amount)];
            legs.sort_unstable();
            for (account, delta) in legs {
                one(plan, tx.execute(ADD, &[&tenant, &account, &delta]).await?)?;
            }
            Ok(legs.map(|(id, delta)| account_effect(id, delta)).to_vec())
        }
        Kind::Touch { event } => {
            let sql = "update events set seen = seen + 1 where tenant_id = $1 and id = $2";
            one(plan, tx.execute(sql, &[&tenant, &event]).await?)?;
            Ok(vec![Effect::Touched { id: event }])
        }
        Kind::Deposit { account, amount } => {
            one(plan, tx.execute(ADD, &[&tenant, &account, &amount]).await?)?;
            Ok(vec![account_effect(account, amount)])
        }
        Kind::Log { long } => {
            let body = long.then(long_text);
            let sql = "insert into events (tenant_id, op, kind, payload, body) \
                values ($1, $2::bigint, 'workload', jsonb_build_object('op', $2::bigint), $3)";
            one(plan, tx.execute(sql, &[&tenant, &plan.op, &body]).await?)?;
            Ok(vec![Effect::Logged])
        }
        Kind::Cancel { order } => {
            let sql = "delete from orders where tenant_id = $1 and op = $2";
            // An asynchronous commit that a crash took back leaves no order to cancel.
            let gone = tx.execute(sql, &[&tenant, &order.op]).await?;
            Ok(if gone == 1 {
                vec![Effect::Cancelled { op: order.op }]
            } else {
                Vec::new()
            })
        }
    }
}

async fn order(
    tx: &Transaction,
    plan: &Plan,
    (account, quantity, cents): (i64, i32, i64),
) -> Result<Vec<Effect>, JobError> {
    let sql = "insert into orders (tenant_id, account_id, op, quantity, price, status) \
        values ($1, $2, $3, $4, $5::bigint / 100.0, 'OPEN') returning id";
    let tenant = plan.tenant;
    let rows = tx
        .query(sql, &[&tenant, &account, &plan.op, &quantity, &cents])
        .await?;
    let items = "insert into order_items (tenant_id, order_id, line, op, sku, quantity, cents) \
        select $1::bigint, $2::bigint, line, $3::bigint, 'sku-' || line, $4::integer, $5::bigint from generate_series(1, 2) line";
    let id: i64 = rows.first().map_or(0, |row| row.get(0));
    tx.execute(items, &[&tenant, &id, &plan.op, &quantity, &cents])
        .await?;
    let delta = -(cents * i64::from(quantity));
    one(plan, tx.execute(ADD, &[&tenant, &account, &delta]).await?)?;
    Ok(vec![
        Effect::Ordered { items: 2 },
        account_effect(account, delta),
    ])
}

fn finish(plan: &Plan, effects: Vec<Effect>) -> Result<Vec<Effect>, JobError> {
    if plan.give_up {
        Err(JobError::GivenUp)
    } else {
        Ok(effects)
    }
}

fn one(plan: &Plan, changed: u64) -> Result<(), JobError> {
    if changed == 1 {
        return Ok(());
    }
    let kind = plan.kind.name();
    Err(JobError::Missing { kind, changed })
}

fn account_effect(id: i64, delta: i64) -> Effect {
    Effect::Account { id, delta }
}

fn long_text() -> String {
    let mut rng = rand::rng();
    (0..600)
        .map(|_| format!("{:016x}", rng.random::<u64>()))
        .collect()
}
