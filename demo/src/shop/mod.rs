//! The demo's application: a shop of many tenants, its tables and its rows.
//!
//! Order: tables, rows made by the server itself, then keys, foreign keys, triggers and grants.
//! About two million rows at scale 1, half of them under keys that move.

use connect::{ConnectError, Dsn, Session};
use plans::key_set::{Key, KeyRange, KeySet};
use tokio_postgres::Client;

/// The database of the shop, on each shard.
pub const DATABASE: &str = "shop";
/// The application's role; not a superuser.
pub const APP_ROLE: &str = "app";
/// Sharded tables and their key columns, parents before children.
pub const TABLES: [(&str, &str); 6] = [
    ("tenants", "id"),
    ("accounts", "tenant_id"),
    ("orders", "tenant_id"),
    ("order_items", "tenant_id"),
    ("events", "tenant_id"),
    ("ledger", "tenant_id"),
];
/// What every account holds at first.
pub const FIRST_BALANCE: i64 = 100_000;

const TENANTS: f64 = 2_000.0;
const FEWEST_TENANTS: i64 = 20;
const ACCOUNTS: i64 = 50;
const ORDERS: i64 = 200;
const EVENTS: i64 = 100;
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

/// How large the shop is, and which of its keys move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shop {
    /// Tenants have the keys 1 to this number; it is even.
    pub tenants: i64,
    /// Makes the texts differ from run to run.
    pub seed: u64,
}

impl Shop {
    /// A shop of about `scale` times two million rows.
    #[must_use]
    pub fn new(scale: f64, seed: u64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "a small number of tenants")]
        let half = (scale * TENANTS / 2.0).ceil() as i64;
        Self {
            tenants: (half * 2).max(FEWEST_TENANTS),
            seed,
        }
    }

    /// The first key that moves.
    #[must_use]
    pub fn split_at(&self) -> i64 {
        self.tenants / 2 + 1
    }

    /// The keys that move: the upper half.
    #[must_use]
    pub fn moving(&self) -> KeySet {
        KeySet::Range(KeyRange {
            from: Some(Key::Int(self.split_at())),
            to: None,
        })
    }

    /// The account number `index` of a tenant.
    #[must_use]
    pub fn account(&self, tenant: i64, index: i64) -> i64 {
        tenant + self.tenants * (index.rem_euclid(ACCOUNTS))
    }

    /// A short event of a tenant, by number.
    #[must_use]
    pub fn event(&self, tenant: i64, index: i64) -> i64 {
        tenant + self.tenants * (index.rem_euclid(EVENTS))
    }

    /// An event of a tenant whose text is stored out of line.
    #[must_use]
    pub fn long_event(&self, tenant: i64, index: i64) -> i64 {
        self.event(tenant, index * LONG_EVERY)
    }

    /// Creates tables, rows and constraints. Takes some seconds per million rows.
    ///
    /// # Errors
    /// [`ShopError`], naming what was under way.
    pub async fn load(&self, admin: &Dsn) -> Result<(), ShopError> {
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
        run("create the tables", include_str!("schema.sql")).await?;
        run("make the rows", &self.rows()).await?;
        run("add the constraints", include_str!("constraints.sql")).await?;
        run("collect statistics", "vacuum analyze").await?;
        run("write a checkpoint", "checkpoint").await?;
        session.close().await;
        Ok(())
    }

    fn rows(&self) -> String {
        let text = |number: i64| number.to_string();
        include_str!("data.sql")
            .replace("{tenants}", &text(self.tenants))
            .replace("{accounts}", &text(ACCOUNTS))
            .replace("{orders}", &text(ORDERS))
            .replace("{events}", &text(EVENTS))
            .replace("{balance}", &text(FIRST_BALANCE))
            .replace("{seed}", &self.seed.to_string())
    }
}

/// Creates the application's role and the empty database on a new cluster.
///
/// # Errors
/// [`ShopError`], naming what was under way.
pub async fn prepare(server: &Dsn, app_password: &str) -> Result<(), ShopError> {
    let session = connect::connect(server, &Session::named("demo")).await?;
    let password = plans::table::quote_literal(app_password);
    create(
        &session,
        &format!("create role {APP_ROLE} login password {password}"),
    )
    .await?;
    create(&session, &format!("create database {DATABASE}")).await?;
    session.close().await;
    Ok(())
}

async fn create(session: &Client, sql: &str) -> Result<(), ShopError> {
    session
        .batch_execute(sql)
        .await
        .map_err(|source| ShopError::Statement {
            action: "create the role and the database",
            source,
        })
}
