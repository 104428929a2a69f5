//! Builds the objects of the schema that the copy did not need: secondary indexes, constraints, foreign keys, triggers.
//! Each of them is an *entry* of the schema: a statement with a label.
//!
//! Order:
//! 1. Secondary indexes, in several sessions at the same time.
//! 2. Triggers and the other objects, one by one.
//! 3. ANALYZE of the tables. It precedes the first foreign key, so that the query that searches for rows without a
//!    parent has a good plan.
//! 4. Foreign keys: first all are added, then all are validated, several in one transaction.
//!
//! The target stores the statements. Each statement commits together with its mark `done`, so a restarted step
//! continues with the next statement.

mod keys;

use std::collections::VecDeque;
use std::sync::Mutex;

use connect::Connected;
use plans::step::StepKind;
use plans::step::build_indexes::{IndexesBuilt, SchemaCompared};
use plans::table::{TableName, one_of_each_top};
use plans::wire::TableProgress;
use serde_json::{Value, json};
use tokio_postgres::error::SqlState;

use super::{create_target, definitions};
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::schema::compare::compare;
use crate::schema::foreign_keys::{KEY_LABEL, VALIDATION_LABEL};
use crate::shard::guard::cascade;
use crate::shard::{created, epoch, sidecar_schema};

/// Settings of a transaction whose statements must start no parallel workers.
const NO_PARALLEL_WORKERS: &str = "set local max_parallel_maintenance_workers = 0; set local max_parallel_workers_per_gather = 0; ";

/// How the labels of entries begin that create a part of a table. PostgreSQL drops such an object with its table.
const TABLE_PART_LABELS: [&str; 9] = [
    "INDEX ",
    "CONSTRAINT ",
    "CHECK CONSTRAINT ",
    "FK ",
    "TRIGGER ",
    "RULE ",
    "POLICY ",
    "ROW SECURITY ",
    "STATISTICS ",
];

/// Maximum number of attempts for a statement that deadlocks with the apply stream.
const MAX_DEADLOCK_ATTEMPTS: u32 = 5;

struct PendingStatement {
    ordinal: i32,
    /// Whether the statement may run at the same time as others.
    parallel: bool,
    label: String,
    statement: String,
    /// The fail point that is reached after the statement and before its commit.
    fail_point: &'static str,
}

impl PendingStatement {
    /// Returns whether the created object is dropped together with its table.
    fn belongs_to_table(&self) -> bool {
        TABLE_PART_LABELS
            .iter()
            .any(|prefix| self.label.starts_with(prefix))
    }

    /// Waits until the throttle permits the statement to begin, and reports its start.
    async fn wait_and_report(&self, context: &StepContext) {
        context.wait_for_permitted_hours().await;
        context.session.throttle.wait_until_build_may_start().await;
        context.report_message(format!("building {}", self.label));
        context.session.update(|progress| {
            progress.tables = vec![TableProgress {
                table: self.label.clone(),
                phase: "building".to_owned(),
                ..TableProgress::default()
            }];
        });
    }

    /// Returns the SQL of the statement. It starts no parallel workers if the request limits the application's latency.
    fn throttled_sql(&self, context: &StepContext) -> String {
        let settings = match context.session.throttle.has_latency_limit() {
            true => NO_PARALLEL_WORKERS,
            false => "",
        };
        format!("{settings}{}", self.statement)
    }

    /// Returns the kind of a foreign key entry: addition or validation; `None` for other entries. Several entries of
    /// the same kind are built in one transaction.
    fn foreign_key_kind(&self) -> Option<&'static str> {
        let mut kinds = [KEY_LABEL, VALIDATION_LABEL].into_iter();
        kinds.find(|kind| self.label.starts_with(kind))
    }
}

pub(super) async fn run(context: &StepContext) -> Result<Value, StepError> {
    delete_comparison(context).await?;
    create_target::store_later_statements_again(context).await?;
    let mut entries = read_pending(context, "post").await?;
    let total = entries.len();
    let first_key = entries
        .iter()
        .position(|entry| entry.foreign_key_kind().is_some());
    let keys = entries.split_off(first_key.unwrap_or(total));
    build_entries(context, entries).await?;
    analyze(context).await?;
    build_entries(context, keys).await?;
    create_cascade_guards(context).await?;
    definitions::wait_until_followed(context, StepKind::BuildIndexes).await?;
    let compared = compare_schemas(context).await;
    if compared.is_err() {
        // A partition that the application has created meanwhile is a difference, and the migration adopts it.
        definitions::check(context, StepKind::BuildIndexes).await?;
    }
    let built = IndexesBuilt {
        objects: total,
        schema: compared?,
    };
    Ok(json!(built))
}

