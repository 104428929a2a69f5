//! The rows on the shards, read with SQL.

use super::CheckError;
use crate::ledger::base_digest_sql;
use crate::shop::{self, FIRST_BALANCE, KeyShape, LONG_TEXT, TABLES};
use connect::{Connected, Dsn};
use plans::id::ShardName;
use std::collections::{BTreeMap, HashMap};
use tokio_postgres::Row;

/// A row, by its shard key (as [`KeyShape::name`] prints it) and its own number.
pub(super) type RowKey = (String, i64);

/// What is read from a shard.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadScope {
    /// The columns of the shard key.
    pub(super) shape: KeyShape,
    /// Whether the shard owns any key.
    pub(super) owns: bool,
    /// True if rows of keys that the shard does not own are expected.
    pub(super) hold: bool,
}

/// The rows of the owners that the ledger describes.
#[derive(Debug, Default)]
pub(super) struct ObservedRows {
    /// The number of ledger rows, by key and operation.
    pub(super) ledger_rows: HashMap<RowKey, i64>,
    /// The workload's orders, by key and operation: their number, and the number of their correct items.
    pub(super) orders: HashMap<RowKey, (i64, i64)>,
    /// The number of the workload's items, by key and operation, regardless of their order.
    pub(super) items: HashMap<RowKey, i64>,
    /// The workload's events, by key and operation: their number, and the number of those that are correct.
    pub(super) logged: HashMap<RowKey, (i64, i64)>,
    /// Accounts that differ from their initial state: balance and number of changes.
    pub(super) accounts: HashMap<RowKey, (i64, i64)>,
    /// How often events were touched.
    pub(super) touched: HashMap<RowKey, i64>,
    /// The lists, by their names in histories.
    pub(super) lists: BTreeMap<String, Vec<i64>>,
    /// The balances of the bank, by key and account.
    pub(super) bank: HashMap<RowKey, i64>,
    /// The legs of transfers, by the number of the transfer: account and added amount.
    pub(super) legs: HashMap<i64, Vec<(RowKey, i64)>>,
    /// The initial rows of each table: their number, and the sum of the digests of all shards.
    pub(super) bases: HashMap<&'static str, (i64, i128)>,
    /// The number of rows on shards that do not own their key.
    pub(super) misplaced: u64,
}

/// A session on one shard.
pub(super) struct ShardReader {
    shard: ShardName,
    session: Connected,
}

impl ShardReader {
    pub(super) async fn open(
        shard: &ShardName,
        dsn: &Dsn,
        shape: KeyShape,
    ) -> Result<Self, CheckError> {
        Ok(Self {
            shard: shard.clone(),
            session: shop::open_reader(dsn, "ledger-check", shape).await?,
        })
    }

    pub(super) async fn close(self) {
        self.session.close().await;
    }

    pub(super) async fn rows(&self, table: &str, sql: &str) -> Result<Vec<Row>, CheckError> {
        self.session
            .query(sql, &[])
            .await
            .map_err(|source| CheckError::Query {
                shard: self.shard.clone(),
                table: table.to_owned(),
                source,
            })
    }

    /// Returns true if the table exists. A shard that never had a key has no tables.
    pub(super) async fn has(&self, table: &str) -> Result<bool, CheckError> {
        let sql = format!("select to_regclass('{table}') is not null");
        let rows = self.rows(table, &sql).await?;
        Ok(rows.first().is_some_and(|row| row.get(0)))
    }
}

