//! Tries a move: executes its steps with a few rows, on the target itself, in one transaction that is never committed
//! (ADR 56).
//!
//! On a new target the trial creates the part of the schema that the move creates before the copy. It copies a sample
//! of each table's rows, creates the keys, compares the sample, applies changes to it, and creates the rest of the
//! schema. It then deletes the rows, creates the foreign keys, and compares both schemas.
//! On a live target the trial creates tables like those of the target and copies the sample into them. It does not try
//! the schema.
//! The trial executes the same statements as the steps. If the agent dies, the server rolls the transaction back.
//! The trial does not try anything that needs several sessions.

mod changes;
mod definitions;
mod failure;
mod rows;
mod sample;
mod savepoint;
mod scratch;

use std::time::Instant;

use connect::Connected;
use plans::failure::StepCode;
use plans::request::Mode;
use plans::survey::{SurveyTask, TRIAL_LIMIT, Trial};
use plans::table::MovingTable;

use crate::error::{StepError, WithIntent};
use crate::inspect::findings::Findings;
use crate::postgres::pg_dump::{RestoreSection, SchemaEntry, restore_all, restore_possible};
use crate::schema::compare::compare;
use crate::schema::foreign_keys::{KEY_LABEL, VALIDATION_LABEL};
use crate::schema::scope::{CreatedNames, SchemaScope};
use crate::schema::{self, MovedSchema};
use crate::shard::database::Shard;
use crate::shard::identity::{self, TimelineRule};
use crate::shard::{epoch, user_code};
use crate::stream::apply::Executor;
use failure::{TrialEnd, TrialFailure};
pub(super) use failure::{UNQUALIFIED_REMEDY, server_message};
use sample::RowSample;

/// The lock that lets only one trial at a time run in a database. Otherwise each would wait for object names that the
/// other one has created.
const TRIAL_LOCK: &str =
    "select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('shardwright:trial', 0))";
/// The lock timeouts of a trial: while it waits for another trial, and afterwards.
const LOCK_TIMEOUTS: [&str; 2] = [
    "set local lock_timeout = '60s'",
    "set local lock_timeout = '10s'",
];

/// Reads the part of the source's schema that the move creates on a new target.
///
/// # Errors
/// The errors of the step that creates the target; a timeout if the dump exceeds the limit of a trial.
pub(super) async fn schema(
    task: &SurveyTask,
    tables: &[MovingTable],
    target: &Connected,
) -> Result<MovedSchema, StepError> {
    let source = super::super::shard(&task.source)?;
    let settings = &task.settings;
    let (reference, ignored) = (settings.reference_tables(), settings.ignored_tables());
    let scope = SchemaScope::of(tables, &reference, &ignored);
    let read = schema::read_for_move(&source, target, scope.as_ref(), None);
    let read = tokio::time::timeout(TRIAL_LIMIT, read);
    read.await.unwrap_or_else(|_| Err(timeout_error()))
}

fn timeout_error() -> StepError {
    let message = format!("it took longer than {} s", TRIAL_LIMIT.as_secs());
    StepError::passing(StepCode::Trial, message)
}

/// Tries the move, and adds every failure to the findings. Returns `None` if the trial could not complete.
///
/// `schema` is the schema of a new target; `None` on a live target.
pub(super) async fn run(
    task: &SurveyTask,
    tables: &[MovingTable],
    schema: Option<Result<MovedSchema, StepError>>,
    findings: &mut Findings,
) -> Result<Option<Trial>, StepError> {
    let started = Instant::now();
    let run = async {
        let mut trial = RunningTrial::open(task, tables).await?;
        let result = match schema {
            Some(schema) => trial.try_new_target(schema).await,
            None => trial.try_live_target().await,
        };
        trial.roll_back_all().await;
        result.map(|()| trial)
    };
    let outcome = tokio::time::timeout(TRIAL_LIMIT, run).await;
    let trial = match outcome.unwrap_or_else(|_| Err(TrialEnd::Trial(timeout_error()))) {
        Ok(trial) => trial,
        Err(TrialEnd::Step(failure)) => {
            findings.0.push(failure.into_finding(&task.source).await?);
            return Ok(None);
        }
        Err(TrialEnd::Trial(error)) => {
            findings
                .0
                .push(failure::unfinished_finding(&task.target.name, &error));
            return Ok(None);
        }
    };
    for failure in trial.failures {
        findings.0.push(failure.into_finding(&task.source).await?);
    }
    let empty = trial.samples.iter().filter(|sample| sample.rows == 0);
    Ok(Some(Trial {
        objects: count(trial.objects),
        tables: count(tables.len()),
        without_rows: count(empty.count()),
        rows: trial.samples.iter().map(|sample| sample.rows).sum(),
        bytes: trial.samples.iter().map(|sample| sample.bytes).sum(),
        milliseconds: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    }))
}

