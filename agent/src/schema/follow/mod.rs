//! Follows changes of the moving tables' definitions (`ddl: follow`): the agent makes on the other shard what the
//! application did on the owner of the keys.
//!
//! Order:
//! 1. Read the definitions on the owner, and then its position in the log. Everything that was written before the change
//!    has a lower position.
//! 2. In one transaction on the other shard: execute the statements that later captured changes need, and record the
//!    definitions.
//! 3. When the stream has applied everything up to the position: execute the statements that forbid rows, and build
//!    indexes. Earlier they would refuse captured changes that are older than the change.
//!
//! The values of a new column that are computed for each row are not in the stream. The copied rows of its table get them
//! when the copy compares these rows again; 3. waits for this.

mod definition;
mod difference;
mod lacking_values;
mod record;
pub(crate) mod relation;
pub(crate) mod rewritten;

use std::collections::{BTreeMap, BTreeSet};

use connect::Connected;
use plans::failure::StepCode;
use plans::names::Direction;
use plans::table::{MovingTable, TableName};

use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;
use crate::shard::epoch::{self, EpochToken};
use crate::shard::give_way::{NO_WAIT_LIMIT, Pauses, WAIT_LIMIT};
use crate::shard::register;
use crate::shard::user_code;
use definition::TableDefinition;
use difference::{ComparedDefinitions, Due, FollowStatement, difference};
pub(crate) use lacking_values::compare_rows;
use record::FollowRecord;
pub(crate) use record::RecordedChange;

/// How long a statement waits for a lock on the other shard. Sessions of the application queue behind it meanwhile.
/// The time is below `deadlock_timeout`, so that the agent is never the reason why PostgreSQL cancels one of them.
const LOCK_TIMEOUT: &str = "set local lock_timeout = '300ms'";
/// Statements can make others necessary: a definition names a column that was renamed.
const MAX_PASSES: usize = 8;

/// A request to follow the changes of the owner's tables.
pub(crate) struct FollowRequest<'a> {
    /// A session on the owner of the keys.
    pub(crate) upstream: &'a Connected,
    /// A session on the other shard.
    pub(crate) downstream: &'a Connected,
    /// The proof for writes on the other shard.
    pub(crate) token: &'a EpochToken,
    /// The direction in which changes of rows reach the other shard.
    pub(crate) direction: Direction,
    pub(crate) tables: &'a [MovingTable],
    /// True while the other shard has no indexes and constraints yet.
    pub(crate) columns_only: bool,
    /// The position up to which the stream has applied changes; `None` if it does not run.
    pub(crate) applied: Option<Lsn>,
    /// Whether indexes may be built now.
    pub(crate) builds_indexes: bool,
    /// Whether the copy can compare rows again.
    pub(crate) may_compare_rows: bool,
}

/// What the agent did about changes of definitions.
#[derive(Debug, Default)]
pub(crate) struct FollowedDefinitions {
    /// The statements that were executed, and those that are due later.
    pub(crate) statements: Vec<String>,
    /// All changes since the capture began, with those of this call.
    pub(crate) changes: Vec<RecordedChange>,
    /// The number of statements that are due later.
    pub(crate) due_later: usize,
    /// Whether copied rows lack values, so that the copy has to compare them again.
    pub(crate) lacks_values: bool,
    /// For each table, present names of columns by their earlier names.
    pub(crate) renamed_columns: BTreeMap<TableName, BTreeMap<String, String>>,
}

/// Records the owner's definitions on the other shard, unless it has a record.
pub(crate) async fn begin(request: &FollowRequest<'_>) -> Result<(), StepError> {
    let migration = &request.token.migration;
    if record::read(request.downstream, migration).await?.is_some() {
        return Ok(());
    }
    let first = FollowRecord {
        definitions: definition::read_settled(request.upstream, request.tables).await?,
        position: current_position(request.upstream).await?,
        changes: Vec::new(),
    };
    let sql = record::write_sql(migration, &first);
    let recorded = epoch::execute(request.downstream, request.token, &sql).await;
    recorded.at(format_args!(
        "shard {}: recording the definitions of tables",
        request.downstream.name()
    ))
}

/// Makes on the other shard the changes that the owner's tables have. Returns `None` if the other shard has no record.
///
/// # Errors
/// `schema.drift` if the agent cannot follow a change; the errors of the servers.
pub(crate) async fn follow(
    request: &FollowRequest<'_>,
) -> Result<Option<FollowedDefinitions>, StepError> {
    let migration = &request.token.migration;
    let Some(recorded) = record::read(request.downstream, migration).await? else {
        return Ok(None);
    };
    let upstream = definition::read_settled(request.upstream, request.tables).await?;
    let position = current_position(request.upstream).await?;
    let definitions = record::with_earlier_names(&recorded.definitions, &upstream);
    let mut followed = FollowedDefinitions {
        renamed_columns: renamed_columns(&definitions),
        ..FollowedDefinitions::default()
    };
    let is_unchanged = definitions == recorded.definitions;
    let mut next = FollowRecord {
        position: if is_unchanged {
            recorded.position
        } else {
            position
        },
        definitions,
        changes: recorded.changes.clone(),
    };
    request
        .execute_all(recorded, &mut next, &mut followed)
        .await?;
    followed.changes = next.changes;
    followed.lacks_values = next.definitions.iter().any(|table| table.lacks_values);
    Ok(Some(followed))
}

