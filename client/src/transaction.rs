//! A transaction that the library began and will commit; the closure works inside it.

use crate::pool::Loan;
use plans::id::ShardName;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

/// An open transaction on the key's shard. It ends when the closure ends: committed on `Ok`, else rolled back.
///
/// Statements are prepared once per connection.
#[derive(Debug)]
pub struct Transaction {
    shard: ShardName,
    loan: Loan,
}

impl Transaction {
    /// Begins by the statements `begin`.
    pub(crate) async fn begin(shard: ShardName, loan: Loan, begin: &str) -> Result<Self, Error> {
        loan.batch_execute(begin).await?;
        Ok(Self { shard, loan })
    }

    /// The shard that it runs on.
    #[must_use]
    pub fn shard(&self) -> &ShardName {
        &self.shard
    }

    /// Runs a statement; returns the number of rows that it changed.
    ///
    /// # Errors
    /// The server's, to be returned from the closure as it is or as the source of another.
    pub async fn execute(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<u64, Error> {
        let statement = self.loan.prepare_cached(sql).await?;
        self.loan.execute(&statement, params).await
    }

    /// Runs a query; returns all rows.
    ///
    /// # Errors
    /// As [`Transaction::execute`].
    pub async fn query(
        &self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        let statement = self.loan.prepare_cached(sql).await?;
        self.loan.query(&statement, params).await
    }

    /// Sets a savepoint; the name is taken as an identifier.
    ///
    /// # Errors
    /// As [`Transaction::execute`].
    pub async fn savepoint(&self, name: &str) -> Result<(), Error> {
        let name = plans::sql::quote_ident(name);
        self.loan.batch_execute(&format!("savepoint {name}")).await
    }

    /// Takes back what was done since the savepoint, which stays.
    ///
    /// # Errors
    /// As [`Transaction::execute`].
    pub async fn rollback_to(&self, name: &str) -> Result<(), Error> {
        let name = plans::sql::quote_ident(name);
        let sql = format!("rollback to savepoint {name}");
        self.loan.batch_execute(&sql).await
    }

    /// Commits. A transaction in which a statement failed answers COMMIT with success and rolls back;
    /// the statement before it brings that to light.
    pub(crate) async fn commit(mut self) -> Result<(), Error> {
        self.loan.batch_execute("select 1; commit").await?;
        self.loan.end();
        Ok(())
    }

    /// Rolls back; a connection that cannot do so is closed, which has the same effect.
    pub(crate) async fn rollback(mut self) {
        if self.loan.batch_execute("rollback").await.is_ok() {
            self.loan.end();
        }
    }
}
