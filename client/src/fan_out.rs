//! A query to all shards.
//!
//! It runs a read-only transaction on every owner under one version of the map, with a limit on the number of
//! concurrent transactions. While keys move, and until the move is finished, two shards have rows of these keys; with
//! the condition of [`Part::predicate`] the query reads each row on one shard only. PostgreSQL has no common snapshot
//! of several shards. Writes are not possible.

use crate::attempt::{Fault, check_before_end, fault, fault_at_end};
use crate::error::{BoxError, ClientError, RouteError};
use crate::map::Map;
use crate::retry::{Pauses, remedy};
use crate::stats::increment;
use crate::transaction::Transaction;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream;
use plans::id::{MapVersion, ShardName};
use plans::key::{KeyError, KeyType};
use plans::key_set::KeySet;
use std::collections::BTreeMap;
use std::time::Instant;

const READ_ONLY: &str = "begin isolation level repeatable read read only";

/// A shard, and the keys that it owns in the version of the map that the query uses.
#[derive(Debug, Clone)]
pub struct Part {
    shard: ShardName,
    keys: KeySet,
    key: Vec<KeyType>,
}

impl Part {
    /// Returns the name of the shard.
    #[must_use]
    pub fn shard(&self) -> &ShardName {
        &self.shard
    }

    /// Returns the keys that it owns.
    #[must_use]
    pub fn keys(&self) -> &KeySet {
        &self.keys
    }

    /// Returns an SQL condition for the rows whose key the shard owns. `columns` has the SQL names of the key's columns
    /// (`"tenant_id"`, `"o.tenant_id"`). On a list map the condition
    /// contains every key of the shard.
    ///
    /// # Errors
    /// [`KeyError::Columns`] if the number of columns is not that of the key.
    pub fn predicate(&self, columns: &[&str]) -> Result<String, KeyError> {
        if columns.len() != self.key.len() {
            return Err(KeyError::Columns {
                key: columns.join(", "),
                found: columns.len(),
                expected: self.key.len(),
            });
        }
        let columns = columns.iter().zip(&self.key);
        let typed: Vec<_> = columns
            .map(|(column, kind)| ((*column).to_owned(), *kind))
            .collect();
        Ok(self.keys.predicate(&typed))
    }
}

/// The answers of the shards.
#[derive(Debug)]
pub struct FanOut<T> {
    /// The version of the map that the query used.
    pub version: MapVersion,
    /// The version in the cache when the last shard answered, if it is another one. Then keys have changed their owner
    /// meanwhile, and the old owner may already have removed their rows.
    pub newer: Option<MapVersion>,
    /// The answer or the error of each shard that owns keys.
    pub shards: BTreeMap<ShardName, Result<T, ClientError>>,
}

impl<T> FanOut<T> {
    /// Returns the answers of all shards, ordered by the names of the shards.
    ///
    /// # Errors
    /// The error of the first shard that has one.
    pub fn all(self) -> Result<Vec<T>, ClientError> {
        self.shards.into_values().collect()
    }
}

impl Map {
    /// Runs `work` on every shard that owns keys, on at most `limit` at the same time, each time in a read-only
    /// transaction with one snapshot.
    ///
    /// `work` runs again from its start if a connection is lost or the server is not ready, as in [`Map::with_shard`].
    /// If a shard does not answer, the result contains its error and the answers of the others.
    ///
    /// ```no_run
    /// # async fn example(map: client::Map) -> Result<(), client::ClientError> {
    /// use client::BoxError;
    /// use futures::FutureExt;
    ///
    /// let orders = map
    ///     .on_all(8, |part, tx| {
    ///         async move {
    ///             let own = part.predicate(&["tenant_id"])?;
    ///             let rows = tx.query(&format!("select count(*) from orders where {own}"), &[]).await?;
    ///             Ok::<i64, BoxError>(rows.iter().map(|row| row.get::<_, i64>(0)).sum())
    ///         }
    ///         .boxed()
    ///     })
    ///     .await?;
    /// println!("under version {}", orders.version);
    /// println!("{} orders", orders.all()?.iter().sum::<i64>());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RouteError::Stale`] if the map is older than [`crate::Options::max_staleness`].
    pub async fn on_all<T, E, F>(&self, limit: usize, work: F) -> Result<FanOut<T>, RouteError>
    where
        E: Into<BoxError>,
        F: for<'t> Fn(&'t Part, &'t Transaction) -> BoxFuture<'t, Result<T, E>>,
    {
        let routes = self.inner.fresh_routes()?;
        let map = routes.map();
        let parts = map.shards().into_iter().map(|shard| Part {
            keys: map.owned_by(&shard),
            key: map.key.clone(),
            shard,
        });
        let work = &work;
        let answers = stream::iter(parts).map(|part| async move {
            let answer = self.query_with_retries(&part, work).await;
            (part.shard, answer)
        });
        let shards = answers.buffer_unordered(limit.max(1)).collect().await;
        let current_version = self.inner.feed.current().map().version;
        Ok(FanOut {
            version: map.version,
            newer: (current_version != map.version).then_some(current_version),
            shards,
        })
    }

    /// Returns the answer of one shard. Retries until the time for retries has ended.
    async fn query_with_retries<T, E, F>(&self, part: &Part, work: &F) -> Result<T, ClientError>
    where
        E: Into<BoxError>,
        F: for<'t> Fn(&'t Part, &'t Transaction) -> BoxFuture<'t, Result<T, E>>,
    {
        let begun = Instant::now();
        let settings = &self.inner.options;
        let mut pauses = Pauses::new(settings.first_pause, settings.longest_pause);
        let mut attempts = 0;
        loop {
            attempts += 1;
            let source = match self.query_shard(part, work).await {
                Ok(answer) => return Ok(answer),
                Err(Fault::Final(error)) => return Err(error),
                Err(Fault::Retry { source, .. }) => source,
            };
            let pause = pauses.next();
            if begun.elapsed() + pause > settings.retry_for {
                return Err(ClientError::NoAnswer {
                    shard: part.shard.clone(),
                    attempts,
                    waited: begun.elapsed(),
                    source,
                });
            }
            increment(&self.inner.counters.retries);
            tokio::time::sleep(pause).await;
        }
    }

    /// Runs `work` once on the shard.
    async fn query_shard<T, E, F>(&self, part: &Part, work: &F) -> Result<T, Fault>
    where
        E: Into<BoxError>,
        F: for<'t> Fn(&'t Part, &'t Transaction) -> BoxFuture<'t, Result<T, E>>,
    {
        let transaction = self.begin(part.shard.clone(), READ_ONLY).await?;
        match work(part, &transaction).await {
            Ok(answer) => {
                check_before_end(&transaction)?;
                // The transaction wrote nothing, so there is nothing to commit.
                let ended = transaction.end_query().await;
                ended.map_err(|error| fault_at_end(error, part.shard.clone()))?;
                Ok(answer)
            }
            Err(error) => {
                let source: BoxError = error.into();
                transaction.rollback().await;
                Err(fault(remedy(&source), source, part.shard.clone()))
            }
        }
    }
}