/// A trial in progress.
struct RunningTrial<'a> {
    task: &'a SurveyTask,
    tables: &'a [MovingTable],
    /// The tables into which the sample is copied.
    copies: Vec<MovingTable>,
    source: Shard,
    /// The session that reads the rows of the source, in one snapshot.
    source_session: Connected,
    /// Has the session on the target, with the transaction of the trial.
    executor: Executor,
    samples: Vec<RowSample>,
    objects: usize,
    failures: Vec<TrialFailure>,
}

impl<'a> RunningTrial<'a> {
    async fn open(task: &'a SurveyTask, tables: &'a [MovingTable]) -> Result<Self, StepError> {
        let (source, target) = (
            super::super::shard(&task.source)?,
            super::super::shard(&task.target)?,
        );
        let (source_session, target_session) =
            tokio::try_join!(source.lookup_session("trial"), target.session("trial"),)?;
        let begin =
            "begin isolation level repeatable read, read only; set local statement_timeout = '30s'";
        let result = source_session.batch_execute(begin).await;
        result.at(format_args!("shard {}: beginning a trial", source.name))?;
        let executor = Executor::new(target_session).await?;
        let proof = identity::proof_sql(TimelineRule::Same);
        let begin = format!(
            "begin; {}; {TRIAL_LOCK}; {}; {proof}",
            LOCK_TIMEOUTS[0], LOCK_TIMEOUTS[1]
        );
        let result = executor.session().batch_execute(&begin).await;
        result.at(format_args!("shard {}: beginning a trial", target.name))?;
        Ok(Self {
            task,
            tables,
            copies: tables.to_vec(),
            source,
            source_session,
            executor,
            samples: Vec::new(),
            objects: 0,
            failures: Vec::new(),
        })
    }

    fn target_session(&self) -> &Connected {
        self.executor.session()
    }

