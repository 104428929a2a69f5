//! Executes changes inside the caller's transaction: by sets where that is known to come to the same.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use connect::Connected;
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
use crate::shard::user_code::{self, ProvedTables};

/// A change that touches another number of rows than one.
const MISCOUNTED: &str = "apply.count";
/// What rows are taken back to.
const SAVEPOINT: &str = "savepoint sets";
/// A setting of sessions that apply together: one may wait for the other, through the lock of somebody else, which no
/// server sees. So neither waits for long.
pub(crate) const IMPATIENT: &str = "lock_timeout = '500ms'";
const TAKE_BACK: &str = "rollback to savepoint sets; release savepoint sets";

/// A statement on its way; its output is the number of rows it touched.
type StatementExecution<'a> =
    Pin<Box<dyn Future<Output = Result<u64, tokio_postgres::Error>> + Send + 'a>>;

/// The session in which changes are applied.
#[derive(Debug)]
pub(crate) struct Executor {
    session: Arc<Connected>,
    statements: HashMap<String, Statement>,
    proved: ProvedTables,
}

impl Executor {
    /// Takes a session over.
    ///
    /// # Errors
    /// What the server says.
    pub(crate) async fn new(session: Connected) -> Result<Self, StepError> {
        // Rows are looked up by their keys, however many at once: reading a table to join it grows with the table.
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
            proved: ProvedTables::default(),
        })
    }

    pub(crate) fn session(&self) -> &Arc<Connected> {
        &self.session
    }

    /// The session for whoever needs it alone; `None` while something is under way in it.
    pub(crate) fn session_mut(&mut self) -> Option<&mut Connected> {
        Arc::get_mut(&mut self.session)
    }

    /// Opens a transaction that proves its epoch, and that changes of these tables run no code that is not trusted: in
    /// one round trip while no definition changes.
    ///
    /// # Errors
    /// `code.untrusted`; those of [`epoch::begin`].
    pub(crate) async fn begin(
        &mut self,
        token: &EpochToken,
        tables: &[MovingTable],
    ) -> Result<(), StepError> {
        let session = self.session.clone();
        let lock = user_code::lock_sql(tables);
        let begun = epoch::begin_with_statements(&session, token, &lock);
        let proved = self.proved.prove(&session, tables);
        // In this order: what follows a statement that fails only says that the transaction is over.
        futures::future::try_join(begun, proved).await.map(drop)
    }

    /// Executes changes, inside the caller's transaction, to the effect that they have one after the other.
    ///
    /// # Errors
    /// `apply.count` when a change touches another number of rows than one; what the server says.
    pub(crate) async fn execute(&mut self, planned: &PlannedChanges<'_>) -> Result<(), StepError> {
        match &planned.sets {
            Some(sets) => self.by_sets(planned.changes, sets).await,
            None => self.one_by_one(planned.changes.iter()).await,
        }
    }

    /// Whatever gives reason to doubt the sets is decided by the changes one by one: it may lie in the order alone.
    async fn by_sets(
        &mut self,
        changes: &[RowChange],
        sets: &PlannedSets<'_>,
    ) -> Result<(), StepError> {
        let done = match self.sets(SAVEPOINT, &sets.all()).await {
            Ok(()) => self.one_by_one(sets.rows.iter().copied()).await,
            Err(error) => Err(error),
        };
        match done {
            Ok(()) => self.batch("release savepoint sets").await,
            Err(error) if is_of_data(&error) => {
                let code = error.failure().map(|failure| failure.code.as_str());
                tracing::debug!(code, "changes are applied one by one");
                self.batch(TAKE_BACK).await?;
                self.one_by_one(changes.iter()).await
            }
            Err(error) => Err(error),
        }
    }

    /// Executes the sets of one lane beside those of the other, inside the caller's transaction. False: they are in
    /// doubt, or wait for somebody; the transaction is then good for [`Executor::take_back`], or to be rolled back.
    ///
    /// # Errors
    /// What the server says of anything else.
    pub(crate) async fn try_lane(
        &mut self,
        planned: &PlannedChanges<'_>,
        lane: ApplyLane,
    ) -> Result<bool, StepError> {
        match self.lane(planned, lane).await {
            Ok(()) => Ok(true),
            Err(error) if is_of_data(&error) || Self::waits(&error) => {
                let code = error.failure().map(|failure| failure.code.as_str());
                tracing::debug!(code, ?lane, "changes are applied in one lane");
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    async fn lane(
        &mut self,
        planned: &PlannedChanges<'_>,
        lane: ApplyLane,
    ) -> Result<(), StepError> {
        let Some(sets) = &planned.sets else {
            return Ok(());
        };
        let savepoint = format!("set local {IMPATIENT}; {SAVEPOINT}");
        self.sets(&savepoint, &sets.of(lane)).await?;
        match lane {
            ApplyLane::First => self.one_by_one(sets.rows.iter().copied()).await,
            ApplyLane::Second => Ok(()),
        }
    }

    /// Takes back what [`Executor::try_lane`] has done; the session waits as long as it takes again.
    pub(crate) async fn take_back(&self) -> Result<(), StepError> {
        self.batch(&format!("{TAKE_BACK}; set local lock_timeout = 0"))
            .await
    }

    /// Whether another session has what this one needs, and keeps it.
    pub(crate) fn waits(error: &StepError) -> bool {
        let code = error.failure().map_or("", |failure| failure.code.as_str());
        ["sql.55P03", "sql.40P01"].contains(&code)
    }

    async fn batch(&self, sql: &str) -> Result<(), StepError> {
        let what = format!("shard {}: applying changes", self.session.name());
        self.session.batch_execute(sql).await.at(what)
    }

    /// Executes sets in their order behind a savepoint, pipelined.
    async fn sets(&self, savepoint: &str, statements: &[&SetStatement]) -> Result<(), StepError> {
        let client: &Connected = &self.session;
        let mut begin: Pin<Box<_>> = Box::pin(client.batch_execute(savepoint));
        let begun = futures::poll!(begin.as_mut());
        let params: Vec<Vec<(&(dyn ToSql + Sync), Type)>> = statements
            .iter()
            .map(|statement| statement.params())
            .collect();
        let mut running: Vec<StatementExecution<'_>> = Vec::with_capacity(statements.len());
        for (statement, params) in statements.iter().zip(&params) {
            running.push(sent(Box::pin(client.execute_typed(&statement.sql, params))).await);
        }
        let what = format!("shard {}: applying changes", self.session.name());
        match begun {
            Poll::Ready(done) => done,
            Poll::Pending => begin.await,
        }
        .at(what)?;
        for (execution, statement) in running.into_iter().zip(statements) {
            let what = format!("shard {}: applying {}", self.session.name(), statement.what);
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
                    self.session.name(),
                    change.target.name
                );
                let statement = self.session.prepare(&sql).await.at(what)?;
                self.statements.insert(sql.clone(), statement);
            }
            ready.push((change, self.statements[&sql].clone(), params));
        }
        let mut running: Vec<StatementExecution<'_>> = Vec::with_capacity(ready.len());
        for (_, statement, params) in &ready {
            let execution = self.session.execute_raw(statement, params.iter());
            running.push(sent(Box::pin(execution)).await);
        }
        let mut wrong = None;
        for (execution, (change, ..)) in running.into_iter().zip(&ready) {
            let what = format!(
                "shard {}: applying a change of {}",
                self.session.name(),
                change.target.name
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
                self.session.name(),
                change.verb(),
                change.target.name
            ),
            "something else wrote to the moving rows there; `abort` it and plan it again",
        )
    }
}

/// Hands the statement to the connection, so the order of calls is the order there.
async fn sent(mut execution: StatementExecution<'_>) -> StatementExecution<'_> {
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
