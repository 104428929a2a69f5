//! A standby of a shard's server, for a run whose fault is a failover.
//!
//! A synchronous standby has every acknowledged commit. An asynchronous one can be disconnected, and then lacks the
//! changes after that. On PostgreSQL 17 and newer the standby synchronizes slots, and the server holds back what the
//! standby lacks from the readers of slots. The server is killed and the standby promoted. All connections to the old
//! address then lead to the new server.

use super::fault::Fault;
use super::operator_sql;
use super::proxy::Proxy;
use crate::drive::blocking;
use crate::error::DemoError;
use crate::fleet::SUPERUSER;
use crate::shop::ShopError;
use cluster::{Cluster, Options};
use connect::{Dsn, Session};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

const NAME: &str = "torture_standby";

/// A standby, and the proxy at the old address after the promotion. Dropping the value stops the server.
#[derive(Debug)]
pub(super) struct Standby {
    server: Arc<Cluster>,
    /// True if it copies the slots of its server.
    synchronizes_slots: bool,
    /// The port of the old server.
    port: u16,
    /// The proxy at the address of the old server, after the promotion.
    old_address: Mutex<Option<Proxy>>,
    /// True when the server has written log so that the stream confirms its slot. It may retain only so much.
    has_written_log: AtomicBool,
}

impl Standby {
    /// Starts the standby for a fault. Returns when it follows the server, and, if it is synchronous, when commits wait
    /// for it.
    pub(super) async fn start(primary: Arc<Cluster>, fault: Fault) -> Result<Self, DemoError> {
        let port = primary.port();
        let dsn = Dsn::parse(&primary.dsn(SUPERUSER, SUPERUSER))?;
        let synchronizes_slots = primary.binaries().major() >= 17 && fault == Fault::Failover;
        let mut options = Options::temporary("demo-standby");
        if synchronizes_slots {
            options = options
                .setting("sync_replication_slots", "on")
                .setting("hot_standby_feedback", "on");
        }
        let made = tokio::task::spawn_blocking(move || {
            let standby = primary.standby_with_slot(NAME, NAME, options)?;
            standby.start().map(|()| standby)
        });
        let made = made.await.map_err(std::io::Error::other);
        let server = made.map_err(DemoError::io("start a standby"))??;
        let mut settings = Vec::new();
        if fault == Fault::Failover {
            settings.push("synchronous_standby_names");
        }
        if synchronizes_slots {
            settings.push("synchronized_standby_slots");
        }
        follow(&dsn, &settings).await?;
        Ok(Self {
            server: Arc::new(server),
            synchronizes_slots,
            port,
            old_address: Mutex::default(),
            has_written_log: AtomicBool::new(false),
        })
    }

    /// Promotes the standby in place of the first server, which was killed.
    pub(super) async fn promote(&self) -> Result<(), DemoError> {
        let server = Arc::clone(&self.server);
        blocking(move || server.promote()).await?;
        let proxy = Proxy::start_at(self.port, self.server.port()).await;
        let proxy = proxy.map_err(DemoError::io("take over a server's address"))?;
        *self
            .old_address
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(proxy);
        Ok(())
    }

    /// Waits until the standby has a copy of the migration's slot, for a limited time. Without its copy a failover is like
    /// one of an older version.
    pub(super) async fn wait_for_slot(&self) -> Result<(), DemoError> {
        if !self.synchronizes_slots {
            return Ok(());
        }
        let primary = Dsn::parse(&self.server.dsn_by(self.port, SUPERUSER, SUPERUSER))?;
        let standby = Dsn::parse(&self.server.dsn(SUPERUSER, SUPERUSER))?;
        let writes_log = !self.has_written_log.swap(true, Ordering::Relaxed);
        operator_sql::wait_for_synced_slot(&primary, &standby, writes_log).await
    }

    /// Waits until the standby has everything that its server has committed so far.
    pub(super) async fn catch_up(&self) -> Result<(), DemoError> {
        let primary = Dsn::parse(&self.server.dsn_by(self.port, SUPERUSER, SUPERUSER))?;
        operator_sql::wait_for_standby(&primary, NAME).await
    }

    /// Disconnects the standby from its server: from now on it lacks every change.
    pub(super) async fn disconnect(&self) -> Result<(), DemoError> {
        let dsn = Dsn::parse(&self.server.dsn(SUPERUSER, SUPERUSER))?;
        operator_sql::disconnect_standby(&dsn).await
    }

    /// Returns the name and the log of the standby.
    pub(super) fn log(&self) -> (String, PathBuf) {
        (self.server.name().to_owned(), self.server.log_file())
    }
}

/// Sets these settings of the server to the standby's name, which is also that of its slot. Returns when the standby
/// streams, and synchronous commits wait for it if one of the settings demands it.
async fn follow(primary: &Dsn, settings: &[&str]) -> Result<(), DemoError> {
    let failed = |source| ShopError::Statement {
        action: "let a standby follow",
        source,
    };
    let session = connect::connect(primary, &Session::named("operator")).await;
    let session = session.map_err(ShopError::from)?;
    for setting in settings {
        let set = format!("alter system set {setting} = '{NAME}'");
        session.batch_execute(&set).await.map_err(failed)?;
    }
    let reload = "select pg_catalog.pg_reload_conf()";
    session.batch_execute(reload).await.map_err(failed)?;
    let follows = format!(
        "select exists (select from pg_catalog.pg_stat_replication
         where application_name = '{NAME}' and state = 'streaming'
           and (sync_state = 'sync' or pg_catalog.current_setting('synchronous_standby_names') = ''))"
    );
    operator_sql::wait_until(&session, &follows, &[], "a standby that follows").await?;
    session.close().await;
    Ok(())
}
