//! Servers that many runs use one after the other, each with its own databases. A run with special requirements has its
//! own servers.
//!
//! Source, target and store are started once. Each run gets a fleet on these servers, and afterwards its databases are
//! dropped.

use super::child::spool_folder;
use super::{
    ADMIN, ADMIN_DATABASE, Clock, Disk, Fleet, Folder, ListenAddresses, SOURCE, ShardServer,
    TARGET, launch, programs, settings, standby,
};
use crate::error::DemoError;
use crate::options::{Process, Servers};
use crate::shop::{DATABASE, ShopError};
use cluster::Cluster;
use connect::{Dsn, Session};
use plans::sql::quote_literal;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Counts, on a whole server, the sessions of Shardwright, the prepared transactions and the replication slots, except
/// those from which standbys stream. Adds 1
/// if `synchronous_standby_names` has a name of Shardwright, because commits would wait for it.
const COUNT_REMAINING: &str = "select (select count(*) from pg_catalog.pg_stat_activity \
        where starts_with(application_name, 'shardwright/') and pid <> pg_catalog.pg_backend_pid()) \
    + (select count(*) from pg_catalog.pg_prepared_xacts) \
    + (select count(*) from pg_catalog.pg_replication_slots where not (slot_type = 'physical' and active)) \
    + (pg_catalog.strpos(pg_catalog.current_setting('synchronous_standby_names'), 'shardwright/') > 0)::integer";

/// The space for the target's database during the split of a small shop, in MiB.
const DATABASE_DISK: u32 = 96;
/// The space for the agents' spools, in MiB.
const SPOOL_DISK: u32 = 64;
/// The tablespace on the small disk.
const TABLESPACE: &str = "small";

/// The special equipment of servers and programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestEquipment {
    /// None.
    Plain,
    /// The target's database is on a small disk. The server's log and its other data are elsewhere.
    SmallDatabase,
    /// The agents' spools are on a small disk.
    SmallSpools,
    /// This server has its own clock.
    OwnClock(Process),
    /// The target's server is a standby of the source's.
    Standby,
}

/// The three servers of a fleet.
#[derive(Debug)]
pub(crate) struct ServerGroup {
    // Fields are dropped in this order: servers before the disk and the clock that they use.
    servers: Vec<Arc<Cluster>>,
    equipment: TestEquipment,
    clock: Option<Arc<Clock>>,
    /// The disk of the target, with its mount point.
    disk: Option<(Arc<Disk>, Folder)>,
}

impl ServerGroup {
    /// Starts the servers.
    pub(crate) async fn start(equipment: TestEquipment) -> Result<Self, DemoError> {
        let clock = match equipment {
            TestEquipment::OwnClock(_) => Some(Arc::new(Clock::build()?)),
            TestEquipment::Plain
            | TestEquipment::SmallDatabase
            | TestEquipment::SmallSpools
            | TestEquipment::Standby => None,
        };
        let disk = match equipment {
            TestEquipment::SmallDatabase => {
                let folder = Folder::create("disk", false)?;
                let disk = Disk::mount(&folder.path.join("disk"), DATABASE_DISK)?;
                Some((Arc::new(disk), folder))
            }
            TestEquipment::Plain
            | TestEquipment::SmallSpools
            | TestEquipment::OwnClock(_)
            | TestEquipment::Standby => None,
        };
        let names: &[&str] = match equipment {
            TestEquipment::Standby => &["source", "store"],
            TestEquipment::Plain
            | TestEquipment::SmallDatabase
            | TestEquipment::SmallSpools
            | TestEquipment::OwnClock(_) => &["source", "target", "store"],
        };
        let servers = launch(names, Servers::default(), |name| {
            let settings = settings(name, false, None);
            let has_own_clock =
                matches!(equipment, TestEquipment::OwnClock(process) if process.name() == name);
            let variables = clock
                .iter()
                .filter(|_| has_own_clock)
                .flat_map(|it| it.variables());
            variables.fold(settings, |settings, (name, value)| {
                settings.variable(name, value)
            })
        });
        let mut servers = servers.await?;
        if equipment == TestEquipment::Standby {
            let standby = standby::start(&servers[server_index(SOURCE)], false).await?;
            servers.insert(server_index(TARGET), Arc::new(standby));
        }
        let group = Self {
            servers,
            equipment,
            clock,
            disk,
        };
        group.make_tablespace().await?;
        group.copy_password().await?;
        Ok(group)
    }

    /// Sets the same password on both shards' servers. Otherwise exchanged connection strings would only cause a
    /// refused login.
    async fn copy_password(&self) -> Result<(), DemoError> {
        if self.equipment == TestEquipment::Standby {
            return Ok(());
        }
        let [from, to] = [server_index(SOURCE), server_index(TARGET)];
        let [file, other] = [from, to].map(|server| self.servers[server].password_file());
        let read = std::fs::read_to_string(&file);
        let password = read.map_err(DemoError::io("read the source's password"))?;
        let sql = format!("alter role {ADMIN} password {}", quote_literal(&password));
        self.run_sql(to, &sql).await?;
        let written = std::fs::write(&other, &password);
        written.map_err(DemoError::io("write the target's password"))
    }

