//! Tries a move: its steps in small, on the target itself, in one transaction that is never committed (ADR 56).
//!
//! Order: what the schema has before the copy; a sample of each table's rows; keys; the sample compared; changes of it;
//! the rest of the schema, beside the rows; and, once these are gone, foreign keys and both schemas compared.
//! On a live target the rows go into tables that are made like its own, and the schema is left.
//! Every statement is that of the step itself. The server rolls all of it back, whatever becomes of this process.
//! Absent: what takes more than one session.

mod changes;
mod definitions;
mod failure;
mod rows;
mod sample;
mod savepoint;
mod scratch;

use std::time::Instant;

use connect::Connected;
use plans::request::Mode;
use plans::survey::{SurveyTask, TRIAL_LIMIT, Trial};
use plans::table::MovingTable;

use crate::error::{StepError, WithIntent};
use crate::inspect::findings::Findings;
use crate::postgres::pg_dump::{DumpedSchema, RestoreSection, SchemaEntry, make, make_most};
use crate::schema;
use crate::schema::compare::compare;
use crate::schema::foreign_keys::{KEY, VALIDATION};
use crate::shard::database::Shard;
use crate::shard::identity::{self, TimelineRule};
use crate::shard::{epoch, user_code};
use crate::stream::apply::Executor;
use failure::{TrialEnd, TrialFailure};
pub(super) use failure::{UNQUALIFIED, said};
use sample::RowSample;

/// Trials of one database follow each other: each would wait for names that the other one has taken.
const TURN: &str =
    "select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('shardwright:trial', 0))";
/// How long a trial waits for others, and then for anything else that a session holds.
const PATIENCE: [&str; 2] = [
    "set local lock_timeout = '60s'",
    "set local lock_timeout = '10s'",
];

/// The source's schema for a new target of major version `version`.
///
/// # Errors
/// Those of the step that creates the target, and when it takes longer than a trial may.
pub(super) async fn schema(task: &SurveyTask, version: i32) -> Result<DumpedSchema, StepError> {
    let source = super::super::shard(&task.source)?;
    let version = u32::try_from(version).unwrap_or_default();
    let read = tokio::time::timeout(TRIAL_LIMIT, schema::read(&source, version));
    read.await.unwrap_or_else(|_| Err(late()))
}

fn late() -> StepError {
    let message = format!("it took longer than {} s", TRIAL_LIMIT.as_secs());
    StepError::passing("trial", message)
}

