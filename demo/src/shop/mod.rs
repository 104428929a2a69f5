//! The demo's application: a shop with many tenants, its tables and its rows.
//!
//! It creates the tables, lets the server generate the rows, and then adds keys, foreign keys, triggers and grants. At
//! scale 1 there are about two million rows. Each shard gets the rows of the keys that it owns.

mod shape;

use connect::{ConnectError, Connected, Dsn, Session};
use plans::key::Key;
use plans::key_set::KeySet;
pub use shape::KeyShape;
use tokio_postgres::Client;

/// The name of the shop's database, if it has its own server.
pub const DATABASE: &str = "shop";
/// The application's role, which is not a superuser.
pub const APP_ROLE: &str = "app";
/// The sharded tables, parents before children.
pub const TABLES: [&str; 9] = [
    "tenants",
    "accounts",
    "orders",
    "order_items",
    "events",
    "lists",
    "bank",
    "transfers",
    "ledger",
];
/// The initial balance of every account.
pub const FIRST_BALANCE: i64 = 100_000;
/// The length of the long texts that the workload writes.
pub const LONG_TEXT: usize = 9_600;
/// The number of accounts in a tenant's bank that have transfers only among themselves. They are numbered from 1.
pub const BANK_ACCOUNTS: i32 = 3;
/// The initial balance of every account of the bank, including account 0.
pub const BANK_DEPOSIT: i64 = 1_000;

/// Creates a temporary view for each of the tables, of all schemas that have it, and one of the rows that are in a schema
/// of another tenant.
const VIEWS_OF_ALL_SCHEMAS: &str = "do $$ declare definition text; strays text; begin
    for definition in
      select format('create temp view %I as %s', c.relname,
                    string_agg(format('select * from %s', c.oid::regclass), ' union all ' order by n.nspname))
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind = 'r' and c.relname in ({tables}) and n.nspname not in ('public', 'shardwright') and n.nspname !~ '^pg_'
      group by c.relname
    loop
      execute definition;
    end loop;
    select string_agg(format('select tenant from %s where tenant is distinct from %L', c.oid::regclass, n.nspname), ' union all ')
    into strays
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind = 'r' and c.relname in ({tables}) and n.nspname not in ('public', 'shardwright') and n.nspname !~ '^pg_';
    if strays is not null then
      execute 'create temp view stray_rows as ' || strays;
    end if;
  end $$";

/// Creates a temporary view of the items of orders with the keys of the orders, and one of the items that lack an order.
const VIEWS_WITH_KEYS: &str = "set search_path = public; do $$ begin
    if to_regclass('public.order_items') is not null then
      create temp view order_items as
        select o.tenant_id, i.* from public.order_items i left join public.orders o on o.id = i.order_id;
      create temp view stray_rows as select from order_items where tenant_id is null;
    end if;
  end $$";

const TENANTS: f64 = 2_000.0;
const MIN_TENANTS: i64 = 20;
/// Below this scale there are `MIN_TENANTS` tenants, and each has fewer rows.
const MIN_SCALE_WITH_ALL_ROWS: f64 = 0.01;
/// The least fraction of [`PerTenant`] that a tenant has.
const MIN_ROW_FRACTION: f64 = 0.2;
/// A tenant's event has a text of more than 8 KiB if its number is a multiple of this.
const LONG_TEXT_INTERVAL: i64 = 50;

/// Why the shop could not be created.
#[derive(Debug, thiserror::Error)]
pub enum ShopError {
    /// A server could not be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A statement failed.
    #[error("could not {action}")]
    Statement {
        /// The purpose of the statement.
        action: &'static str,
        /// The error of the server.
        #[source]
        source: tokio_postgres::Error,
    },
}

/// The initial rows of every tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerTenant {
    /// The number of accounts.
    pub accounts: i64,
    /// The number of orders, each with three or four items.
    pub orders: i64,
    /// The number of events.
    pub events: i64,
    /// The number of events of a tenant with most rows.
    pub max_events: i64,
}

impl Default for PerTenant {
    fn default() -> Self {
        Self {
            accounts: 50,
            orders: 200,
            events: 100,
            max_events: 100,
        }
    }
}

impl PerTenant {
    /// Returns the numbers multiplied by `factor`.
    fn times(self, factor: i64) -> Self {
        Self {
            accounts: self.accounts * factor,
            orders: self.orders * factor,
            events: self.events * factor,
            max_events: self.max_events * factor,
        }
    }

