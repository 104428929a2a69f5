//! The target of a seeded move: a physical standby of the source.
//!
//! It streams from a replication slot of the source. After the promotion nothing uses this slot, and the operator drops
//! it; otherwise the source would retain log for ever.

use super::{Fleet, settings};
use crate::error::DemoError;
use crate::options::Process;
use crate::shop::ShopError;
use cluster::{Cluster, ClusterError};
use connect::Session;
use std::sync::Arc;

/// The replication slot of the standby.
const SLOT: &str = "demo_standby";
/// Drops the slot unless a standby streams from it.
const DROP_UNUSED_SLOT: &str = "select pg_catalog.pg_drop_replication_slot(slot_name) \
    from pg_catalog.pg_replication_slots where slot_name = $1 and not active";

/// Makes a standby of a running server with `pg_basebackup`, and starts it.
pub(super) async fn start(primary: &Arc<Cluster>, keep: bool) -> Result<Cluster, DemoError> {
    let options = settings("target", keep, None).binaries(primary.binaries().clone());
    let primary = Arc::clone(primary);
    let started = tokio::task::spawn_blocking(move || {
        let standby = primary.standby_with_slot("target", SLOT, options)?;
        standby.start()?;
        Ok::<_, ClusterError>(standby)
    });
    let started = started.await.map_err(std::io::Error::other);
    Ok(started.map_err(DemoError::io("start a standby"))??)
}

impl Fleet {
    /// Drops the slot of the standby on the source if no standby uses it any more, as the operator must after the
    /// promotion.
    pub(crate) async fn drop_unused_standby_slot(&self) -> Result<(), DemoError> {
        let Some(dsn) = self.operator_dsn(Process::Source)? else {
            return Ok(());
        };
        let session = connect::connect(&dsn, &Session::named("demo")).await;
        let session = session.map_err(ShopError::from)?;
        let dropped = session.execute(DROP_UNUSED_SLOT, &[&SLOT]).await;
        dropped.map_err(|source| ShopError::Statement {
            action: "drop the replication slot of the promoted standby",
            source,
        })?;
        session.close().await;
        Ok(())
    }
}