/// Tries the move, and adds what fails to the findings; `None` where it could not be tried to its end.
///
/// `schema`: what a new target gets; none on a live one.
pub(super) async fn run(
    task: &SurveyTask,
    tables: &[MovingTable],
    schema: Option<Result<DumpedSchema, StepError>>,
    findings: &mut Findings,
) -> Result<Option<Trial>, StepError> {
    let started = Instant::now();
    let run = async {
        let mut trial = RunningTrial::open(task, tables).await?;
        let tried = match schema {
            Some(schema) => trial.on_new(schema).await,
            None => trial.on_live().await,
        };
        trial.end().await;
        tried.map(|()| trial)
    };
    let limited = tokio::time::timeout(TRIAL_LIMIT, run).await;
    let trial = match limited.unwrap_or_else(|_| Err(TrialEnd::Trial(late()))) {
        Ok(trial) => trial,
        Err(TrialEnd::Step(failure)) => {
            findings.0.push(failure.into_finding(&task.source).await?);
            return Ok(None);
        }
        Err(TrialEnd::Trial(error)) => {
            findings
                .0
                .push(failure::unfinished(&task.target.name, &error));
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

/// One trial under way.
struct RunningTrial<'a> {
    task: &'a SurveyTask,
    tables: &'a [MovingTable],
    /// As they are called where the sample goes.
    copies: Vec<MovingTable>,
    source: Shard,
    /// Reads the source's rows, in one snapshot.
    here: Connected,
    /// Has the session on the target, and its transaction.
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
        let (here, there) =
            tokio::try_join!(source.lookup_session("trial"), target.session("trial"),)?;
        let begin =
            "begin isolation level repeatable read, read only; set local statement_timeout = '30s'";
        let begun = here.batch_execute(begin).await;
        begun.at(format_args!("shard {}: beginning a trial", source.name))?;
        let executor = Executor::new(there).await?;
        let proof = identity::proof_sql(TimelineRule::Same);
        let begin = format!("begin; {}; {TURN}; {}; {proof}", PATIENCE[0], PATIENCE[1]);
        let begun = executor.session().batch_execute(&begin).await;
        begun.at(format_args!("shard {}: beginning a trial", target.name))?;
        Ok(Self {
            task,
            tables,
            copies: tables.to_vec(),
            source,
            here,
            executor,
            samples: Vec::new(),
            objects: 0,
            failures: Vec::new(),
        })
    }

    fn there(&self) -> &Connected {
        self.executor.session()
    }

    fn target(&self) -> &'a str {
        self.task.target.name.as_str()
    }

    /// What nothing can follow when it fails ends the trial; all else is noted, and the trial goes on.
    async fn on_new(&mut self, schema: Result<DumpedSchema, StepError>) -> Result<(), TrialEnd> {
        self.define_on_source().await?;
        let entries = schema?.entries;
        let refers = |label: &str| [KEY, VALIDATION].iter().any(|kind| label.starts_with(kind));
        let (keys, entries): (Vec<SchemaEntry>, Vec<SchemaEntry>) =
            entries.into_iter().partition(|entry| refers(&entry.label));
        self.objects = entries.len() + keys.len();
        let of = |section: RestoreSection| {
            let entries = entries.iter();
            let entries = entries.filter(move |entry| entry.section == section);
            entries.collect::<Vec<_>>()
        };
        self.before_the_copy(&of(RestoreSection::Pre)).await?;
        self.as_replica(true).await?;
        self.copy().await?;
        self.as_replica(false).await?;
        self.build(&of(RestoreSection::Key)).await?;
        self.use_rows().await?;
        self.build(&of(RestoreSection::Post)).await?;
        self.define_on_target().await?;
        self.empty().await?;
        self.build(&keys.iter().collect::<Vec<_>>()).await?;
        if !self.failures.is_empty() {
            return Ok(());
        }
        self.compare_schemas().await
    }

    async fn on_live(&mut self) -> Result<(), TrialEnd> {
        self.objects = self.tables.len();
        self.define_on_source().await?;
        self.define_on_target().await?;
        self.make_like().await?;
        self.as_replica(true).await?;
        self.copy().await?;
        self.use_rows().await
    }

    /// Compares and changes the sample; rows are found by their keys, and changed as the comparison finds them.
    async fn use_rows(&mut self) -> Result<(), TrialEnd> {
        if !self.failures.is_empty() {
            return Ok(());
        }
        self.as_replica(true).await?;
        self.compare_rows().await?;
        if self.failures.is_empty() && self.task.mode == Mode::Online {
            self.change_rows().await?;
        }
        Ok(self.as_replica(false).await?)
    }

    /// Rolls everything back; where the session has ended, the server has done so.
    async fn end(&self) {
        tokio::join!(epoch::rollback(self.there()), epoch::rollback(&self.here));
    }

    /// Ordinary triggers and foreign keys do not fire, as in the sessions that copy and apply; or do again.
    async fn as_replica(&self, replica: bool) -> Result<(), StepError> {
        let role = if replica { "replica" } else { "origin" };
        self.set(&format!("session_replication_role = {role}"))
            .await
    }

    async fn set(&self, setting: &str) -> Result<(), StepError> {
        let set = format!("set local {setting}");
        let set = self.there().batch_execute(&set).await;
        set.at(format_args!("shard {}: setting up a trial", self.target()))
    }

    /// What follows an entry that fails would mostly fail for that alone.
    async fn before_the_copy(&mut self, entries: &[&SchemaEntry]) -> Result<(), TrialEnd> {
        // As in the step: function bodies may refer to what comes later.
        self.set("check_function_bodies = off").await?;
        let made = make(self.there(), entries).await;
        made.map_err(|(entry, error)| failure::of_entry(self.target(), entry, &error))?;
        self.set("check_function_bodies = on").await?;
        Ok(user_code::prove(self.there(), self.tables).await?)
    }

    /// Makes entries; those that fail are noted.
    async fn build(&mut self, entries: &[&SchemaEntry]) -> Result<(), TrialEnd> {
        let failed = make_most(self.there(), entries).await;
        let failed = failed.at(format_args!("shard {}: trying the schema", self.target()))?;
        for (entry, error) in failed {
            self.note(failure::of_entry(self.target(), entry, &error))?;
        }
        Ok(())
    }

    /// Foreign keys are added and validated without rows: a sample lacks most of the rows that others refer to, and a key of
    /// a partitioned table looks at them when it is added.
    async fn empty(&self) -> Result<(), StepError> {
        self.as_replica(true).await?;
        let full = self.copies.iter().zip(&self.samples);
        let full = full.filter(|(_, sample)| sample.rows > 0);
        let deletes: Vec<String> = full
            .map(|(copy, _)| format!("delete from only {}", copy.table.sql()))
            .collect();
        let emptied = self.there().batch_execute(&deletes.join("; ")).await;
        emptied.at(format_args!("shard {}: emptying a trial", self.target()))?;
        self.as_replica(false).await
    }

    async fn compare_schemas(&mut self) -> Result<(), TrialEnd> {
        match compare(&self.here, self.there()).await {
            Ok(_) => Ok(()),
            Err(error) => Err(failure::of_schemas(self.target(), error)),
        }
    }
}

/// The places of the sample of a table all of whose rows move.
#[cfg(test)]
pub(crate) async fn places(
    client: &Connected,
    table: &MovingTable,
) -> Result<Vec<String>, StepError> {
    let tables = std::slice::from_ref(table);
    let sizes = sample::sizes(client, tables).await?;
    sample::places(client, table, &sizes[0], "true").await
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
