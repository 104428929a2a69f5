//! A transaction that the library has begun and will commit. The closure works in it.

use crate::pool::Loan;
use plans::id::ShardName;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

/// An open transaction on the key's shard. When the closure ends, it is committed after `Ok` and otherwise rolled back.
///
/// Statements are prepared once for each connection.
#[derive(Debug)]
pub struct Transaction {
    shard: ShardName,
    loan: Loan,
}

impl Transaction {
    /// Begins a transaction with the statements `begin`.
    pub(crate) async fn begin(shard: ShardName, loan: Loan, begin: &str) -> Result<Self, Error> {
        loan.batch_execute(begin).await?;
        Ok(Self { shard, loan })
    }

    /// Returns the shard on which the transaction runs.
    #[must_use]
    pub fn shard(&self) -> &ShardName {
        &self.shard
    }

    /// Executes a statement, and returns the number of changed rows.
    ///
    /// # Errors
    /// The error of the server. The closure should return it, or an error that has it as its source.
    pub async fn execute(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<u64, Error> {
        let statement = self.loan.prepare_cached(sql).await?;
        self.loan.execute(&statement, params).await
    }

    /// Executes a query, and returns all rows.
    ///
    /// # Errors
    /// Those of [`Transaction::execute`].
    pub async fn query(
        &self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        let statement = self.loan.prepare_cached(sql).await?;
        self.loan.query(&statement, params).await
    }

    /// Sets a savepoint. The name is quoted as an identifier.
    ///
    /// # Errors
    /// Those of [`Transaction::execute`].
    pub async fn savepoint(&self, name: &str) -> Result<(), Error> {
        let name = plans::sql::quote_ident(name);
        self.loan.batch_execute(&format!("savepoint {name}")).await
    }

    /// Rolls back to the savepoint, which continues to exist.
    ///
    /// # Errors
    /// Those of [`Transaction::execute`].
    pub async fn rollback_to(&self, name: &str) -> Result<(), Error> {
        let name = plans::sql::quote_ident(name);
        let sql = format!("rollback to savepoint {name}");
        self.loan.batch_execute(&sql).await
    }

    /// Commits. In a transaction with a failed statement, the server answers COMMIT with success but rolls back. The
    /// statement before the COMMIT detects this.
    pub(crate) async fn commit(mut self) -> Result<(), Error> {
        self.loan.batch_execute("select 1; commit").await?;
        self.loan.mark_ended();
        Ok(())
    }

    /// Rolls back. If that fails, the connection is closed, which has the same effect.
    pub(crate) async fn rollback(mut self) {
        if self.loan.batch_execute("rollback").await.is_ok() {
            self.loan.mark_ended();
        }
    }
}
