//! The demo's application: a shop of many tenants, its tables and its rows.
//!
//! Order: tables, rows made by the server itself, then keys, foreign keys, triggers and grants.
//! About two million rows at scale 1. A shard gets the rows of the keys that it owns.

mod shape;

use connect::{ConnectError, Dsn, Session};
use plans::key::Key;
use plans::key_set::KeySet;
pub use shape::KeyShape;
use tokio_postgres::Client;

/// The database of the shop, on a server of its own.
pub const DATABASE: &str = "shop";
/// The application's role; not a superuser.
pub const APP_ROLE: &str = "app";
/// Sharded tables, parents before children.
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
/// What every account holds at first.
pub const FIRST_BALANCE: i64 = 100_000;
/// Length of the long texts that the workload writes.
pub const LONG_TEXT: usize = 9_600;
/// Accounts of a tenant in the bank that only have transfers among themselves, numbered from 1.
pub const BANK_ACCOUNTS: i32 = 3;
/// What every account of the bank holds at first, account 0 too.
pub const BANK_DEPOSIT: i64 = 1_000;

const TENANTS: f64 = 2_000.0;
const FEWEST_TENANTS: i64 = 20;
/// Below this scale tenants are as few as can be, and have fewer rows.
const SMALLEST_FULL: f64 = 0.01;
/// The least share of the rows that a tenant has.
const LEAST_SHARE: f64 = 0.2;
/// Of a tenant's events, the ones whose number is a multiple of this have a text beyond 8 KiB.
const LONG_EVERY: i64 = 50;

/// Why the shop could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum ShopError {
    /// No connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A statement failed.
    #[error("could not {action}")]
    Statement {
        /// What it was for.
        action: &'static str,
        /// The server's words.
        #[source]
        source: tokio_postgres::Error,
    },
}

/// Rows that every tenant has at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerTenant {
    /// Accounts.
    pub accounts: i64,
    /// Orders, with three items or four.
    pub orders: i64,
    /// Events.
    pub events: i64,
    /// Events of a busy tenant.
    pub busy_events: i64,
}

impl Default for PerTenant {
    fn default() -> Self {
        Self {
            accounts: 50,
            orders: 200,
            events: 100,
            busy_events: 100,
        }
    }
}

impl PerTenant {
    /// The same with `share` of the rows, never more of them.
    fn scaled(self, part: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            reason = "small numbers of rows"
        )]
        let scaled = |rows: i64| (rows as f64 * part.clamp(LEAST_SHARE, 1.0)).ceil() as i64;
        Self {
            accounts: scaled(self.accounts),
            orders: scaled(self.orders),
            events: scaled(self.events),
            busy_events: scaled(self.busy_events),
        }
    }
}

/// How large the shop is, and what its keys look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shop {
    /// Tenants are numbered from 1 to this number; it is even.
    pub tenants: i64,
    /// Makes the texts differ from run to run.
    pub seed: u64,
    /// What the key of a tenant looks like.
    pub shape: KeyShape,
    /// Rows of a tenant.
    pub rows: PerTenant,
}

impl Shop {
    /// A shop of about `scale` times two million rows, with numbers as keys.
    #[must_use]
    pub fn new(scale: f64, seed: u64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "a small number of tenants")]
        let half = (scale * TENANTS / 2.0).ceil() as i64;
        Self {
            tenants: (half * 2).max(FEWEST_TENANTS),
            seed,
            shape: KeyShape::default(),
            rows: PerTenant::default().scaled(scale / SMALLEST_FULL),
        }
    }

    /// The key of a tenant.
    #[must_use]
    pub fn key(&self, tenant: i64) -> Key {
        self.shape.key(tenant)
    }

    /// The first tenant of the upper half.
    #[must_use]
    pub fn split_at(&self) -> i64 {
        self.tenants / 2 + 1
    }

    /// The upper half of the numbers, for a split of a range in two.
    #[must_use]
    pub fn upper_half(&self) -> KeySet {
        KeySet::range(Some(self.key(self.split_at())), None)
    }

    /// The account number `index` of a tenant.
    #[must_use]
    pub fn account(&self, tenant: i64, index: i64) -> i64 {
        tenant + self.tenants * (index.rem_euclid(self.rows.accounts))
    }

    /// A short event of a tenant, by number.
    #[must_use]
    pub fn event(&self, tenant: i64, index: i64) -> i64 {
        tenant + self.tenants * (index.rem_euclid(self.rows.events))
    }

    /// An event of a tenant whose text is stored out of line.
    #[must_use]
    pub fn long_event(&self, tenant: i64, index: i64) -> i64 {
        self.event(tenant, index * LONG_EVERY)
    }

    /// Creates tables, the rows of `owned` and constraints; tenants in `busy` have more events than others.
    /// Takes some seconds per million rows.
    ///
    /// # Errors
    /// [`ShopError`], naming what was under way.
    pub async fn load(
        &self,
        admin: &Dsn,
        owned: &KeySet,
        busy: Option<&KeySet>,
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
        let constraints = self.shape.fill(include_str!("constraints.sql"));
        run("create the tables", &self.schema()).await?;
        run("make the rows", &self.data(owned, busy)).await?;
        run("add the constraints", &constraints).await?;
        run("collect statistics", "vacuum analyze").await?;
        run("write a checkpoint", "checkpoint").await?;
        session.close().await;
        Ok(())
    }

    /// The statements that create the tables, without their constraints.
    #[must_use]
    pub fn schema(&self) -> String {
        self.shape.fill(include_str!("schema.sql"))
    }

    fn data(&self, owned: &KeySet, busy: Option<&KeySet>) -> String {
        let text = |number: i64| number.to_string();
        let busy = busy.map_or("false".to_owned(), |keys| self.shape.among(keys, "t"));
        let most = self.rows.events.max(self.rows.busy_events);
        self.shape
            .fill(include_str!("data.sql"))
            .replace("{mine}", &self.shape.among(owned, "t"))
            .replace("{busy}", &busy)
            .replace("{tenants}", &text(self.tenants))
            .replace("{accounts}", &text(self.rows.accounts))
            .replace("{orders}", &text(self.rows.orders))
            .replace("{events}", &text(self.rows.events))
            .replace("{most_events}", &text(most))
            .replace("{balance}", &text(FIRST_BALANCE))
            .replace("{bank_accounts}", &BANK_ACCOUNTS.to_string())
            .replace("{deposit}", &text(BANK_DEPOSIT))
            .replace("{seed}", &self.seed.to_string())
    }
}

/// Creates the application's role, or gives it this password, and empty databases.
///
/// # Errors
/// [`ShopError`], naming what was under way.
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
    create(&session, &role).await?;
    for database in databases {
        let database = plans::sql::quote_ident(database);
        create(&session, &format!("create database {database}")).await?;
    }
    session.close().await;
    Ok(())
}

async fn create(session: &Client, sql: &str) -> Result<(), ShopError> {
    session
        .batch_execute(sql)
        .await
        .map_err(|source| ShopError::Statement {
            action: "create the role and the databases",
            source,
        })
}
