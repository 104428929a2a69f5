//! Executes changes inside the caller's transaction: by sets if these have the same effect, otherwise one by one.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use connect::Connected;
use plans::failure::StepCode;
use plans::table::MovingTable;
use tokio_postgres::Statement;
use tokio_postgres::types::{ToSql, Type};

use super::change::RowChange;
use super::lane::ApplyLane;
use super::planned::{PlannedChanges, PlannedSets};
use super::rows;
use super::sets::SetStatement;
use crate::error::{StepError, WithIntent};
use crate::shard::database::LOOKUP_SETTINGS;
use crate::shard::epoch::{self, EpochToken};
use crate::shard::parents;
use crate::shard::user_code::{self, ProvedTables};

/// The savepoint to which the sets are rolled back.
const SAVEPOINT: &str = "savepoint sets";
/// The lock timeout of two sessions that share a batch. Because the agent commits them together, one of them can wait
/// for the other through a third session for ever; the server does not detect this as a deadlock.
pub(crate) const SHARED_BATCH_LOCK_TIMEOUT: &str = "lock_timeout = '500ms'";
/// Undoes the sets, and removes their savepoint.
const ROLL_BACK_SETS: &str = "rollback to savepoint sets; release savepoint sets";

/// A running statement; its output is the number of rows that it affected.
type StatementExecution<'a> =
    Pin<Box<dyn Future<Output = Result<u64, tokio_postgres::Error>> + Send + 'a>>;

/// A session in which changes are applied.
#[derive(Debug)]
pub(crate) struct Executor {
    session: Arc<Connected>,
    statements: HashMap<String, Statement>,
    proved_tables: ProvedTables,
}

impl Executor {
    /// Prepares a session, which the executor owns from now on.
    ///
    /// # Errors
    /// An error of the server.
    pub(crate) async fn new(session: Connected) -> Result<Self, StepError> {
        // The server must look rows up by their keys, also many rows: the cost of a join that reads the whole table
        // would grow with the table.
        let settings = format!(
            "{LOOKUP_SETTINGS}; set enable_hashjoin = off; set enable_mergejoin = off; set enable_seqscan = off"
        );
        session
            .batch_execute(&settings)
            .await
            .at(format_args!("shard {}: preparing to apply", session.name()))?;
        Ok(Self {
            session: Arc::new(session),
            statements: HashMap::new(),
            proved_tables: ProvedTables::default(),
        })
    }

    pub(crate) fn session(&self) -> &Arc<Connected> {
        &self.session
    }

    /// Returns the session for exclusive use; `None` while a statement runs in it.
    pub(crate) fn session_mut(&mut self) -> Option<&mut Connected> {
        Arc::get_mut(&mut self.session)
    }

    /// Opens a transaction. Proves in it the epoch, that changes of these tables run no untrusted code, and that rows of
    /// dependent tables have parents. This needs one round trip, unless a definition has changed.
    ///
    /// # Errors
    /// `code.untrusted`; `schema.drift`; those of [`epoch::begin`].
    pub(crate) async fn begin(
        &mut self,
        token: &EpochToken,
        tables: &[MovingTable],
    ) -> Result<(), StepError> {
        let session = self.session.clone();
        let lock = user_code::lock_sql(tables) + &parents::lock_sql(tables);
        let begun = epoch::begin_with_statements(&session, token, &lock);
        let proved = self.proved_tables.prove(&session, tables);
        let has_parents = parents::prove(&session, tables, &token.migration);
        // `begun` is the first: its error is the cause. After it, later statements only report that the transaction is
        // aborted.
        let all = futures::future::try_join3(begun, proved, has_parents);
        all.await.map(drop)
    }

    /// Executes changes inside the caller's transaction. The effect is that of the changes one after the other.
    ///
    /// # Errors
    /// `apply.count` if a change does not affect exactly one row; an error of the server.
    pub(crate) async fn execute(&mut self, planned: &PlannedChanges<'_>) -> Result<(), StepError> {
        match &planned.sets {
            Some(sets) => self.execute_by_sets(planned.changes, sets).await,
            None => self.execute_one_by_one(planned.changes.iter()).await,
        }
    }

