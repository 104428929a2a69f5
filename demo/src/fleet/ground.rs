//! Servers that many runs share, one run after the other, each with databases of its own.
//!
//! Order: source, target and store are started once; each run gets a fleet on them; after it the databases are dropped.

use super::{ADMIN, ADMIN_DATABASE, Doors, Fleet, Folder, Home, SOURCE, TARGET, launch, programs};
use crate::error::DemoError;
use crate::shop::{DATABASE, ShopError};
use cluster::Cluster;
use connect::{Dsn, Session};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Sessions of ours, and transactions that somebody prepared, on a whole server.
const REMAINS: &str = "select (select count(*) from pg_catalog.pg_stat_activity \
        where starts_with(application_name, 'shardwright/') and pid <> pg_catalog.pg_backend_pid()) \
    + (select count(*) from pg_catalog.pg_prepared_xacts) \
    + (select count(*) from pg_catalog.pg_replication_slots)";

/// Three servers.
#[derive(Debug)]
pub(crate) struct Ground {
    servers: Vec<Arc<Cluster>>,
}

impl Ground {
    /// Starts them.
    pub(crate) async fn start() -> Result<Self, DemoError> {
        let servers = launch(&["source", "target", "store"], false, None).await?;
        Ok(Self { servers })
    }

    /// The server's port by the shard's name; that of the store for any other name.
    pub(crate) fn port(&self, shard: &str) -> u16 {
        self.servers[place(shard)].port()
    }

    /// A fleet with new databases, whose controllers listen on `ports`.
    pub(crate) async fn fleet(
        &self,
        number: u64,
        given: Option<&PathBuf>,
        ports: Vec<u16>,
        doors: Doors,
    ) -> Result<Fleet, DemoError> {
        let home = |shard: &'static str, database: &str| Home {
            shard,
            server: place(shard),
            database: format!("{database}_{number}"),
        };
        let fleet = Fleet {
            children: Mutex::default(),
            servers: self.servers.clone(),
            homes: vec![home(SOURCE, DATABASE), home(TARGET, DATABASE)],
            store: home("store", "store"),
            disk: None,
            folder: Folder::create("torture", false)?,
            ports,
            doors,
            programs: programs(given)?,
        };
        fleet.prepare().await?;
        let store = format!("create database {}", fleet.store.database);
        self.on(fleet.store.server, &store).await?;
        Ok(fleet)
    }

    /// What a run left on the servers once its programs have ended: sessions, slots and prepared transactions.
    pub(crate) async fn remains(&self) -> Result<i64, DemoError> {
        let mut sum = 0;
        for server in 0..self.servers.len() {
            let session = self.session(server).await?;
            let row = session.query_one(REMAINS, &[]).await;
            let row = row.map_err(failed("count what is left on a server"))?;
            sum += row.get::<_, i64>(0);
            session.close().await;
        }
        Ok(sum)
    }

    /// Drops the databases of a run that ended; fails where something is left of it.
    pub(crate) async fn clear(&self, fleet: &Fleet) -> Result<(), DemoError> {
        for home in fleet.homes.iter().chain([&fleet.store]) {
            let drop = format!("drop database {} with (force)", home.database);
            self.on(home.server, &drop).await?;
        }
        Ok(())
    }

    /// The servers' logs.
    pub(crate) fn logs(&self) -> Vec<(String, PathBuf)> {
        let log = |server: &Arc<Cluster>| (server.name().to_owned(), server.log_file());
        self.servers.iter().map(log).collect()
    }

    async fn on(&self, server: usize, sql: &str) -> Result<(), DemoError> {
        let session = self.session(server).await?;
        let done = session.batch_execute(sql).await;
        done.map_err(failed("make or drop a database"))?;
        session.close().await;
        Ok(())
    }

    async fn session(&self, server: usize) -> Result<connect::Connected, DemoError> {
        let dsn = Dsn::parse(&self.servers[server].dsn(ADMIN_DATABASE, ADMIN))?;
        let session = connect::connect(&dsn, &Session::named("demo")).await;
        Ok(session.map_err(ShopError::from)?)
    }
}

fn place(shard: &str) -> usize {
    match shard {
        SOURCE => 0,
        TARGET => 1,
        _ => 2,
    }
}

fn failed(action: &'static str) -> impl FnOnce(tokio_postgres::Error) -> DemoError {
    move |source| ShopError::Statement { action, source }.into()
}
