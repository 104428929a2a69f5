//! Executes changes inside the caller's transaction: by sets where that is known to come to the same.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use connect::Connected;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Statement};

use super::change::RowChange;
use super::net::Net;
use super::rows;
use super::sets::{self, SetStatement};
use crate::error::{At, StepError};

/// Sets of fewer changes than this are not worth their planning.
const FEW: usize = 8;
/// A change that touches another number of rows than one.
const MISCOUNTED: &str = "apply.count";

/// A statement on its way; its output is the number of rows it touched.
type Execution<'a> = Pin<Box<dyn Future<Output = Result<u64, tokio_postgres::Error>> + Send + 'a>>;

/// Changes with what they come to, worked out before the session is there for them.
#[derive(Debug)]
pub(crate) struct Planned<'a> {
    changes: &'a [RowChange],
    /// `None`: they are executed one by one.
    sets: Option<Sets<'a>>,
}

/// What changes come to, as statements, and those that are executed behind them.
#[derive(Debug)]
struct Sets<'a> {
    statements: Vec<SetStatement>,
    rows: Vec<&'a RowChange>,
}

impl<'a> Planned<'a> {
    pub(crate) fn of(changes: &'a [RowChange]) -> Self {
        let net = (changes.len() >= FEW).then(|| Net::of(changes)).flatten();
        let net = net.filter(|net| changes.len() >= FEW * net.sets.len());
        let sets = net.and_then(|net| {
            let statements: Option<Vec<_>> = net.sets.iter().map(sets::statement).collect();
            let statements = statements.filter(|statements| !statements.is_empty())?;
            Some(Sets {
                statements,
                rows: net.rows,
            })
        });
        Self { changes, sets }
    }
}

/// The session in which changes are applied.
#[derive(Debug)]
pub(crate) struct Executor {
    session: Arc<Connected>,
    shard: String,
    statements: HashMap<String, Statement>,
}

impl Executor {
    /// Takes a session over.
    ///
    /// # Errors
    /// What the server says.
    pub(crate) async fn new(session: Connected, shard: &str) -> Result<Self, StepError> {
        // Rows are looked up by their keys, however many at once: reading a table to join it grows with the table.
        let settings =
            "set enable_hashjoin = off; set enable_mergejoin = off; set enable_seqscan = off";
        session
            .batch_execute(settings)
            .await
            .at(format_args!("shard {shard}: preparing to apply"))?;
        Ok(Self {
            session: Arc::new(session),
            shard: shard.to_owned(),
            statements: HashMap::new(),
        })
    }

    pub(crate) fn session(&self) -> &Arc<Connected> {
        &self.session
    }

    /// The session for whoever needs it alone; `None` while something is under way in it.
    pub(crate) fn session_mut(&mut self) -> Option<&mut Connected> {
        Arc::get_mut(&mut self.session)
    }

    /// Executes changes, inside the caller's transaction, to the effect that they have one after the other.
    ///
    /// # Errors
    /// `apply.count` when a change touches another number of rows than one; what the server says.
    pub(crate) async fn execute(&mut self, planned: &Planned<'_>) -> Result<(), StepError> {
        match &planned.sets {
            Some(sets) => self.by_sets(planned.changes, sets).await,
            None => self.one_by_one(planned.changes.iter()).await,
        }
    }

    /// Whatever gives reason to doubt the sets is decided by the changes one by one: it may lie in the order alone.
    async fn by_sets(&mut self, changes: &[RowChange], sets: &Sets<'_>) -> Result<(), StepError> {
        let done = match self.sets(&sets.statements).await {
            Ok(()) => self.one_by_one(sets.rows.iter().copied()).await,
            Err(error) => Err(error),
        };
        match done {
            Ok(()) => self.savepoint("release savepoint sets").await,
            Err(error) if is_of_data(&error) => {
                let code = error.failure().map(|failure| failure.code.as_str());
                tracing::debug!(code, "changes are applied one by one");
                self.savepoint("rollback to savepoint sets; release savepoint sets")
                    .await?;
                self.one_by_one(changes.iter()).await
            }
            Err(error) => Err(error),
        }
    }