    /// Returns the numbers multiplied by `fraction`, but never greater ones.
    fn scaled(self, fraction: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            reason = "small numbers of rows"
        )]
        let scaled =
            |rows: i64| (rows as f64 * fraction.clamp(MIN_ROW_FRACTION, 1.0)).ceil() as i64;
        Self {
            accounts: scaled(self.accounts),
            orders: scaled(self.orders),
            events: scaled(self.events),
            max_events: scaled(self.max_events),
        }
    }
}

/// The size of the shop, and the columns of its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shop {
    /// The number of tenants, which are numbered from 1. It is even.
    pub tenants: i64,
    /// A seed that makes the texts differ between runs.
    pub seed: u64,
    /// The columns of the key.
    pub shape: KeyShape,
    /// The rows of a tenant.
    pub rows: PerTenant,
}

impl Shop {
    /// Creates a shop with about `scale` times two million rows, and numbers as keys.
    #[must_use]
    pub fn new(scale: f64, seed: u64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "a small number of tenants")]
        let half = (scale * TENANTS / 2.0).ceil() as i64;
        Self {
            tenants: (half * 2).max(MIN_TENANTS),
            seed,
            shape: KeyShape::default(),
            rows: PerTenant::default().scaled(scale / MIN_SCALE_WITH_ALL_ROWS),
        }
    }

    /// Returns the same shop with these keys. With whole tables it has fewer tenants. A group of tables has the rows of
    /// many tenants.
    #[must_use]
    pub fn of_shape(self, shape: KeyShape) -> Self {
        let tenants = shape.tenants(self.tenants);
        let rows = match shape {
            KeyShape::Group => self.rows.times(self.tenants / tenants),
            KeyShape::BigInt
            | KeyShape::TextBigInt
            | KeyShape::Timestamp
            | KeyShape::Schema
            | KeyShape::Dependents => self.rows,
        };
        Self {
            tenants,
            shape,
            rows,
            ..self
        }
    }

    /// Returns the key of a tenant.
    #[must_use]
    pub fn key(&self, tenant: i64) -> Key {
        self.shape.key(tenant)
    }

    /// Returns the first tenant of the upper half.
    #[must_use]
    pub fn first_upper_tenant(&self) -> i64 {
        self.tenants / 2 + 1
    }

    /// Returns the upper half of the numbers, for a split of a range in two.
    #[must_use]
    pub fn upper_half(&self) -> KeySet {
        KeySet::range(Some(self.key(self.first_upper_tenant())), None)
    }

    /// Returns the number of a tenant's account `index`.
    #[must_use]
    pub fn account(&self, tenant: i64, index: i64) -> i64 {
        tenant + self.tenants * (index.rem_euclid(self.rows.accounts))
    }

    /// Returns the number of a tenant's event with a short text.
    #[must_use]
    pub fn event(&self, tenant: i64, index: i64) -> i64 {
        tenant + self.tenants * (index.rem_euclid(self.rows.events))
    }

    /// Returns the number of a tenant's event whose text is stored out of line (TOAST).
    #[must_use]
    pub fn long_event(&self, tenant: i64, index: i64) -> i64 {
        self.event(tenant, index * LONG_TEXT_INTERVAL)
    }

    /// Creates tables, the rows of `owned`, and constraints. Tenants in `most_rows` have more events than others.
    /// Loading takes a few seconds for each million rows.
    ///
    /// # Errors
    /// [`ShopError`] names the failed action.
    pub async fn load(
        &self,
        admin: &Dsn,
        owned: &KeySet,
        most_rows: Option<&KeySet>,
    ) -> Result<(), ShopError> {
        let session = connect::connect(admin, &Session::named("demo")).await?;
        let run = async |action, sql: &str| {
            session
                .batch_execute(sql)
                .await
                .map_err(|source| ShopError::Statement { action, source })
        };
        run(
            "prepare the session",
            "set search_path = public; set synchronous_commit = off; set maintenance_work_mem = '128MB'",
        )
        .await?;
        for part in self.parts(owned) {
            run("choose the schema", &part.choose_schema).await?;
            run("create the tables", &self.create_tables_sql()).await?;
            let rows = self.insert_rows_sql(&part, owned, most_rows);
            run("insert the rows", &rows).await?;
            run("add the constraints", &part.constraints).await?;
        }
        run("collect statistics", "vacuum analyze").await?;
        run("write a checkpoint", "checkpoint").await?;
        session.close().await;
        Ok(())
    }

    /// Returns the statements that create the tables, without their constraints.
    #[must_use]
    pub fn create_tables_sql(&self) -> String {
        self.shape.fill(include_str!("schema.sql"))
    }

    /// Returns the sets of tables of a shard: one, or one for each tenant that owns its tables.
    fn parts(&self, owned: &KeySet) -> Vec<TableSet> {
        let mut constraints = self.shape.fill(include_str!("constraints.sql"));
        if self.shape == KeyShape::Dependents {
            constraints.push_str(include_str!("dependents.sql"));
        }
        if !self.shape.has_whole_tables() {
            return vec![TableSet {
                choose_schema: String::new(),
                first_tenant: 1,
                step: 1,
                constraints,
            }];
        }
        let tenants = (1..=self.tenants).map(|tenant| (tenant, self.key(tenant)));
        let own = tenants.filter(|(_, key)| owned.contains(key));
        let part = |(tenant, key): (i64, Key)| {
            let schema = plans::sql::quote_ident(&key.text());
            TableSet {
                choose_schema: format!("create schema {schema}; set search_path = {schema}"),
                first_tenant: tenant,
                step: self.tenants,
                constraints: constraints.replace("schema public", &format!("schema {schema}")),
            }
        };
        own.map(part).collect()
    }

    fn insert_rows_sql(
        &self,
        part: &TableSet,
        owned: &KeySet,
        most_rows: Option<&KeySet>,
    ) -> String {
        let text = |number: i64| number.to_string();
        let most_rows = most_rows.map_or("false".to_owned(), |keys| {
            self.shape.tenant_predicate(keys, "t")
        });
        let most_events = self.rows.events.max(self.rows.max_events);
        self.shape
            .fill(include_str!("data.sql"))
            .replace("{mine}", &self.shape.tenant_predicate(owned, "t"))
            .replace("{busy}", &most_rows)
            .replace("{first}", &text(part.first_tenant))
            .replace("{step}", &text(part.step))
            .replace("{tenants}", &text(self.tenants))
            .replace("{accounts}", &text(self.rows.accounts))
            .replace("{orders}", &text(self.rows.orders))
            .replace("{events}", &text(self.rows.events))
            .replace("{most_events}", &text(most_events))
            .replace("{balance}", &text(FIRST_BALANCE))
            .replace("{bank_accounts}", &BANK_ACCOUNTS.to_string())
            .replace("{deposit}", &text(BANK_DEPOSIT))
            .replace("{seed}", &self.seed.to_string())
    }
}