    /// Creates a tablespace on the target's small disk, if it has one.
    async fn make_tablespace(&self) -> Result<(), DemoError> {
        let Some((disk, _)) = &self.disk else {
            return Ok(());
        };
        let (server, rows) = (server_index(TARGET), disk.path().join("rows"));
        let data = self.servers[server].data();
        let made = std::fs::create_dir(&rows).and_then(|()| {
            let account = std::fs::metadata(data)?;
            chown(&rows, Some(account.uid()), Some(account.gid()))
        });
        made.map_err(DemoError::io(format!("create {}", rows.display())))?;
        let rows = quote_literal(&rows.to_string_lossy());
        let sql = format!("create tablespace {TABLESPACE} location {rows}");
        self.run_sql(server, &sql).await
    }

    /// Returns the port of a shard's server, or that of the store's server for any other name.
    pub(crate) fn port(&self, shard: &str) -> u16 {
        self.servers[server_index(shard)].port()
    }

    /// Creates a fleet with new databases. Its controllers listen on `ports`.
    pub(crate) async fn fleet(
        &self,
        number: u64,
        program_folder: Option<&PathBuf>,
        ports: Vec<u16>,
        listen_addresses: ListenAddresses,
    ) -> Result<Fleet, DemoError> {
        let shard_server = |shard: &'static str, database: &str| ShardServer {
            shard,
            server: server_index(shard),
            database: format!("{database}_{number}"),
        };
        let folder = Folder::create("torture", false)?;
        let disk = match self.equipment {
            TestEquipment::SmallSpools => {
                let disk = Disk::mount(&spool_folder(&folder.path), SPOOL_DISK)?;
                Some(Arc::new(disk))
            }
            TestEquipment::SmallDatabase
            | TestEquipment::Plain
            | TestEquipment::OwnClock(_)
            | TestEquipment::Standby => self.disk.as_ref().map(|(disk, _)| Arc::clone(disk)),
        };
        let fleet = Fleet {
            children: Mutex::default(),
            servers: self.servers.clone(),
            shard_servers: vec![
                shard_server(SOURCE, DATABASE),
                shard_server(TARGET, DATABASE),
            ],
            store: shard_server("store", "store"),
            disk,
            clock: self.clock.clone(),
            folder,
            ports,
            listen_addresses,
            programs: programs(program_folder)?,
        };
        let standby = (self.equipment == TestEquipment::Standby).then(|| server_index(TARGET));
        fleet.prepare(standby).await?;
        if self.equipment == TestEquipment::SmallDatabase {
            let target = fleet.server_of(TARGET);
            let (server, database) = (target.server, &target.database);
            let small = format!("alter database {database} set tablespace {TABLESPACE}");
            self.run_sql(server, &small).await?;
        }
        let store = format!("create database {}", fleet.store.database);
        self.run_sql(fleet.store.server, &store).await?;
        Ok(fleet)
    }

    /// Returns how many sessions, slots, prepared transactions and entries in `synchronous_standby_names` remain on the
    /// servers. The caller has ended the programs of the run.
    pub(crate) async fn count_remaining(&self) -> Result<i64, DemoError> {
        let mut sum = 0;
        for server in 0..self.servers.len() {
            let session = self.session(server).await?;
            let row = session.query_one(COUNT_REMAINING, &[]).await;
            let row = row.map_err(failed("count the objects that remain on a server"))?;
            sum += row.get::<_, i64>(0);
            session.close().await;
        }
        Ok(sum)
    }

    /// Drops the databases of a run that has ended. This fails if a replication slot or a prepared transaction uses
    /// one.
    pub(crate) async fn drop_databases(&self, fleet: &Fleet) -> Result<(), DemoError> {
        for server in fleet.shard_servers.iter().chain([&fleet.store]) {
            let drop = format!("drop database {} with (force)", server.database);
            self.run_sql(server.server, &drop).await?;
        }
        Ok(())
    }

    /// Returns the logs of the servers.
    pub(crate) fn logs(&self) -> Vec<(String, PathBuf)> {
        let log = |server: &Arc<Cluster>| (server.name().to_owned(), server.log_file());
        self.servers.iter().map(log).collect()
    }

    async fn run_sql(&self, server: usize, sql: &str) -> Result<(), DemoError> {
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

/// Returns the index of the server of a shard, or that of the control store for any other name.
fn server_index(shard: &str) -> usize {
    match shard {
        SOURCE => 0,
        TARGET => 1,
        _ => 2,
    }
}

fn failed(action: &'static str) -> impl FnOnce(tokio_postgres::Error) -> DemoError {
    move |source| ShopError::Statement { action, source }.into()
}
