//! A transaction that the library has begun and will commit. The closure works in it.

use crate::pool::Loan;
use crate::retry::ends_session;
use plans::id::ShardName;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

/// An open transaction on the key's shard. When the closure ends, it is committed after `Ok` and otherwise rolled back.
///
/// Statements are prepared once for each connection.
#[derive(Debug)]
pub struct Transaction {
    shard: ShardName,
    loan: Loan,
    /// Whether the closure has ended the transaction.
    has_ended: AtomicBool,
    /// Whether a statement reported that the session has ended. The connection itself ends a moment later.
    is_lost: AtomicBool,
}

impl Transaction {
    /// Begins a transaction with the statements `begin`.
    pub(crate) async fn begin(shard: ShardName, loan: Loan, begin: &str) -> Result<Self, Error> {
        loan.batch_execute(begin).await?;
        Ok(Self {
            shard,
            loan,
            has_ended: AtomicBool::new(false),
            is_lost: AtomicBool::new(false),
        })
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
        let executed = async {
            let statement = self.loan.prepare_cached(sql).await?;
            self.loan.execute(&statement, params).await
        };
        self.recorded(sql, executed.await)
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
        let queried = async {
            let statement = self.loan.prepare_cached(sql).await?;
            self.loan.query(&statement, params).await
        };
        self.recorded(sql, queried.await)
    }

    /// Sets a savepoint. The name is quoted as an identifier.
    ///
    /// # Errors
    /// Those of [`Transaction::execute`].
    pub async fn savepoint(&self, name: &str) -> Result<(), Error> {
        let name = plans::sql::quote_ident(name);
        let sql = format!("savepoint {name}");
        self.recorded(&sql, self.loan.batch_execute(&sql).await)
    }

    /// Rolls back to the savepoint, which continues to exist.
    ///
    /// # Errors
    /// Those of [`Transaction::execute`].
    pub async fn rollback_to(&self, name: &str) -> Result<(), Error> {
        let name = plans::sql::quote_ident(name);
        let sql = format!("rollback to savepoint {name}");
        self.recorded(&sql, self.loan.batch_execute(&sql).await)
    }

    /// Returns true if the closure has ended the transaction.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Relaxed)
    }

    /// Returns true if the connection is lost.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Relaxed) || self.loan.is_closed()
    }

    /// Commits. In a transaction with a failed statement, the server answers COMMIT with success but rolls back. The
    /// statement before the COMMIT detects this.
    pub(crate) async fn commit(mut self) -> Result<(), Error> {
        self.loan.batch_execute("select 1; commit").await?;
        self.loan.mark_ended();
        Ok(())
    }

    /// Ends a transaction that wrote nothing. Returns an error if one of its statements has failed.
    pub(crate) async fn end_query(mut self) -> Result<(), Error> {
        self.loan.batch_execute("select 1; rollback").await?;
        self.loan.mark_ended();
        Ok(())
    }

    /// Rolls back. If that fails, the connection is closed, which has the same effect.
    pub(crate) async fn rollback(mut self) {
        if self.loan.batch_execute("rollback").await.is_ok() {
            self.loan.mark_ended();
        }
    }

    /// Records a statement that ends the transaction or the session. The server accepts one statement at a time, so that
    /// nothing else can end the transaction.
    fn recorded<T>(&self, sql: &str, result: Result<T, Error>) -> Result<T, Error> {
        match &result {
            Ok(_) if ends_transaction(sql) => self.has_ended.store(true, Relaxed),
            Err(error) if ends_session(error) => self.is_lost.store(true, Relaxed),
            Ok(_) | Err(_) => {}
        }
        result
    }
}

/// Returns true if a statement ends the transaction in which it succeeds.
fn ends_transaction(sql: &str) -> bool {
    let sql = without_comments(sql);
    let mut words = sql
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase);
    match words.next().as_deref() {
        Some("commit" | "end") => true,
        Some("rollback" | "abort") => words
            .find(|word| word != "work" && word != "transaction")
            .is_none_or(|word| word != "to"),
        Some("prepare") => words.next().as_deref() == Some("transaction"),
        _ => false,
    }
}

/// Returns a statement without the comments at its start.
fn without_comments(sql: &str) -> &str {
    let mut rest = sql.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
    while let Some(length) = comment_length(rest) {
        rest = rest[length..].trim_start_matches(|c: char| c.is_whitespace() || c == ';');
    }
    rest
}

/// Returns the length of the comment at the start of a text, if there is one. Comments in `/*` and `*/` can contain
/// others.
fn comment_length(text: &str) -> Option<usize> {
    if text.starts_with("--") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if depth == 0 {
            return None;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
        if depth == 0 {
            return Some(at);
        }
    }
    // The comment has no end.
    (depth > 0).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_end_a_transaction_are_found() {
        for sql in [
            "commit",
            " END;",
            "; Commit And Chain",
            "-- done\n/* a /* b */ ü */ rollback work",
            "abort",
            "rollback transaction and no chain",
            "prepare transaction 'x'",
        ] {
            assert!(ends_transaction(sql), "{sql}");
        }
        for sql in [
            "",
            "/* commit",
            "select 'commit'",
            "-- commit\nselect 1",
            "rollback to savepoint s",
            "ROLLBACK WORK TO s",
            "abort transaction to s",
            "commitment",
            "prepare a as select 1",
        ] {
            assert!(!ends_transaction(sql), "{sql}");
        }
    }
}