    async fn savepoint(&self, sql: &str) -> Result<(), StepError> {
        let what = format!("shard {}: applying changes", self.shard);
        self.session.batch_execute(sql).await.at(what)
    }

    /// Executes sets in their order behind a savepoint, pipelined.
    async fn sets(&self, statements: &[SetStatement]) -> Result<(), StepError> {
        let client: &Client = &self.session;
        let mut begin: Pin<Box<_>> = Box::pin(client.batch_execute("savepoint sets"));
        let begun = futures::poll!(begin.as_mut());
        let params: Vec<Vec<(&(dyn ToSql + Sync), Type)>> =
            statements.iter().map(SetStatement::params).collect();
        let mut running: Vec<Execution<'_>> = Vec::with_capacity(statements.len());
        for (statement, params) in statements.iter().zip(&params) {
            running.push(sent(Box::pin(client.execute_typed(&statement.sql, params))).await);
        }
        let what = format!("shard {}: applying changes", self.shard);
        match begun {
            Poll::Ready(done) => done,
            Poll::Pending => begin.await,
        }
        .at(what)?;
        for (execution, statement) in running.into_iter().zip(statements) {
            let what = format!("shard {}: applying {}", self.shard, statement.what);
            let count = execution.await.at(&what)?;
            if count != statement.expected {
                let wanted = statement.expected;
                return Err(StepError::refused(
                    MISCOUNTED,
                    format!("{what}: touched {count} rows instead of {wanted}"),
                    "",
                ));
            }
        }
        Ok(())
    }

    /// Executes changes in their order, pipelined.
    async fn one_by_one<'a>(
        &mut self,
        changes: impl Iterator<Item = &'a RowChange>,
    ) -> Result<(), StepError> {
        let mut ready = Vec::new();
        for change in changes {
            let (sql, params) = rows::statement(change)?;
            if !self.statements.contains_key(&sql) {
                let what = format!(
                    "shard {}: preparing a change of {}",
                    self.shard, change.target.name
                );
                let statement = self.session.prepare(&sql).await.at(what)?;
                self.statements.insert(sql.clone(), statement);
            }
            ready.push((change, self.statements[&sql].clone(), params));
        }
        let mut running: Vec<Execution<'_>> = Vec::with_capacity(ready.len());
        for (_, statement, params) in &ready {
            let execution = self.session.execute_raw(statement, params.iter());
            running.push(sent(Box::pin(execution)).await);
        }
        let mut wrong = None;
        for (execution, (change, ..)) in running.into_iter().zip(&ready) {
            let what = format!(
                "shard {}: applying a change of {}",
                self.shard, change.target.name
            );
            let count = execution.await.at(what)?;
            if count != 1 && wrong.is_none() {
                wrong = Some((count, *change));
            }
        }
        match wrong {
            None => Ok(()),
            Some((count, change)) => Err(self.miscounted(count, change)),
        }
    }

    fn miscounted(&self, count: u64, change: &RowChange) -> StepError {
        StepError::refused(
            MISCOUNTED,
            format!(
                "shard {}: a replayed {} of {} touched {count} rows instead of one: the copies differ",
                self.shard,
                change.verb(),
                change.target.name
            ),
            "something else wrote to the moving rows there; abort the migration and plan it again",
        )
    }
}

/// Hands the statement to the connection, so the order of calls is the order there.
async fn sent(mut execution: Execution<'_>) -> Execution<'_> {
    match futures::poll!(execution.as_mut()) {
        Poll::Ready(done) => Box::pin(std::future::ready(done)),
        Poll::Pending => execution,
    }
}

/// Classes of SQLSTATEs that speak of a statement or its values, not of the server's state.
const OF_STATEMENTS: [&str; 5] = ["sql.0A", "sql.22", "sql.23", "sql.42", "sql.54"];

/// The rows, their values or the set's statement are why it failed: another number of them, a constraint, a type that
/// does not allow what a set does with it.
fn is_of_data(error: &StepError) -> bool {
    let code = error.failure().map_or("", |failure| failure.code.as_str());
    code == MISCOUNTED || OF_STATEMENTS.iter().any(|class| code.starts_with(class))
}
