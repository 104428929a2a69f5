//! The servers of a run: names, settings, versions, and the server of each shard.

use super::{ADMIN_DATABASE, Disk, ShardServer};
use crate::error::DemoError;
use crate::options::{MapOperation, Options, Servers};
use crate::shop::DATABASE;
use cluster::{Cluster, ClusterError};
use std::sync::Arc;

/// Returns the servers by name, and the server of each shard: the source's is the first, the target's the second. If
/// servers are shared, the store is a database on a shard's server. If the target is a standby, its server is the last
/// one and has no name here: it can only be made when the source runs.
pub(super) fn server_layout(
    options: &Options,
    shards: &[&'static str],
) -> (Vec<&'static str>, Vec<ShardServer>, ShardServer) {
    let separate = options.has_separate_servers();
    let shard_server = |(index, shard): (usize, &&'static str)| ShardServer {
        shard,
        server: server_of(index, options),
        database: match separate {
            true => DATABASE.to_owned(),
            false => format!("{DATABASE}_{shard}"),
        },
    };
    let shard_servers = shards.iter().enumerate().map(shard_server).collect();
    let store = |server| ShardServer {
        shard: "store",
        server,
        database: ADMIN_DATABASE.to_owned(),
    };
    match (options.is_seeded(), separate) {
        (true, _) => (vec!["source", "store"], shard_servers, store(1)),
        (false, true) => (vec!["source", "target", "store"], shard_servers, store(2)),
        (false, false) => (vec!["left", "right"], shard_servers, store(1)),
    }
}

/// Returns the server of a shard by the shard's index. Shards that a merge empties are on the first server, the shard
/// that it fills is on the second.
fn server_of(index: usize, options: &Options) -> usize {
    if options.is_seeded() {
        return 2 * index;
    }
    match options.task.operation {
        MapOperation::Merge if options.task.into_live => usize::from(index == 0),
        MapOperation::Merge => index / 2,
        MapOperation::Split
        | MapOperation::Move
        | MapOperation::Isolate
        | MapOperation::Drain
        | MapOperation::Rebalance => index % 2,
    }
}

/// Starts servers with these names, in this order.
pub(super) async fn launch(
    names: &[&'static str],
    versions: Servers,
    settings: impl Fn(&'static str) -> cluster::Options,
) -> Result<Vec<Arc<Cluster>>, DemoError> {
    let mut launching = Vec::new();
    for name in names.iter().copied() {
        let mut settings = settings(name);
        settings.binaries = versions.programs(name)?;
        launching.push(tokio::task::spawn_blocking(move || {
            Cluster::launch(settings)
        }));
    }
    let launched = futures::future::join_all(launching).await;
    let started = |joined: Result<Result<Cluster, ClusterError>, tokio::task::JoinError>| {
        let joined = joined.map_err(std::io::Error::other);
        Ok(Arc::new(joined.map_err(DemoError::io("start a server"))??))
    };
    launched.into_iter().map(started).collect()
}

pub(super) fn settings(name: &str, keep: bool, disk: Option<&Disk>) -> cluster::Options {
    let mut options = cluster::Options::temporary(&format!("demo-{name}"));
    if let Some(disk) = disk {
        options.dir = disk.path().to_owned();
    }
    let options = options
        .setting("shared_buffers", "128MB")
        .setting("max_wal_size", "4GB")
        .setting("checkpoint_timeout", "15min")
        // Autovacuum runs often, as on servers with much load.
        .setting("autovacuum_naptime", "10s");
    if keep { options.keep() } else { options }
}