impl ObservedRows {
    /// Adds the rows of one shard: all rows of keys for which `owned_condition` is true, and only the number of other
    /// rows.
    pub(super) async fn read(
        &mut self,
        reader: &ShardReader,
        scope: &ReadScope,
        owned_condition: &impl Fn(&str) -> String,
    ) -> Result<(), CheckError> {
        for table in TABLES {
            if !reader.has(table).await? {
                if !scope.owns {
                    continue;
                }
                return reader
                    .rows(table, &format!("table {table}"))
                    .await
                    .map(|_| ());
            }
            if !scope.hold {
                let condition = owned_condition(table);
                let sql = format!("select count(*) from {table} t where not {condition}");
                let rows = reader.rows(table, &sql).await?;
                let misplaced: i64 = rows.first().map_or(0, |row| row.get(0));
                self.misplaced += misplaced.unsigned_abs();
            }
        }
        if reader.has("stray_rows").await? {
            let count = "select count(*) from stray_rows";
            let rows = reader.rows("stray_rows", count).await?;
            let misplaced: i64 = rows.first().map_or(0, |row| row.get(0));
            self.misplaced += misplaced.unsigned_abs();
        }
        if !scope.owns {
            return Ok(());
        }
        self.read_workload(reader, scope.shape, owned_condition)
            .await?;
        self.read_values(reader, scope.shape, owned_condition)
            .await?;
        self.read_lists_and_bank(reader, scope.shape, owned_condition)
            .await?;
        for (table, sql) in base_digest_sql(scope.shape, owned_condition) {
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
        reader: &ShardReader,
        shape: KeyShape,
        owned_condition: &impl Fn(&str) -> String,
    ) -> Result<(), CheckError> {
        let sql = |table: &str, more: &str, rows: &str| {
            let name = shape.fill("{key_name}");
            let condition = owned_condition(table);
            format!(
                "select {name}, op, count(*) {more} from {table} t where {rows} and {condition} group by 1, 2"
            )
        };
        for row in reader.rows("ledger", &sql("ledger", "", "true")).await? {
            *self.ledger_rows.entry(key(&row)).or_default() += row.get::<_, i64>(2);
        }
        let equal: Vec<String> = shape
            .columns_of("orders")
            .iter()
            .map(|(column, _)| format!("i.{column} = t.{column}"))
            .collect();
        let items = format!(
            ", sum((select count(*) from order_items i where {} and i.order_id = t.id \
                and (i.op, i.quantity, i.cents) = (t.op, t.quantity, t.price * 100)))::bigint",
            equal.join(" and ")
        );
        let is_of_workload = "t.op is not null";
        for row in reader
            .rows("orders", &sql("orders", &items, is_of_workload))
            .await?
        {
            let sum = self.orders.entry(key(&row)).or_default();
            sum.0 += row.get::<_, i64>(2);
            sum.1 += row.get::<_, i64>(3);
        }
        let items = sql("order_items", "", is_of_workload);
        for row in reader.rows("order_items", &items).await? {
            *self.items.entry(key(&row)).or_default() += row.get::<_, i64>(2);
        }
        let correct_events = format!(
            ", count(*) filter (where t.kind = 'workload' and t.payload = jsonb_build_object('op', t.op) \
                and coalesce(length(t.body), {LONG_TEXT}) = {LONG_TEXT})"
        );
        for row in reader
            .rows("events", &sql("events", &correct_events, is_of_workload))
            .await?
        {
            let sum = self.logged.entry(key(&row)).or_default();
            sum.0 += row.get::<_, i64>(2);
            sum.1 += row.get::<_, i64>(3);
        }
        Ok(())
    }

    async fn read_values(
        &mut self,
        reader: &ShardReader,
        shape: KeyShape,
        owned_condition: &impl Fn(&str) -> String,
    ) -> Result<(), CheckError> {
        let name = shape.fill("{key_name}");
        let sql = format!(
            "select {name}, id, balance, changes from accounts t \
             where (changes <> 0 or balance <> {FIRST_BALANCE}) and {}",
            owned_condition("accounts")
        );
        for row in reader.rows("accounts", &sql).await? {
            self.accounts.insert(key(&row), (row.get(2), row.get(3)));
        }
        let sql = format!(
            "select {name}, id, seen from events t where seen <> 0 and {}",
            owned_condition("events")
        );
        for row in reader.rows("events", &sql).await? {
            self.touched.insert(key(&row), row.get(2));
        }
        Ok(())
    }

    async fn read_lists_and_bank(
        &mut self,
        reader: &ShardReader,
        shape: KeyShape,
        owned_condition: &impl Fn(&str) -> String,
    ) -> Result<(), CheckError> {
        let sql = |table: &str, columns: &str| {
            let name = shape.fill("{key_name}");
            format!(
                "select {name}, {columns} from {table} t where {}",
                owned_condition(table)
            )
        };
        for row in reader.rows("lists", &sql("lists", "id, items")).await? {
            let (key, list) = key(&row);
            self.lists.insert(format!("{key}.{list}"), row.get(2));
        }
        let columns = "id::bigint, balance";
        for row in reader.rows("bank", &sql("bank", columns)).await? {
            self.bank.insert(key(&row), row.get(2));
        }
        let columns = "account::bigint, id, delta";
        for row in reader.rows("transfers", &sql("transfers", columns)).await? {
            let leg = (key(&row), row.get(3));
            self.legs.entry(row.get(2)).or_default().push(leg);
        }
        Ok(())
    }
}

fn key(row: &Row) -> RowKey {
    (row.get(0), row.get(1))
}
