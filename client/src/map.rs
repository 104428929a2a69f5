//! The application's entry: routing by key, and transactions that survive a cutover.

use crate::access::ShardAccess;
use crate::controllers::Controllers;
use crate::error::{BoxError, ClientError, RouteError};
use crate::feed::Feed;
use crate::into_key::IntoKey;
use crate::load::Load;
use crate::options::{Options, TransactionOptions};
use crate::pool::{Loan, PoolError, Pools};
use crate::retry::{Pauses, Remedy, refused_at_commit, remedy, remedy_of, remedy_of_connect};
use crate::stats::{Counters, Stats, count};
use crate::transaction::Transaction;
use caller::Caller;
use futures::future::BoxFuture;
use plans::id::{MapName, ShardName};
use plans::shard_map::ShardMap;
use std::sync::Arc;
use std::time::Instant;

const IN_FAILED_TRANSACTION: &str = "25P02";

/// A shard map, cached and followed. Clones share everything.
#[derive(Debug, Clone)]
pub struct Map {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    feed: Feed,
    pools: Pools,
    options: Options,
    counters: Counters,
    load: Option<Load>,
}

/// How an attempt ended without a commit.
enum Fault {
    Retry { remedy: Remedy, source: BoxError },
    Final(ClientError),
}

impl Map {
    /// Reads the map `name` from the controller and starts to follow its changes.
    ///
    /// `controller` is a URL, or several with commas between them: the next one is asked when one fails.
    /// From then on all may be away: the cache answers.
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

    /// As [`Map::connect`], with settings of the caller.
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
        let caller = Caller::new(&options.identity);
        let caller = caller.map_err(|error| ClientError::Fetch {
            map: name.clone(),
            url: controllers.all(),
            source: error.into(),
        })?;
        let inner = Inner {
            feed: Feed::open(caller.clone(), controllers.clone(), name).await?,
            load: options
                .report_load
                .map(|every| Load::start(caller, controllers, every)),
            pools: Pools::new(access, options.connections),
            options,
            counters: Counters::default(),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// The cached map.
    #[must_use]
    pub fn current(&self) -> Arc<ShardMap> {
        Arc::clone(self.inner.feed.current().map())
    }

    /// The shard that has `key`, from the cache.
    ///
    /// # Errors
    /// [`RouteError`] for an unmapped key, and for a value that is no key of this map.
    pub fn shard_for(&self, key: impl IntoKey) -> Result<ShardName, RouteError> {
        let routes = self.inner.feed.current();
        let key = routes.accept(&key.into_key())?;
        let shard = routes.shard_of(&key)?.clone();
        if let Some(load) = &self.inner.load {
            load.count(&key);
        }
        Ok(shard)
    }

    /// What the library had to do so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.inner.counters.read(self.inner.feed.refreshes())
    }

    /// Runs `work` in a transaction on the shard that has `key`, and commits.
    ///
    /// `work` runs again from its start, on the shard of the newest map, when the shard refuses the key,
    /// when transactions met, and when the connection is lost before the commit was sent:
    /// nothing that it does outside the database may depend on running once.
    ///
    /// # Errors
    /// [`ClientError::CommitUnknown`] when the connection is lost during the commit; every other
    /// error means that nothing was committed.
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
        let key = self.inner.feed.current().accept(&key.into_key())?;
        if let Some(load) = &self.inner.load {
            load.count(&key);
        }
        let begun = Instant::now();
        let settings = &self.inner.options;
        let mut pauses = Pauses::new(settings.first_pause, settings.longest_pause);
        let mut attempts = 0;
        loop {
            attempts += 1;
            let routes = self.inner.feed.current();
            let shard = routes.shard_of(&key)?.clone();
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
            count(&self.inner.counters.retries);
            match remedy {
                Remedy::RefreshNotOwner => count(&self.inner.counters.not_owner),
                Remedy::RefreshNotOpen => count(&self.inner.counters.not_open),
                Remedy::Again | Remedy::None => {}
            }
            // A newer map ends the pause early, whatever the reason for it was.
            self.inner
                .feed
                .newer_than(routes.map().version, pause)
                .await;
        }
    }

    async fn attempt<T, E, F>(
        &self,
        shard: ShardName,
        options: TransactionOptions,
        work: &mut F,
    ) -> Result<T, Fault>
    where
        E: Into<BoxError>,
        F: for<'t> FnMut(&'t Transaction) -> BoxFuture<'t, Result<T, E>>,
    {
        let transaction = self.begin(shard.clone(), options).await?;
        match work(&transaction).await {
            Ok(done) => self.commit(transaction, shard).await.map(|()| done),
            Err(error) => {
                let source: BoxError = error.into();
                let remedy = remedy(&source);
                transaction.rollback().await;
                Err(fault(remedy, source, shard))
            }
        }
    }

    async fn begin(
        &self,
        shard: ShardName,
        options: TransactionOptions,
    ) -> Result<Transaction, Fault> {
        let pool = self.inner.pools.of(&shard).map_err(Fault::Final)?;
        let object = match pool.get().await {
            Ok(object) => object,
            Err(PoolError::Backend(error)) => {
                return Err(fault(remedy_of_connect(&error), error.into(), shard));
            }
            Err(error) => {
                let source = error.into();
                return Err(Fault::Final(ClientError::Connect { shard, source }));
            }
        };
        Transaction::begin(shard.clone(), Loan::new(object), options)
            .await
            .map_err(|error| fault(remedy_of(&error), error.into(), shard))
    }

    async fn commit(&self, transaction: Transaction, shard: ShardName) -> Result<(), Fault> {
        let Err(error) = transaction.commit().await else {
            return Ok(());
        };
        if !refused_at_commit(&error) {
            count(&self.inner.counters.commits_unknown);
            let source = error.into();
            return Err(Fault::Final(ClientError::CommitUnknown { shard, source }));
        }
        if error
            .code()
            .is_some_and(|code| code.code() == IN_FAILED_TRANSACTION)
        {
            return Err(Fault::Final(ClientError::FailedStatementIgnored { shard }));
        }
        Err(fault(remedy_of(&error), error.into(), shard))
    }
}

fn fault(remedy: Remedy, source: BoxError, shard: ShardName) -> Fault {
    match remedy {
        Remedy::None => Fault::Final(ClientError::RolledBack { shard, source }),
        Remedy::Again | Remedy::RefreshNotOwner | Remedy::RefreshNotOpen => {
            Fault::Retry { remedy, source }
        }
    }
}