/// Creates the cascade guards on the target, whose foreign keys exist now. With them, cascades from reference tables
/// skip rows that the shard does not own (ADR 55).
async fn create_cascade_guards(context: &StepContext) -> Result<(), StepError> {
    if !context.may_skip_cascades() {
        return Ok(());
    }
    let target = context.target()?;
    let session = target.session("build").await?;
    let (token, guarded) = (context.token(), context.guarded_rows());
    cascade::create(&session, &token, guarded, true).await
}

/// Compares the complete schemas, if the migration created the tables of the target. Returns `None` for a live target:
/// its moving tables were compared before the copy, and the rest of its schema may differ.
async fn compare_schemas(context: &StepContext) -> Result<Option<SchemaCompared>, StepError> {
    let (source, target) = (context.source()?, context.target()?);
    let target_session = target.session("compare").await?;
    let what = format!(
        "shard {}: reading whether the migration created the tables",
        target.name
    );
    let is_created = created::is_recorded(&target_session, &context.dispatch.migration).await;
    if !is_created.at(&what)? {
        return Ok(None);
    }
    context.report_message("comparing the schemas");
    let source_session = source.session("compare").await?;
    let created = match context.schema_scope() {
        Some(_) => Some(
            created::names(&target_session, &context.dispatch.migration)
                .await
                .at(&what)?,
        ),
        None => None,
    };
    let compared = compare(&source_session, &target_session, created.as_ref()).await?;
    context.report_message(format!(
        "schemas compared: {} objects, none differs",
        compared.objects
    ));
    Ok(Some(compared))
}

/// Deletes the records of an older comparison on the target. Such records exist if the control store was restored from
/// a backup and repeats this step. They must not count, because the stream records dirty keys only after the end of
/// this step.
async fn delete_comparison(context: &StepContext) -> Result<(), StepError> {
    let target = context.target()?;
    let session = target.session("build").await?;
    sidecar_schema::delete_comparison(&session, &context.token()).await
}

/// Builds the entries of a section that are not done.
pub(super) async fn build(context: &StepContext, section: &str) -> Result<(), StepError> {
    build_entries(context, read_pending(context, section).await?).await
}

/// Builds the entries that may be parallel at the same time, and then the others in their order.
async fn build_entries(
    context: &StepContext,
    entries: Vec<PendingStatement>,
) -> Result<(), StepError> {
    let target = context.target()?;
    let session = target.session("build").await?;
    let (parallel, sequential): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|entry| entry.parallel);
    build_in_parallel(context, parallel).await?;
    let mut foreign_keys: Vec<PendingStatement> = Vec::new();
    for entry in sequential {
        if foreign_keys
            .last()
            .is_some_and(|last| last.foreign_key_kind() != entry.foreign_key_kind())
        {
            keys::build_foreign_keys(context, std::mem::take(&mut foreign_keys)).await?;
        }
        if entry.foreign_key_kind().is_some() {
            foreign_keys.push(entry);
        } else {
            build_entry(context, &session, &entry).await?;
        }
    }
    keys::build_foreign_keys(context, foreign_keys).await
}

/// Builds entries in several sessions at the same time.
async fn build_in_parallel(
    context: &StepContext,
    entries: Vec<PendingStatement>,
) -> Result<(), StepError> {
    let queue = Mutex::new(VecDeque::from(entries));
    run_workers(context, || build_until_empty(context, &queue)).await
}

/// Runs as many workers at the same time as the throttle permits streams. If the request limits the application's
/// latency, it runs only one, because the throttle cannot delay a running statement.
async fn run_workers<F>(context: &StepContext, worker: impl Fn() -> F) -> Result<(), StepError>
where
    F: Future<Output = Result<(), StepError>>,
{
    let throttle = &context.session.throttle;
    let count = if throttle.has_latency_limit() {
        1
    } else {
        throttle.max_streams()
    };
    let workers = (0..count).map(|_| worker());
    futures::future::try_join_all(workers).await.map(|_| ())
}

