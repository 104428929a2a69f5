//! One attempt of a transaction: begin, the application's work, commit; and what each failure means.

use crate::error::{BoxError, ClientError};
use crate::map::Map;
use crate::options::TransactionOptions;
use crate::pool::{Loan, PoolError};
use crate::retry::{Remedy, refused_at_commit, remedy, remedy_of, remedy_of_connect};
use crate::stats::increment;
use crate::transaction::Transaction;
use futures::future::BoxFuture;
use plans::id::ShardName;
use tokio_postgres::error::SqlState;

/// The SQLSTATE of a statement in a transaction in which an earlier statement has failed.
const IN_FAILED_TRANSACTION: &str = "25P02";

/// Why an attempt ended without a commit.
pub(crate) enum Fault {
    /// Another attempt may succeed.
    Retry { remedy: Remedy, source: BoxError },
    /// No other attempt follows: the application receives this error.
    Final(ClientError),
}

impl Map {
    /// Executes one attempt of a transaction on `shard`.
    pub(crate) async fn attempt<T, E, F>(
        &self,
        shard: ShardName,
        options: TransactionOptions,
        work: &mut F,
    ) -> Result<T, Fault>
    where
        E: Into<BoxError>,
        F: for<'t> FnMut(&'t Transaction) -> BoxFuture<'t, Result<T, E>>,
    {
        let transaction = self.begin(shard.clone(), &options.begin()).await?;
        match work(&transaction).await {
            Ok(done) => self.commit(transaction, shard).await.map(|()| done),
            Err(error) => {
                // What the closure has committed must not be repeated.
                if transaction.has_ended() {
                    return Err(Fault::Final(ClientError::TransactionEnded { shard }));
                }
                let source: BoxError = error.into();
                let remedy = remedy(&source);
                transaction.rollback().await;
                Err(fault(remedy, source, shard))
            }
        }
    }

    /// Begins a transaction on `shard` with the statements `begin`.
    pub(crate) async fn begin(&self, shard: ShardName, begin: &str) -> Result<Transaction, Fault> {
        let pool = self.inner.pools.pool_of(&shard).map_err(Fault::Final)?;
        let object = match pool.get().await {
            Ok(object) => object,
            Err(PoolError::Backend(error)) => {
                let (remedy, source) = (remedy_of_connect(&error), error.into());
                return Err(match remedy {
                    Remedy::None => Fault::Final(ClientError::Connect { shard, source }),
                    Remedy::Again | Remedy::RefreshNotOwner | Remedy::RefreshNotOpen => {
                        Fault::Retry { remedy, source }
                    }
                });
            }
            Err(error) => {
                let source = error.into();
                return Err(Fault::Final(ClientError::Connect { shard, source }));
            }
        };
        Transaction::begin(shard.clone(), Loan::new(object), begin)
            .await
            .map_err(|error| fault(remedy_of(&error), error.into(), shard))
    }

    async fn commit(&self, transaction: Transaction, shard: ShardName) -> Result<(), Fault> {
        check_before_end(&transaction)?;
        let Err(error) = transaction.commit().await else {
            return Ok(());
        };
        if !refused_at_commit(&error) {
            increment(&self.inner.counters.commits_unknown);
            let source = error.into();
            return Err(Fault::Final(ClientError::CommitUnknown { shard, source }));
        }
        Err(fault_at_end(error, shard))
    }
}

/// Returns a fault if a commit would not commit the work. A commit that is not sent has no unknown outcome.
pub(crate) fn check_before_end(transaction: &Transaction) -> Result<(), Fault> {
    if transaction.has_ended() {
        let shard = transaction.shard().clone();
        return Err(Fault::Final(ClientError::TransactionEnded { shard }));
    }
    if transaction.is_lost() {
        let source = "the connection was lost before the commit was sent".into();
        let remedy = Remedy::Again;
        return Err(Fault::Retry { remedy, source });
    }
    Ok(())
}

/// Decides what an error of the server at the end of a transaction means for the attempt.
pub(crate) fn fault_at_end(error: tokio_postgres::Error, shard: ShardName) -> Fault {
    let code = error.code().map(SqlState::code);
    if code == Some(IN_FAILED_TRANSACTION) {
        return Fault::Final(ClientError::FailedStatementIgnored { shard });
    }
    fault(remedy_of(&error), error.into(), shard)
}

/// Decides what an error before the commit means for the attempt.
pub(crate) fn fault(remedy: Remedy, source: BoxError, shard: ShardName) -> Fault {
    match remedy {
        Remedy::None => Fault::Final(ClientError::RolledBack { shard, source }),
        Remedy::Again | Remedy::RefreshNotOwner | Remedy::RefreshNotOpen => {
            Fault::Retry { remedy, source }
        }
    }
}
