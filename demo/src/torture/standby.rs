//! A standby of a shard's server, for a run whose fault is a failover.
//!
//! The standby replicates the server, and every synchronous commit waits until both have it. The server is killed and
//! the standby promoted. All connections to the old address then lead to the new server.

use super::proxy::Proxy;
use crate::drive::blocking;
use crate::error::DemoError;
use crate::fleet::SUPERUSER;
use crate::shop::ShopError;
use cluster::{Cluster, Options};
use connect::{Dsn, Session};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const NAME: &str = "torture_standby";
const FOLLOW_LIMIT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A standby, and the proxy at the old address after the promotion. Dropping the value stops the server.
#[derive(Debug)]
pub(super) struct Standby {
    server: Arc<Cluster>,
    /// The port of the old server.
    port: u16,
    /// The proxy at the address of the old server, after the promotion.
    old_address: Mutex<Option<Proxy>>,
}

impl Standby {
    /// Starts a standby. Returns when commits wait for it.
    pub(super) async fn start(primary: Arc<Cluster>) -> Result<Self, DemoError> {
        let port = primary.port();
        let dsn = Dsn::parse(&primary.dsn(SUPERUSER, SUPERUSER))?;
        let made = tokio::task::spawn_blocking(move || {
            let standby = primary.standby(NAME, Options::temporary("demo-standby"))?;
            standby.start().map(|()| standby)
        });
        let made = made.await.map_err(std::io::Error::other);
        let server = made.map_err(DemoError::io("start a standby"))??;
        make_commits_wait(&dsn).await?;
        Ok(Self {
            server: Arc::new(server),
            port,
            old_address: Mutex::default(),
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

    /// Returns the name and the log of the standby.
    pub(super) fn log(&self) -> (String, PathBuf) {
        (self.server.name().to_owned(), self.server.log_file())
    }
}

/// Makes synchronous commits wait for the standby.
async fn make_commits_wait(primary: &Dsn) -> Result<(), DemoError> {
    let failed = |source| ShopError::Statement {
        action: "make commits wait for a standby",
        source,
    };
    let session = connect::connect(primary, &Session::named("operator")).await;
    let session = session.map_err(ShopError::from)?;
    let set = format!("alter system set synchronous_standby_names = '{NAME}'");
    session.batch_execute(&set).await.map_err(failed)?;
    let reload = "select pg_catalog.pg_reload_conf()";
    session.batch_execute(reload).await.map_err(failed)?;
    let waits = format!(
        "select exists (select from pg_catalog.pg_stat_replication \
         where application_name = '{NAME}' and sync_state = 'sync')"
    );
    let begun = Instant::now();
    while !session
        .query_one(&waits, &[])
        .await
        .map_err(failed)?
        .get::<_, bool>(0)
    {
        if begun.elapsed() > FOLLOW_LIMIT {
            return Err(DemoError::Stalled {
                what: "commits that wait for the standby".to_owned(),
                seconds: FOLLOW_LIMIT.as_secs(),
            });
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    session.close().await;
    Ok(())
}
