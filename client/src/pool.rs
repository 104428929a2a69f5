//! Connections to shards, kept for reuse; one that was left in the middle of something is closed.

use crate::access::ShardAccess;
use crate::error::ClientError;
use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod};
use plans::id::ShardName;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{PoisonError, RwLock};
use tokio_postgres::NoTls;

#[derive(Debug)]
pub(crate) struct Pools {
    access: ShardAccess,
    connections: usize,
    pools: RwLock<HashMap<ShardName, Pool>>,
}

impl Pools {
    pub(crate) fn new(access: ShardAccess, connections: usize) -> Self {
        Self {
            access,
            connections,
            pools: RwLock::default(),
        }
    }

    /// The shard's pool, made when it is first asked for.
    pub(crate) fn of(&self, shard: &ShardName) -> Result<Pool, ClientError> {
        let known = self.pools.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = known.get(shard) {
            return Ok(pool.clone());
        }
        drop(known);
        let pool = self.make(shard)?;
        let mut known = self.pools.write().unwrap_or_else(PoisonError::into_inner);
        Ok(known.entry(shard.clone()).or_insert(pool).clone())
    }

    fn make(&self, shard: &ShardName) -> Result<Pool, ClientError> {
        let dsn = self
            .access
            .find(shard)
            .ok_or_else(|| ClientError::Unreachable {
                shard: shard.clone(),
            })?;
        let failed = |source| ClientError::Connect {
            shard: shard.clone(),
            source,
        };
        let config = dsn.config().map_err(|error| failed(error.into()))?;
        let fast = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let manager = Manager::from_config(config, NoTls, fast);
        Pool::builder(manager)
            .max_size(self.connections)
            .build()
            .map_err(|error| failed(error.into()))
    }
}

/// A connection on loan. It goes back only when its transaction has ended in order.
#[derive(Debug)]
pub(crate) struct Loan {
    object: Option<Object>,
    ended: bool,
}

impl Loan {
    pub(crate) fn new(object: Object) -> Self {
        Self {
            object: Some(object),
            ended: false,
        }
    }

    /// No transaction is open on the connection any more.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }
}

impl Deref for Loan {
    type Target = Object;
    #[expect(clippy::expect_used, reason = "the object is taken in drop only")]
    fn deref(&self) -> &Object {
        self.object.as_ref().expect("present until drop")
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        if let Some(object) = self.object.take().filter(|_| !self.ended) {
            drop(Object::take(object));
        }
    }
}
