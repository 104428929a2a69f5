//! What the shards hold, read by SQL.

use super::{CheckError, key_column, predicate};
use crate::ledger::base_digest_sql;
use crate::shop::{FIRST_BALANCE, TABLES};
use connect::{Connected, Dsn, Session};
use plans::id::ShardName;
use plans::key_set::KeySet;
use std::collections::HashMap;
use tokio_postgres::Row;

/// A row by its tenant and its own number.
pub(super) type RowKey = (i64, i64);

/// Everything that the owners hold and the ledger speaks of.
#[derive(Debug, Default)]
pub(super) struct Observed {
    /// Ledger rows by tenant and operation: how many.
    pub(super) marks: HashMap<RowKey, i64>,
    /// Orders of the workload by tenant and operation: how many, and their items.
    pub(super) orders: HashMap<RowKey, (i64, i64)>,
    /// Events of the workload by tenant and operation: how many.
    pub(super) logged: HashMap<RowKey, i64>,
    /// Accounts that are not as at first: balance and changes.
    pub(super) accounts: HashMap<RowKey, (i64, i64)>,
    /// Events that were touched: how often.
    pub(super) seen: HashMap<RowKey, i64>,
    /// First rows by table: how many, and the sum of their digests from each shard.
    pub(super) bases: HashMap<&'static str, (i64, i128)>,
    /// Rows on shards that do not own their key.
    pub(super) misplaced: u64,
}

/// A session on one shard.
pub(super) struct Reader {
    shard: ShardName,
    session: Connected,
}

impl Reader {
    pub(super) async fn open(shard: &ShardName, dsn: &Dsn) -> Result<Self, CheckError> {
        Ok(Self {
            shard: shard.clone(),
            session: connect::connect(dsn, &Session::named("ledger-check")).await?,
        })
    }

    pub(super) async fn close(self) {
        self.session.close().await;
    }

    pub(super) async fn rows(&self, what: &str, sql: &str) -> Result<Vec<Row>, CheckError> {
        self.session
            .query(sql, &[])
            .await
            .map_err(|source| CheckError::Query {
                shard: self.shard.clone(),
                what: what.to_owned(),
                source,
            })
    }

    /// True if the shard has the table; a shard that never held a key has none.
    pub(super) async fn has(&self, table: &str) -> Result<bool, CheckError> {
        let sql = format!("select to_regclass('public.{table}') is not null");
        let rows = self.rows(table, &sql).await?;
        Ok(rows.first().is_some_and(|row| row.get(0)))
    }
}

impl Observed {
    /// Adds what one shard holds: of the keys in `owned` everything, of others only their number.
    pub(super) async fn read(
        &mut self,
        reader: &Reader,
        owned: &[&KeySet],
        hold: bool,
    ) -> Result<(), CheckError> {
        let mine = |table: &str| predicate(owned, &key_column(table));
        for (table, _) in TABLES {
            if !reader.has(table).await? {
                if owned.is_empty() {
                    continue;
                }
                return reader
                    .rows(table, &format!("table public.{table}"))
                    .await
                    .map(|_| ());
            }
            if !hold {
                let condition = mine(table);
                let sql = format!("select count(*) from public.{table} t where not {condition}");
                let rows = reader.rows(table, &sql).await?;
                let strays: i64 = rows.first().map_or(0, |row| row.get(0));
                self.misplaced += strays.unsigned_abs();
            }
        }
        if owned.is_empty() {
            return Ok(());
        }
        self.read_workload(reader, &mine).await?;
        for (table, sql) in base_digest_sql(mine) {
            for row in reader.rows(table, &sql).await? {
                let digest: String = row.get(1);
                let base = self.bases.entry(table).or_default();
                base.0 += row.get::<_, i64>(0);
                base.1 += digest.parse::<i128>().unwrap_or_default();
            }
        }
        Ok(())
    }

    async fn read_workload(
        &mut self,
        reader: &Reader,
        mine: &impl Fn(&str) -> String,
    ) -> Result<(), CheckError> {
        let condition = mine("ledger");
        let sql = format!(
            "select tenant_id, op, count(*) from public.ledger t where {condition} group by 1, 2"
        );
        for row in reader.rows("ledger", &sql).await? {
            *self.marks.entry(key(&row)).or_default() += row.get::<_, i64>(2);
        }
        let condition = mine("orders");
        let sql = format!(
            "select tenant_id, op, count(*), sum((select count(*) from public.order_items i \
                where i.tenant_id = t.tenant_id and i.order_id = t.id))::bigint \
             from public.orders t where op is not null and {condition} group by 1, 2"
        );
        for row in reader.rows("orders", &sql).await? {
            self.orders.insert(key(&row), (row.get(2), row.get(3)));
        }
        let sql = format!(
            "select tenant_id, op, count(*) from public.events t \
             where op is not null and {} group by 1, 2",
            mine("events")
        );
        for row in reader.rows("events", &sql).await? {
            self.logged.insert(key(&row), row.get(2));
        }
        self.read_values(reader, mine).await
    }

    async fn read_values(
        &mut self,
        reader: &Reader,
        mine: &impl Fn(&str) -> String,
    ) -> Result<(), CheckError> {
        let sql = format!(
            "select tenant_id, id, balance, changes from public.accounts t \
             where (changes <> 0 or balance <> {FIRST_BALANCE}) and {}",
            mine("accounts")
        );
        for row in reader.rows("accounts", &sql).await? {
            self.accounts.insert(key(&row), (row.get(2), row.get(3)));
        }
        let sql = format!(
            "select tenant_id, id, seen from public.events t where seen <> 0 and {}",
            mine("events")
        );
        for row in reader.rows("events", &sql).await? {
            self.seen.insert(key(&row), row.get(2));
        }
        Ok(())
    }
}

fn key(row: &Row) -> RowKey {
    (row.get(0), row.get(1))
}
