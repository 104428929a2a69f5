//! Connections to shards, kept for reuse. A connection whose transaction did not end normally is closed.

use crate::access::ShardAccess;
use crate::error::ClientError;
use connect::{ConnectError, Dsn, connect_plain};
use deadpool::managed::{self, Metrics, RecycleError, RecycleResult};
use deadpool_postgres::ClientWrapper;
use plans::id::ShardName;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{PoisonError, RwLock};

type Pool = managed::Pool<ShardConnector>;
type Object = managed::Object<ShardConnector>;
/// Why the pool returned no connection.
pub(crate) type PoolError = managed::PoolError<ConnectError>;

/// Opens connections to one shard. It resolves the connection string for each connection, so that a password or a
/// certificate can be renewed while the application runs.
#[derive(Debug)]
pub(crate) struct ShardConnector(Dsn);

impl managed::Manager for ShardConnector {
    type Type = ClientWrapper;
    type Error = ConnectError;

    async fn create(&self) -> Result<ClientWrapper, ConnectError> {
        let (client, task) = connect_plain(&self.0).await?;
        Ok(ClientWrapper::new(client, task))
    }

    async fn recycle(
        &self,
        client: &mut ClientWrapper,
        _metrics: &Metrics,
    ) -> RecycleResult<ConnectError> {
        if client.is_closed() {
            return Err(RecycleError::message("the connection is closed"));
        }
        Ok(())
    }
}

/// The connection pools of all shards.
#[derive(Debug)]
pub(crate) struct Pools {
    access: ShardAccess,
    /// The maximum number of connections for each shard.
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

    /// Returns the shard's pool, which is created on first use.
    pub(crate) fn pool_of(&self, shard: &ShardName) -> Result<Pool, ClientError> {
        let pools = self.pools.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pools.get(shard) {
            return Ok(pool.clone());
        }
        drop(pools);
        let pool = self.create_pool(shard)?;
        let mut pools = self.pools.write().unwrap_or_else(PoisonError::into_inner);
        Ok(pools.entry(shard.clone()).or_insert(pool).clone())
    }

    fn create_pool(&self, shard: &ShardName) -> Result<Pool, ClientError> {
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
        dsn.resolve().map_err(|error| failed(error.into()))?;
        Pool::builder(ShardConnector(dsn))
            .max_size(self.connections)
            .build()
            .map_err(|error| failed(error.into()))
    }
}

/// A borrowed connection. It returns to the pool only if its transaction has ended normally.
#[derive(Debug)]
pub(crate) struct Loan {
    object: Option<Object>,
    /// Whether the transaction has ended normally.
    ended: bool,
}

impl Loan {
    pub(crate) fn new(object: Object) -> Self {
        Self {
            object: Some(object),
            ended: false,
        }
    }

    /// Records that the connection has no open transaction any more.
    pub(crate) fn mark_ended(&mut self) {
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
