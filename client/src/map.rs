//! The interface for applications: routing by key, and transactions that are repeated on the new owner after a cutover.

use crate::access::ShardAccess;
use crate::attempt::Fault;
use crate::controllers::Controllers;
use crate::error::{BoxError, ClientError, RouteError};
use crate::feed::Feed;
use crate::into_key::IntoKey;
use crate::load::LoadReporter;
use crate::options::{Options, TransactionOptions};
use crate::pool::Pools;
use crate::retry::{Pauses, Remedy};
use crate::routes::Routes;
use crate::stats::{Counters, Stats, increment};
use crate::transaction::Transaction;
use controller_client::ControllerClient;
use futures::future::BoxFuture;
use plans::id::{MapName, MapVersion, ShardName};
use plans::key::Key;
use plans::shard_map::ShardMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A cached shard map, and the task that follows its changes. Clones share the cache and the task.
///
/// ```no_run
/// use client::{Dsn, Map, ShardAccess, TransactionOptions};
/// use futures::FutureExt;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let access = ShardAccess::new(|shard| {
///     Dsn::parse(&format!("host={shard}.db.internal dbname=shop user=app password=${{env:APP_PASSWORD}}")).ok()
/// });
/// let map = Map::connect("http://c1:7432,http://c2:7432", &"tenants".into(), access).await?;
/// let tenant = 4711_i64;
/// let placed = map
///     .with_shard(tenant, TransactionOptions::default(), move |tx| {
///         async move {
///             let sql = "insert into orders (tenant_id, id) values ($1, 1)";
///             tx.execute(sql, &[&tenant]).await
///         }
///         .boxed()
///     })
///     .await?;
/// assert_eq!(placed, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Map {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) feed: Feed,
    pub(crate) pools: Pools,
    pub(crate) options: Options,
    pub(crate) counters: Counters,
    load_reporter: Option<LoadReporter>,
}

impl Inner {
    /// Returns the cached map, unless it is older than [`Options::max_staleness`](crate::Options::max_staleness).
    pub(crate) fn fresh_routes(&self) -> Result<Arc<Routes>, RouteError> {
        let routes = self.feed.current();
        let Some(limit) = self.options.max_staleness else {
            return Ok(routes);
        };
        let silence = self.feed.silence();
        if silence <= limit {
            return Ok(routes);
        }
        Err(RouteError::Stale {
            map: routes.map().name.clone(),
            version: routes.map().version,
            silence,
        })
    }
}

impl Map {
    /// Reads the map `name` from the controller, and starts to follow its changes.
    ///
    /// `controller` is a URL, or several that are separated by commas: if a controller fails, the next one is used.
    /// Afterwards lookups use the cache, even if no controller can be reached.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), client::ClientError> {
    /// use client::{Dsn, Map, ShardAccess, ShardName};
    /// use std::collections::HashMap;
    ///
    /// let dsn = |text| Dsn::parse(text).expect("a connection string");
    /// let shards: HashMap<ShardName, Dsn> = [
    ///     ("a".into(), dsn("host=10.0.0.1 dbname=shop user=app password=${env:APP_PASSWORD}")),
    ///     ("b".into(), dsn("service=shop-b")),
    /// ]
    /// .into();
    /// let map = Map::connect("http://127.0.0.1:7432", &"tenants".into(), ShardAccess::fixed(shards)).await?;
    /// println!("version {}", map.current().version);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ClientError::Fetch`] if the map cannot be read now.
    pub async fn connect(
        controller: &str,
        name: &MapName,
        access: ShardAccess,
    ) -> Result<Self, ClientError> {
        Self::connect_with(controller, name, access, Options::default()).await
    }