    fn target_name(&self) -> &'a str {
        self.task.target.name.as_str()
    }

    /// Tries the move to a new target. A failure that prevents all later parts ends the trial; any other failure is
    /// recorded, and the trial continues.
    async fn try_new_target(
        &mut self,
        schema: Result<MovedSchema, StepError>,
    ) -> Result<(), TrialEnd> {
        self.probe_event_triggers_on_source().await?;
        let MovedSchema { schema, created } = schema?;
        let entries = schema.entries;
        let is_foreign_key = |label: &str| {
            [KEY_LABEL, VALIDATION_LABEL]
                .iter()
                .any(|kind| label.starts_with(kind))
        };
        let (keys, entries): (Vec<SchemaEntry>, Vec<SchemaEntry>) = entries
            .into_iter()
            .partition(|entry| is_foreign_key(&entry.label));
        self.objects = entries.len() + keys.len();
        let entries_in = |section: RestoreSection| {
            let entries = entries.iter();
            let entries = entries.filter(move |entry| entry.section == section);
            entries.collect::<Vec<_>>()
        };
        self.create_before_copy(&entries_in(RestoreSection::Pre))
            .await?;
        self.set_replica_role(true).await?;
        self.copy_samples().await?;
        self.set_replica_role(false).await?;
        self.create_entries(&entries_in(RestoreSection::Key))
            .await?;
        self.compare_and_change_rows().await?;
        self.create_entries(&entries_in(RestoreSection::Post))
            .await?;
        self.probe_event_triggers_on_target().await?;
        self.delete_sample_rows().await?;
        self.create_entries(&keys.iter().collect::<Vec<_>>())
            .await?;
        if !self.failures.is_empty() {
            return Ok(());
        }
        self.compare_schemas(created.as_ref()).await
    }

    async fn try_live_target(&mut self) -> Result<(), TrialEnd> {
        self.objects = self.tables.len();
        self.probe_event_triggers_on_source().await?;
        self.probe_event_triggers_on_target().await?;
        self.create_scratch_tables().await?;
        self.set_replica_role(true).await?;
        self.copy_samples().await?;
        self.compare_and_change_rows().await
    }

    /// Compares and changes the sample. The comparison finds rows by their keys, as the step `verify` does.
    async fn compare_and_change_rows(&mut self) -> Result<(), TrialEnd> {
        if !self.failures.is_empty() {
            return Ok(());
        }
        self.set_replica_role(true).await?;
        self.compare_rows().await?;
        if self.failures.is_empty() && self.task.mode == Mode::Online {
            self.change_rows().await?;
        }
        Ok(self.set_replica_role(false).await?)
    }

    /// Rolls both transactions back. If a session has ended, the server has already done so.
    async fn roll_back_all(&self) {
        tokio::join!(
            epoch::rollback(self.target_session()),
            epoch::rollback(&self.source_session)
        );
    }

    /// Switches ordinary triggers and foreign keys off, as in the sessions that copy and apply, or on again.
    async fn set_replica_role(&self, replica: bool) -> Result<(), StepError> {
        let role = if replica { "replica" } else { "origin" };
        self.set_local(&format!("session_replication_role = {role}"))
            .await
    }

    async fn set_local(&self, setting: &str) -> Result<(), StepError> {
        let sql = format!("set local {setting}");
        let result = self.target_session().batch_execute(&sql).await;
        result.at(format_args!(
            "shard {}: setting up a trial",
            self.target_name()
        ))
    }

    /// Creates the part of the schema before the copy. Ends at the first failure, because most later failures would
    /// only follow from it.
    async fn create_before_copy(&mut self, entries: &[&SchemaEntry]) -> Result<(), TrialEnd> {
        // As in the step: the body of a function may reference objects that are created later.
        self.set_local("check_function_bodies = off").await?;
        let result = restore_all(self.target_session(), entries).await;
        result
            .map_err(|(entry, error)| failure::entry_failure(self.target_name(), entry, &error))?;
        self.set_local("check_function_bodies = on").await?;
        Ok(user_code::prove(self.target_session(), self.tables).await?)
    }

    /// Creates schema entries, and records those that fail.
    async fn create_entries(&mut self, entries: &[&SchemaEntry]) -> Result<(), TrialEnd> {
        let failed = restore_possible(self.target_session(), entries).await;
        let failed = failed.at(format_args!(
            "shard {}: trying the schema",
            self.target_name()
        ))?;
        for (entry, error) in failed {
            self.add_failure(failure::entry_failure(self.target_name(), entry, &error))?;
        }
        Ok(())
    }

    /// Deletes the sample before the foreign keys are created and validated: the sample lacks most of the referenced
    /// rows, and a foreign key of a partitioned table is checked when it is added.
    async fn delete_sample_rows(&self) -> Result<(), StepError> {
        self.set_replica_role(true).await?;
        let filled = self.copies.iter().zip(&self.samples);
        let filled = filled.filter(|(_, sample)| sample.rows > 0);
        let deletes: Vec<String> = filled
            .map(|(copy, _)| format!("delete from only {}", copy.table.sql()))
            .collect();
        let result = self
            .target_session()
            .batch_execute(&deletes.join("; "))
            .await;
        result.at(format_args!(
            "shard {}: emptying a trial",
            self.target_name()
        ))?;
        self.set_replica_role(false).await
    }

    async fn compare_schemas(&mut self, created: Option<&CreatedNames>) -> Result<(), TrialEnd> {
        match compare(&self.source_session, self.target_session(), created).await {
            Ok(_) => Ok(()),
            Err(error) => Err(failure::schema_difference(self.target_name(), error)),
        }
    }
}

/// Returns the row ids (`ctid`) of the sample of a table, all of whose rows move.
#[cfg(test)]
pub(crate) async fn sample_row_ids(
    client: &Connected,
    table: &MovingTable,
) -> Result<Vec<String>, StepError> {
    let tables = std::slice::from_ref(table);
    let sizes = sample::sizes(client, tables).await?;
    sample::row_ids(client, table, &sizes[0], "true").await
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
