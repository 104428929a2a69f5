//! One question to all shards.
//!
//! Order: the owners under one version of the map, a read-only transaction on each, at most so many at once.
//! While keys move, and until the move is finished, two shards have their rows: [`Part::predicate`] counts each row once.
//! Absent: one snapshot over several shards, which PostgreSQL does not have; writes.

use crate::attempt::{Fault, fault};
use crate::error::{BoxError, ClientError, RouteError};
use crate::map::Map;
use crate::retry::{Pauses, remedy};
use crate::stats::count;
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

/// A shard and the keys that it owns under the version of the map for which all are asked.
#[derive(Debug, Clone)]
pub struct Part {
    shard: ShardName,
    keys: KeySet,
    key: Vec<KeyType>,
}

impl Part {
    /// The shard.
    #[must_use]
    pub fn shard(&self) -> &ShardName {
        &self.shard
    }

    /// The keys that it owns.
    #[must_use]
    pub fn keys(&self) -> &KeySet {
        &self.keys
    }

    /// An SQL boolean that holds for rows whose key the shard owns; `columns` are the key's columns as SQL names them there
    /// (`"tenant_id"`, `"o.tenant_id"`). On a list map it has every key of the shard in it.
    ///
    /// # Errors
    /// [`KeyError::Columns`] for another number of columns than the key has.
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

/// What the shards answered.
#[derive(Debug)]
pub struct FanOut<T> {
    /// The version of the map under which all were asked.
    pub version: MapVersion,
    /// The version that the cache had when the last one answered, if it is another: keys have changed hands meanwhile, and
    /// a shard that had given some away may have dropped their rows.
    pub newer: Option<MapVersion>,
    /// The answer, or the error, of each shard that owns keys.
    pub shards: BTreeMap<ShardName, Result<T, ClientError>>,
}

impl<T> FanOut<T> {
    /// The answers of all shards, in the order of their names.
    ///
    /// # Errors
    /// That of the first shard that has one.
    pub fn all(self) -> Result<Vec<T>, ClientError> {
        self.shards.into_values().collect()
    }
}

impl Map {
    /// Asks every shard that owns keys, at most `limit` at once, in a read-only transaction with one snapshot each.
    ///
    /// `work` runs again from its start when a connection is lost or the server is not ready, as in [`Map::with_shard`].
    /// A shard that does not answer does not keep the others from it: its error stands in its place.
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
    /// [`RouteError::Stale`] where the map is older than [`crate::Options::max_staleness`].
    pub async fn on_all<T, E, F>(&self, limit: usize, work: F) -> Result<FanOut<T>, RouteError>
    where
        E: Into<BoxError>,
        F: for<'t> Fn(&'t Part, &'t Transaction) -> BoxFuture<'t, Result<T, E>>,
    {
        let routes = self.inner.fresh()?;
        let map = routes.map();
        let parts = map.shards().into_iter().map(|shard| Part {
            keys: map.owned_by(&shard),
            key: map.key.clone(),
            shard,
        });
        let work = &work;
        let asked = stream::iter(parts).map(|part| async move {
            let answer = self.answer(&part, work).await;
            (part.shard, answer)
        });
        let shards = asked.buffer_unordered(limit.max(1)).collect().await;
        let now = self.inner.feed.current().map().version;
        Ok(FanOut {
            version: map.version,
            newer: (now != map.version).then_some(now),
            shards,
        })
    }

    /// One shard's answer, asked for until the time for retries is over.
    async fn answer<T, E, F>(&self, part: &Part, work: &F) -> Result<T, ClientError>
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
            let source = match self.ask(part, work).await {
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
            count(&self.inner.counters.retries);
            tokio::time::sleep(pause).await;
        }
    }

    async fn ask<T, E, F>(&self, part: &Part, work: &F) -> Result<T, Fault>
    where
        E: Into<BoxError>,
        F: for<'t> Fn(&'t Part, &'t Transaction) -> BoxFuture<'t, Result<T, E>>,
    {
        let transaction = self.begin(part.shard.clone(), READ_ONLY).await?;
        let answer = work(part, &transaction).await;
        // Nothing was written: there is nothing to commit.
        transaction.rollback().await;
        answer.map_err(|error| {
            let source: BoxError = error.into();
            fault(remedy(&source), source, part.shard.clone())
        })
    }
}