/// Analyzes the moving tables, several at the same time.
async fn analyze(context: &StepContext) -> Result<(), StepError> {
    // ANALYZE of a partitioned table includes its partitions.
    let tables = one_of_each_top(&context.dispatch.tables).into_iter();
    let tables = Mutex::new(tables.map(|table| table.top().clone()).collect());
    run_workers(context, || analyze_until_done(context, &tables)).await
}

/// Analyzes tables until the queue is empty.
async fn analyze_until_done(
    context: &StepContext,
    tables: &Mutex<VecDeque<TableName>>,
) -> Result<(), StepError> {
    let target = context.target()?;
    let session = target.session("analyze").await?;
    loop {
        let Some(table) = take_next(tables)? else {
            return Ok(());
        };
        context.report_message(format!("analyzing {table}"));
        session
            .batch_execute(&format!("analyze {}", table.sql()))
            .await
            .at(format_args!("shard {}: analyzing {table}", target.name))?;
    }
}

/// Reads the entries of a section that are not done.
async fn read_pending(
    context: &StepContext,
    section: &str,
) -> Result<Vec<PendingStatement>, StepError> {
    let target = context.target()?;
    let session = target.session("build").await?;
    let rows = session
        .query(
            "select ordinal, parallel, label, statement from shardwright.schema_entry
             where migration = $1 and section = $2 and not done order by ordinal",
            &[&context.dispatch.migration.0, &section],
        )
        .await
        .at(format_args!(
            "shard {}: reading the entries that are not done",
            target.name
        ))?;
    // The copy builds the primary keys, so it has a fail point of its own.
    let fail_point = match section {
        "key" => "copy.built_key",
        _ => "build_indexes.built_one",
    };
    Ok(rows
        .iter()
        .map(|row| PendingStatement {
            ordinal: row.get(0),
            parallel: row.get(1),
            label: row.get(2),
            statement: row.get(3),
            fail_point,
        })
        .collect())
}

async fn build_until_empty(
    context: &StepContext,
    queue: &Mutex<VecDeque<PendingStatement>>,
) -> Result<(), StepError> {
    let target = context.target()?;
    let session = target.session("build").await?;
    loop {
        if context.cancel.is_cancelled() {
            return Err(StepError::Interrupted);
        }
        let Some(entry) = take_next(queue)? else {
            return Ok(());
        };
        build_entry(context, &session, &entry).await?;
    }
}

/// Takes the next item of a queue that several workers share.
fn take_next<T>(queue: &Mutex<VecDeque<T>>) -> Result<Option<T>, StepError> {
    let mut queue = queue.lock().map_err(|_| StepError::Interrupted)?;
    Ok(queue.pop_front())
}

/// Builds one entry in its own transaction. Repeats this after a deadlock with the change stream.
async fn build_entry(
    context: &StepContext,
    session: &Connected,
    entry: &PendingStatement,
) -> Result<(), StepError> {
    let shard = session.name();
    entry.wait_and_report(context).await;
    let what = format!("shard {shard}: building {}", entry.label);
    let statement = entry.throttled_sql(context);
    for attempt in 1..=MAX_DEADLOCK_ATTEMPTS {
        epoch::begin(session, &context.token()).await?;
        keys::prove_for_foreign_key(context, session, entry.foreign_key_kind()).await?;
        match session.batch_execute(&statement).await {
            Ok(()) => break,
            Err(error)
                if error.code() == Some(&SqlState::T_R_DEADLOCK_DETECTED)
                    && attempt < MAX_DEADLOCK_ATTEMPTS =>
            {
                epoch::rollback(session).await;
            }
            Err(error) => {
                epoch::rollback(session).await;
                return Err(error).at(&what);
            }
        }
    }
    if !entry.belongs_to_table() {
        let recorded = created::record(session, &context.dispatch.migration).await;
        recorded.at(&what)?;
    }
    mark_done(context, session, &[entry.ordinal])
        .await
        .at(&what)?;
    fail_point::hit(entry.fail_point).await?;
    epoch::commit(session, &what).await
}

/// Marks entries as done, in the transaction that built them.
async fn mark_done(
    context: &StepContext,
    session: &Connected,
    ordinals: &[i32],
) -> Result<(), tokio_postgres::Error> {
    let mark = "update shardwright.schema_entry set done = true where migration = $1 and ordinal = any ($2)";
    let marked = session
        .execute(mark, &[&context.dispatch.migration.0, &ordinals])
        .await;
    marked.map(drop)
}