    /// Does the same as [`Map::connect`], with other options.
    ///
    /// # Errors
    /// [`ClientError::Fetch`] if the map cannot be read now.
    pub async fn connect_with(
        controller: &str,
        name: &MapName,
        access: ShardAccess,
        options: Options,
    ) -> Result<Self, ClientError> {
        let controllers = Controllers::new(controller, name);
        let client = ControllerClient::new(&options.identity);
        let client = client.map_err(|error| ClientError::Fetch {
            map: name.clone(),
            url: controllers.urls_text(),
            source: error.into(),
        })?;
        let inner = Inner {
            feed: Feed::open(
                client.clone(),
                controllers.clone(),
                name,
                options.max_staleness,
            )
            .await?,
            load_reporter: options
                .report_load
                .map(|every| LoadReporter::start(client, controllers, every)),
            pools: Pools::new(access, options.connections),
            options,
            counters: Counters::default(),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Returns the cached map.
    #[must_use]
    pub fn current(&self) -> Arc<ShardMap> {
        Arc::clone(self.inner.feed.current().map())
    }

    /// Returns the cached map with its index, for many lookups in one version. These lookups are not counted.
    #[must_use]
    pub fn routes(&self) -> Arc<Routes> {
        self.inner.feed.current()
    }

    /// Waits until the cache has a version above `known`, but for at most `pause`. Then it reads the map itself.
    pub async fn wait_for_newer(&self, known: MapVersion, pause: Duration) {
        self.inner.feed.wait_for_newer(known, pause).await;
    }

    /// Returns the shard that owns `key`, according to the cached map.
    ///
    /// ```no_run
    /// # fn example(map: &client::Map) -> Result<(), client::RouteError> {
    /// let shard = map.shard_for(4711)?;
    /// println!("tenant 4711 is on {shard}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RouteError`] if no shard owns the key, if the value is not a key of this map, or if the map is too old
    /// ([`Options::max_staleness`]).
    pub fn shard_for(&self, key: impl IntoKey) -> Result<ShardName, RouteError> {
        self.counted_shard(&key.into_key())
    }

    /// Returns the shard of a key, and counts the lookup.
    fn counted_shard(&self, key: &Key) -> Result<ShardName, RouteError> {
        let counters = &self.inner.counters;
        increment(&counters.lookups);
        let found = self.inner.fresh_routes().and_then(|routes| {
            let key = routes.accept(key)?;
            let shard = routes.shard_of(&key)?.clone();
            if let Some(reporter) = &self.inner.load_reporter {
                reporter.count(routes.map(), &key);
            }
            Ok(shard)
        });
        if found.is_err() {
            increment(&counters.lookups_refused);
        }
        found
    }

    /// Returns the counters of the library.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.inner.counters.combined_with(self.inner.feed.stats())
    }

    /// Runs `work` in a transaction on the shard that owns `key`, and commits the transaction.
    ///
    /// `work` runs again from its start, on the shard of the newest map, if the shard refuses the key, after a
    /// serialization failure or a deadlock, and if the connection is lost before the commit was sent. Therefore
    /// effects of `work` outside the database must permit a repetition.
    ///
    /// ```no_run
    /// # async fn example(map: client::Map) -> Result<(), client::ClientError> {
    /// use client::{BoxError, Isolation, TransactionOptions};
    /// use futures::FutureExt;
    ///
    /// let (tenant, cents) = (4711_i64, 250_i64);
    /// let options = TransactionOptions {
    ///     isolation: Isolation::RepeatableRead,
    ///     ..TransactionOptions::default()
    /// };
    /// let left: i64 = map
    ///     .with_shard(tenant, options, move |tx| {
    ///         async move {
    ///             let sql = "update accounts set cents = cents - $2 where tenant_id = $1 returning cents";
    ///             let rows = tx.query(sql, &[&tenant, &cents]).await?;
    ///             let row = rows.first().ok_or("there is no such account")?;
    ///             Ok::<_, BoxError>(row.get(0))
    ///         }
    ///         .boxed()
    ///     })
    ///     .await?;
    /// println!("{left} cents are left");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ClientError::CommitUnknown`] if the connection is lost during the commit. After
    /// [`ClientError::TransactionEnded`], what the closure committed itself is committed. Every other error means that
    /// nothing was committed. If the future is dropped during the commit, the outcome is unknown too.
    pub async fn with_shard<T, E, F>(
        &self,
        key: impl IntoKey,
        options: TransactionOptions,
        mut work: F,
    ) -> Result<T, ClientError>
    where
        E: Into<BoxError>,
        F: for<'t> FnMut(&'t Transaction) -> BoxFuture<'t, Result<T, E>>,
    {
        let key = key.into_key();
        self.counted_shard(&key)?;
        let begun = Instant::now();
        let settings = &self.inner.options;
        let mut pauses = Pauses::new(settings.first_pause, settings.longest_pause);
        let mut attempts = 0;
        loop {
            attempts += 1;
            let routes = self.inner.fresh_routes()?;
            // The key types of each version can be others.
            let shard = routes.shard_of(&routes.accept(&key)?)?.clone();
            let (remedy, source) = match self.attempt(shard, options, &mut work).await {
                Ok(done) => return Ok(done),
                Err(Fault::Final(error)) => return Err(error),
                Err(Fault::Retry { remedy, source }) => (remedy, source),
            };
            let pause = pauses.next();
            if begun.elapsed() + pause > settings.retry_for {
                return Err(ClientError::GaveUp {
                    key,
                    attempts,
                    waited: begun.elapsed(),
                    source,
                });
            }
            increment(&self.inner.counters.retries);
            match remedy {
                Remedy::RefreshNotOwner => increment(&self.inner.counters.not_owner),
                Remedy::RefreshNotOpen => increment(&self.inner.counters.not_open),
                Remedy::Again | Remedy::None => {}
            }
            // A newer map ends the pause early, regardless of the reason for the pause.
            self.wait_for_newer(routes.map().version, pause).await;
        }
    }
}