/// A set of the shop's tables, in one schema.
struct TableSet {
    /// The statements that create the schema and make it that of the session.
    choose_schema: String,
    /// The number of its first tenant, and the distance to the next one.
    first_tenant: i64,
    step: i64,
    constraints: String,
}

/// Opens a session in which the names of tables are those of all tenants together, with their keys: if each tenant has its
/// own tables, they are temporary views of all schemas that the database has now.
///
/// # Errors
/// [`ShopError`] names the failed action.
pub async fn open_reader(
    dsn: &Dsn,
    name: &'static str,
    shape: KeyShape,
) -> Result<Connected, ShopError> {
    let session = connect::connect(dsn, &Session::named(name)).await?;
    let names = TABLES.map(|table| format!("'{table}'")).join(", ");
    let prepare = match shape {
        KeyShape::Schema | KeyShape::Group => VIEWS_OF_ALL_SCHEMAS.replace("{tables}", &names),
        KeyShape::Dependents => VIEWS_WITH_KEYS.to_owned(),
        KeyShape::BigInt | KeyShape::TextBigInt | KeyShape::Timestamp => {
            "set search_path = public".to_owned()
        }
    };
    let prepared = session.batch_execute(&prepare).await;
    prepared.map_err(|source| ShopError::Statement {
        action: "prepare a session that reads all tables",
        source,
    })?;
    Ok(session)
}

/// Creates the application's role or sets its password, and creates empty databases.
///
/// # Errors
/// [`ShopError`] names the failed action.
pub async fn prepare(
    server: &Dsn,
    app_password: &str,
    databases: &[&str],
) -> Result<(), ShopError> {
    let session = connect::connect(server, &Session::named("demo")).await?;
    let password = plans::sql::quote_literal(app_password);
    let role = format!(
        "do $$ begin create role {APP_ROLE} login; exception when duplicate_object then null; end $$; \
         alter role {APP_ROLE} password {password}"
    );
    run_sql(&session, &role).await?;
    for database in databases {
        let database = plans::sql::quote_ident(database);
        run_sql(&session, &format!("create database {database}")).await?;
    }
    session.close().await;
    Ok(())
}

async fn run_sql(session: &Client, sql: &str) -> Result<(), ShopError> {
    session
        .batch_execute(sql)
        .await
        .map_err(|source| ShopError::Statement {
            action: "create the role and the databases",
            source,
        })
}