    /// Executes the sets. If a set fails because of its rows, rolls the sets back and executes the changes one by one
    /// in commit order.
    async fn execute_by_sets(
        &mut self,
        changes: &[RowChange],
        sets: &PlannedSets<'_>,
    ) -> Result<(), StepError> {
        let result = match self.execute_sets(SAVEPOINT, &sets.all()).await {
            Ok(()) => {
                self.execute_one_by_one(sets.remaining.iter().copied())
                    .await
            }
            Err(error) => Err(error),
        };
        match result {
            Ok(()) => self.run_sql("release savepoint sets").await,
            Err(error) if is_statement_error(&error) => {
                let code = error.failure().map(|failure| failure.code.as_str());
                tracing::debug!(code, "the sets failed; changes are applied one by one");
                self.run_sql(ROLL_BACK_SETS).await?;
                self.execute_one_by_one(changes.iter()).await
            }
            Err(error) => Err(error),
        }
    }

    /// Executes the sets of one lane inside the caller's transaction, while another session executes those of the other
    /// lane. Returns false if a set fails because of its rows, or waits too long for a lock. The caller must then call
    /// [`Executor::roll_back_sets`] or roll back the transaction.
    ///
    /// # Errors
    /// Any other error of the server.
    pub(crate) async fn try_execute_lane(
        &mut self,
        planned: &PlannedChanges<'_>,
        lane: ApplyLane,
    ) -> Result<bool, StepError> {
        match self.execute_lane(planned, lane).await {
            Ok(()) => Ok(true),
            Err(error) if is_statement_error(&error) || Self::is_lock_conflict(&error) => {
                let code = error.failure().map(|failure| failure.code.as_str());
                tracing::debug!(
                    code,
                    ?lane,
                    "two sessions could not share the changes; one session applies all of them"
                );
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    async fn execute_lane(
        &mut self,
        planned: &PlannedChanges<'_>,
        lane: ApplyLane,
    ) -> Result<(), StepError> {
        let Some(sets) = &planned.sets else {
            return Ok(());
        };
        let savepoint = format!("set local {SHARED_BATCH_LOCK_TIMEOUT}; {SAVEPOINT}");
        self.execute_sets(&savepoint, &sets.of_lane(lane)).await?;
        match lane {
            ApplyLane::First => {
                self.execute_one_by_one(sets.remaining.iter().copied())
                    .await
            }
            ApplyLane::Second => Ok(()),
        }
    }

    /// Rolls back what [`Executor::try_execute_lane`] has done, and removes the lock timeout for the rest of the
    /// transaction.
    pub(crate) async fn roll_back_sets(&self) -> Result<(), StepError> {
        self.run_sql(&format!("{ROLL_BACK_SETS}; set local lock_timeout = 0"))
            .await
    }

    /// Returns whether the error is a lock timeout or a deadlock.
    pub(crate) fn is_lock_conflict(error: &StepError) -> bool {
        let conflicts = ["55P03", "40P01"];
        error
            .sqlstate()
            .is_some_and(|state| conflicts.contains(&state))
    }

    async fn run_sql(&self, sql: &str) -> Result<(), StepError> {
        let what = format!("shard {}: applying changes", self.session.name());
        self.session.batch_execute(sql).await.at(what)
    }

    /// Executes a savepoint and then the sets in their order. Sends all statements before it waits for the first
    /// answer.
    async fn execute_sets(
        &self,
        savepoint: &str,
        statements: &[&SetStatement],
    ) -> Result<(), StepError> {
        let client: &Connected = &self.session;
        let mut begin: Pin<Box<_>> = Box::pin(client.batch_execute(savepoint));
        let begun = futures::poll!(begin.as_mut());
        let params: Vec<Vec<(&(dyn ToSql + Sync), Type)>> = statements
            .iter()
            .map(|set| set.statement.params())
            .collect();
        let mut running: Vec<StatementExecution<'_>> = Vec::with_capacity(statements.len());
        for (statement, params) in statements.iter().zip(&params) {
            running.push(
                start_execution(Box::pin(
                    client.execute_typed(&statement.statement.sql, params),
                ))
                .await,
            );
        }
        let what = format!("shard {}: applying changes", self.session.name());
        match begun {
            Poll::Ready(result) => result,
            Poll::Pending => begin.await,
        }
        .at(what)?;
        for (execution, statement) in running.into_iter().zip(statements) {
            let what = format!("shard {}: applying {}", self.session.name(), statement.what);
            let count = execution.await.at(&what)?;
            if count != statement.expected {
                let expected = statement.expected;
                return Err(StepError::refused(
                    StepCode::ApplyCount,
                    format!("{what}: affected {count} rows instead of {expected}"),
                    "",
                ));
            }
        }
        Ok(())
    }

    /// Executes changes in their order. Sends all statements before it waits for the first answer.
    async fn execute_one_by_one<'a>(
        &mut self,
        changes: impl Iterator<Item = &'a RowChange>,
    ) -> Result<(), StepError> {
        let mut prepared = Vec::new();
        for change in changes {
            let (sql, params) = rows::statement(change)?;
            if !self.statements.contains_key(&sql) {
                let what = format!(
                    "shard {}: preparing a change of {}",
                    self.session.name(),
                    change.target.name
                );
                let statement = self.session.prepare(&sql).await.at(what)?;
                self.statements.insert(sql.clone(), statement);
            }
            prepared.push((change, self.statements[&sql].clone(), params));
        }
        let mut running: Vec<StatementExecution<'_>> = Vec::with_capacity(prepared.len());
        for (_, statement, params) in &prepared {
            let execution = self.session.execute_raw(statement, params.iter());
            running.push(start_execution(Box::pin(execution)).await);
        }
        let mut first_wrong_count = None;
        for (execution, (change, ..)) in running.into_iter().zip(&prepared) {
            let what = format!(
                "shard {}: applying a change of {}",
                self.session.name(),
                change.target.name
            );
            let count = execution.await.at(what)?;
            if count != 1 && first_wrong_count.is_none() {
                first_wrong_count = Some((count, *change));
            }
        }
        match first_wrong_count {
            None => Ok(()),
            Some((count, change)) => Err(self.row_count_error(count, change)),
        }
    }

    fn row_count_error(&self, count: u64, change: &RowChange) -> StepError {
        StepError::refused(
            StepCode::ApplyCount,
            format!(
                "shard {}: a captured {} of {} affected {count} rows instead of one: the shards differ",
                self.session.name(),
                change.operation_name(),
                change.target.name
            ),
            "another program has written the moving rows on this shard; `abort` the migration and plan it again",
        )
    }
}

/// Sends the statement, so that the server executes statements in the order of the calls. Does not wait for the answer.
async fn start_execution(mut execution: StatementExecution<'_>) -> StatementExecution<'_> {
    match futures::poll!(execution.as_mut()) {
        Poll::Ready(result) => Box::pin(std::future::ready(result)),
        Poll::Pending => execution,
    }
}

/// SQLSTATE classes of errors that a statement or its values cause, not the state of the server.
const STATEMENT_ERROR_CLASSES: [&str; 5] = ["0A", "22", "23", "42", "54"];

/// Returns whether the rows, their values or the statement caused the error: a wrong number of rows, a violated
/// constraint, or a type that a set cannot contain.
pub(crate) fn is_statement_error(error: &StepError) -> bool {
    let is_of_class = |state: &str| {
        STATEMENT_ERROR_CLASSES
            .iter()
            .any(|class| state.starts_with(class))
    };
    error.has_code(StepCode::ApplyCount) || error.sqlstate().is_some_and(is_of_class)
}