impl FollowRequest<'_> {
    /// Executes what is due. A statement can make another one due: a constraint is validated after it was added.
    async fn execute_all(
        &self,
        mut recorded: FollowRecord,
        next: &mut FollowRecord,
        followed: &mut FollowedDefinitions,
    ) -> Result<(), StepError> {
        let is_applied = self.applied.is_some_and(|applied| applied >= next.position);
        for _ in 0..MAX_PASSES {
            let later = self.execute_at_once(&recorded, next, followed).await?;
            let is_applied = is_applied && !self.awaits_values(next).await?;
            recorded = next.clone();
            followed.due_later = 0;
            let mut has_executed = false;
            for statement in later {
                tracing::debug!(due = ?statement.due, "change to follow: {}", statement.sql);
                if is_applied && (statement.due != Due::Concurrently || self.builds_indexes) {
                    self.execute_later(&statement).await?;
                    has_executed = true;
                } else {
                    followed.due_later += 1;
                }
                followed.statements.push(statement.sql);
            }
            if !has_executed {
                break;
            }
        }
        Ok(())
    }

    /// Executes the statements that are due at once, and records the definitions, in one transaction. Returns the
    /// statements that are due later.
    async fn execute_at_once(
        &self,
        recorded: &FollowRecord,
        next: &mut FollowRecord,
        followed: &mut FollowedDefinitions,
    ) -> Result<Vec<FollowStatement>, StepError> {
        let mut pauses = Pauses::default();
        loop {
            let downstream = definition::read(self.downstream, self.tables).await?;
            let statements = self.difference(recorded, next, &downstream)?;
            let is_due = |statement: &FollowStatement| statement.due == Due::Now;
            if !statements.iter().any(is_due) && recorded.definitions == next.definitions {
                return Ok(statements);
            }
            match self.try_execute_at_once(recorded, next, statements).await {
                Ok((executed, later)) => {
                    followed.statements.extend(executed);
                    return Ok(later);
                }
                Err(error) => {
                    epoch::rollback(self.downstream).await;
                    if !pauses.allow_retry(error.sqlstate()).await {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Returns the statements that it has executed, and those that are due later.
    async fn try_execute_at_once(
        &self,
        recorded: &FollowRecord,
        next: &mut FollowRecord,
        statements: Vec<FollowStatement>,
    ) -> Result<(Vec<String>, Vec<FollowStatement>), StepError> {
        let what = format!(
            "shard {}: following changes of definitions",
            self.downstream.name()
        );
        let now = statements
            .iter()
            .filter(|statement| statement.due == Due::Now);
        self.begin_locked(now, "access exclusive").await?;
        let (executed, later) = self.execute_passes(recorded, next, statements).await?;
        let lacking = executed.iter().filter(|statement| statement.lacks_values);
        let lacking: Vec<&TableName> = lacking.filter_map(|s| s.table.as_ref()).collect();
        for definition in &mut next.definitions {
            definition.lacks_values |= lacking.contains(&&definition.table);
        }
        let all = executed.iter().chain(&later);
        next.add_changes(all.map(|statement| &statement.sql));
        let sql = record::write_sql(&self.token.migration, next);
        self.downstream.batch_execute(&sql).await.at(&what)?;
        fail_point::hit("follow.executed").await?;
        epoch::commit(self.downstream, &what).await?;
        let executed = executed.into_iter().map(|statement| statement.sql);
        Ok((executed.collect(), later))
    }

    /// Begins a transaction under I7 that proves that the shard is the one that does not own the keys, and locks the
    /// tables of the statements. It also proves that neither these tables nor their present constraints run untrusted
    /// code when the statements read or rewrite rows (ADR 49).
    async fn begin_locked(
        &self,
        statements: impl Iterator<Item = &FollowStatement>,
        mode: &str,
    ) -> Result<(), StepError> {
        let names: BTreeSet<&TableName> = statements.filter_map(|s| s.table.as_ref()).collect();
        let what = format!("shard {}: locking tables", self.downstream.name());
        epoch::begin_with_statements(self.downstream, self.token, LOCK_TIMEOUT).await?;
        // A statement drops columns there.
        register::prove_not_owner(self.downstream, self.token, self.direction).await?;
        if names.is_empty() {
            return Ok(());
        }
        // All locks in one statement: the agent gives way to sessions of the application.
        let quoted: Vec<String> = names.iter().map(|name| name.sql()).collect();
        let lock = format!(
            "{WAIT_LIMIT}; lock table {} in {mode} mode; {NO_WAIT_LIMIT}",
            quoted.join(", ")
        );
        self.downstream.batch_execute(&lock).await.at(&what)?;
        let tables = self.tables.iter();
        let locked =
            tables.filter(|table| names.contains(&table.table) || names.contains(table.top()));
        let locked: Vec<MovingTable> = locked.cloned().collect();
        user_code::prove(self.downstream, &locked).await
    }

    /// Executes the statements that are due at once, until none is. Returns them, and those that are due later.
    async fn execute_passes(
        &self,
        recorded: &FollowRecord,
        next: &FollowRecord,
        mut statements: Vec<FollowStatement>,
    ) -> Result<(Vec<FollowStatement>, Vec<FollowStatement>), StepError> {
        let mut executed = Vec::new();
        for _ in 0..MAX_PASSES {
            let (now, later): (Vec<_>, Vec<_>) = statements
                .into_iter()
                .partition(|statement| statement.due == Due::Now);
            if now.is_empty() {
                return Ok((executed, later));
            }
            for statement in now {
                self.downstream
                    .batch_execute(&statement.sql)
                    .await
                    .at(self.intent(&statement.sql))?;
                executed.push(statement);
            }
            let downstream = definition::read(self.downstream, self.tables).await?;
            statements = self.difference(recorded, next, &downstream)?;
        }
        let rest = statements.into_iter().map(|statement| statement.sql);
        Err(self.refused(&rest.collect::<Vec<_>>()))
    }

    /// Executes a statement for which everything that was written before the change is applied.
    async fn execute_later(&self, statement: &FollowStatement) -> Result<(), StepError> {
        if statement.due != Due::Concurrently {
            let mut pauses = Pauses::default();
            while let Err(error) = self.try_execute_later(statement).await {
                epoch::rollback(self.downstream).await;
                if !pauses.allow_retry(error.sqlstate()).await {
                    return Err(error);
                }
            }
            return Ok(());
        }
        // CREATE INDEX CONCURRENTLY is not possible in a transaction that proves the epoch. An index writes no row (I7).
        // PostgreSQL builds it with the privileges of the table's owner.
        self.begin_locked(std::iter::empty(), "").await?;
        epoch::rollback(self.downstream).await;
        let built = self.downstream.batch_execute(&statement.sql).await;
        built.at(self.intent(&statement.sql))
    }

    async fn try_execute_later(&self, statement: &FollowStatement) -> Result<(), StepError> {
        let what = self.intent(&statement.sql);
        let mode = match statement.due {
            // It can take long, and excludes no reader and no writer.
            Due::Validated => "share update exclusive",
            Due::Now | Due::Applied | Due::Concurrently => "access exclusive",
        };
        self.begin_locked(std::iter::once(statement), mode).await?;
        self.downstream
            .batch_execute(&statement.sql)
            .await
            .at(&what)?;
        epoch::commit(self.downstream, &what).await
    }

    fn difference(
        &self,
        recorded: &FollowRecord,
        next: &FollowRecord,
        downstream: &[TableDefinition],
    ) -> Result<Vec<FollowStatement>, StepError> {
        let compared = ComparedDefinitions {
            recorded: &recorded.definitions,
            upstream: &next.definitions,
            downstream,
            may_compare_rows: self.may_compare_rows,
        };
        let found = difference(self.tables, &compared, self.columns_only);
        found.map_err(|refused| self.refused(&refused))
    }

    fn refused(&self, lines: &[String]) -> StepError {
        StepError::refused(
            StepCode::SchemaDrift,
            format!(
                "shard {}: the agent cannot follow these changes of tables on shard {}:\n{}",
                self.downstream.name(),
                self.upstream.name(),
                lines.join("\n")
            ),
            "make the tables equal on both shards, then `resume`; or `abort` the migration",
        )
    }

    fn intent(&self, sql: &str) -> String {
        format!(
            "shard {}: following a change: {sql}",
            self.downstream.name()
        )
    }
}

fn renamed_columns(
    definitions: &[TableDefinition],
) -> BTreeMap<TableName, BTreeMap<String, String>> {
    let tables = definitions.iter();
    let renamed = tables.filter(|definition| !definition.renamed_columns.is_empty());
    renamed
        .map(|definition| (definition.table.clone(), definition.renamed_columns.clone()))
        .collect()
}

/// Returns a position after everything that was written before a change whose definition was read. The lock of the
/// change had excluded the writers of the table: their commits are in the log before the change's own. So no marker is
/// needed, and no safety rests on the position: too early, a statement fails, or a captured row does.
async fn current_position(client: &Connected) -> Result<Lsn, StepError> {
    let row = client
        .query_one(
            "select (pg_catalog.pg_current_wal_insert_lsn() - '0/0')::int8",
            &[],
        )
        .await
        .at(format_args!(
            "shard {}: reading its position",
            client.name()
        ))?;
    Ok(Lsn(u64::try_from(row.get::<_, i64>(0)).unwrap_or(0)))
}
