//! How the application connects to a shard, with its own role.

use connect::Dsn;
use plans::id::ShardName;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

type Find = dyn Fn(&ShardName) -> Option<Dsn> + Send + Sync;

/// Returns for each shard the connection string of the application's own role.
#[derive(Clone)]
pub struct ShardAccess(Arc<Find>);

impl ShardAccess {
    /// Calls `find` once for each shard, when the shard is first needed.
    pub fn new(find: impl Fn(&ShardName) -> Option<Dsn> + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    /// Uses a fixed list of shards.
    #[must_use]
    pub fn fixed(shards: HashMap<ShardName, Dsn>) -> Self {
        Self::new(move |name| shards.get(name).cloned())
    }

    pub(crate) fn find(&self, shard: &ShardName) -> Option<Dsn> {
        (self.0)(shard)
    }
}

impl fmt::Debug for ShardAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShardAccess")
    }
}
