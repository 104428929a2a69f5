//! Builds everything that the copy left out.
//!
//! Order:
//! - Secondary indexes, concurrently.
//! - Triggers and the rest, one by one.
//! - The tables are analyzed before the first foreign key, so that the search for rows without a parent has a good
//!   plan.
//! - Foreign keys are added and validated, several in one transaction.
//!
//! The statements are stored on the target. Each statement and its mark commit together, so a restart continues with
//! the next one.

mod keys;

use std::collections::VecDeque;
use std::sync::Mutex;

use connect::Connected;
use plans::step::build_indexes::{IndexesBuilt, SchemaCompared};
use plans::table::{TableName, one_of_each_top};
use plans::wire::TableProgress;
use serde_json::{Value, json};
use tokio_postgres::error::SqlState;

use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::schema::compare::compare;
use crate::schema::foreign_keys::{KEY, VALIDATION};
use crate::shard::guard::cascade;
use crate::shard::{created, epoch, sidecar_schema};

/// Settings of a transaction whose statements start no parallel workers.
const NO_PARALLEL_WORKERS: &str = "set local max_parallel_maintenance_workers = 0; set local max_parallel_workers_per_gather = 0; ";

/// The beginnings of labels of entries that create only a part of a table, which is dropped with it.
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

/// How often a statement is tried that deadlocks with the applier.
const DEADLOCK_TRIES: u32 = 5;

struct PendingStatement {
    ordinal: i32,
    parallel: bool,
    label: String,
    statement: String,
    /// The fail point between the statement and its commit.
    point: &'static str,
}

impl PendingStatement {
    /// Returns whether the created object is dropped together with its table.
    fn belongs_to_table(&self) -> bool {
        TABLE_PART_LABELS
            .iter()
            .any(|part| self.label.starts_with(part))
    }

    /// Waits until the statement may begin, and reports that it begins.
    async fn wait_and_report(&self, context: &StepContext) {
        context.wait_until_open().await;
        context.session.throttle.wait_until_worth_starting().await;
        context.report_message(format!("building {}", self.label));
        context.session.update(|progress| {
            progress.tables = vec![TableProgress {
                table: self.label.clone(),
                phase: "building".to_owned(),
                ..TableProgress::default()
            }];
        });
    }

    /// Returns the SQL of the statement; it starts no parallel workers if an application's latency is limited.
    fn throttled_sql(&self, context: &StepContext) -> String {
        let settings = match context.session.throttle.has_latency_limit() {
            true => NO_PARALLEL_WORKERS,
            false => "",
        };
        format!("{settings}{}", self.statement)
    }

    /// Returns the kind of foreign key entry, if this is one; entries of one kind are built together.
    fn foreign_key_kind(&self) -> Option<&'static str> {
        let mut kinds = [KEY, VALIDATION].into_iter();
        kinds.find(|kind| self.label.starts_with(kind))
    }
}

pub(super) async fn run(context: &StepContext) -> Result<Value, StepError> {
    delete_comparison(context).await?;
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
    let built = IndexesBuilt {
        objects: total,
        schema: compare_schemas(context).await?,
    };
    Ok(json!(built))
}

/// Creates the guards of cascades on the target, whose foreign keys exist now.
async fn create_cascade_guards(context: &StepContext) -> Result<(), StepError> {
    if !context.may_skip_cascades() {
        return Ok(());
    }
    let target = context.target()?;
    let session = target.session("build").await?;
    let (token, guarded) = (context.token(), context.guarded_rows());
    cascade::create(&session, &token, guarded, true).await
}

/// Compares the whole schema of a target that the migration created.
///
/// The tables of a live target were compared before the copy; the rest of its schema is not compared.
async fn compare_schemas(context: &StepContext) -> Result<Option<SchemaCompared>, StepError> {
    let (source, target) = (context.source()?, context.target()?);
    let target_session = target.session("compare").await?;
    let what = format!("shard {}: reading what was created", target.name);
    let recorded = created::is_recorded(&target_session, &context.dispatch.migration).await;
    if !recorded.at(what)? {
        return Ok(None);
    }
    context.report_message("comparing the schemas");
    let source_session = source.session("compare").await?;
    let compared = compare(&source_session, &target_session).await?;
    context.report_message(format!(
        "schemas compared: {} objects, none differs",
        compared.objects
    ));
    Ok(Some(compared))
}

/// Deletes an older comparison on the target. Dirty keys are recorded only from the end of this step on; an older
/// comparison, which a restored control store does not know, would wrongly cover changes whose keys were not
/// recorded.
async fn delete_comparison(context: &StepContext) -> Result<(), StepError> {
    let target = context.target()?;
    let session = target.session("build").await?;
    sidecar_schema::delete_comparison(&session, &context.token()).await
}

/// Builds every entry of a section that is not done.
pub(super) async fn build(context: &StepContext, section: &str) -> Result<(), StepError> {
    build_entries(context, read_pending(context, section).await?).await
}

/// Builds indexes concurrently, then the rest in its order.
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
            build_one(context, &session, &entry).await?;
        }
    }
    keys::build_foreign_keys(context, foreign_keys).await
}

/// Builds entries concurrently.
async fn build_in_parallel(
    context: &StepContext,
    entries: Vec<PendingStatement>,
) -> Result<(), StepError> {
    let queue = Mutex::new(VecDeque::from(entries));
    run_workers(context, || build_until_empty(context, &queue)).await
}

/// Runs one worker for each stream, or a single worker if an application's latency is limited, since no statement can
/// be slowed.
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

/// Analyzes the moving tables concurrently.
async fn analyze(context: &StepContext) -> Result<(), StepError> {
    // ANALYZE of a partitioned table includes its leaves.
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
            "shard {}: reading what is to be built",
            target.name
        ))?;
    // The copy builds the primary keys.
    let point = match section {
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
            point,
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
        build_one(context, &session, &entry).await?;
    }
}

/// Takes the next item of a queue that several workers share.
fn take_next<T>(queue: &Mutex<VecDeque<T>>) -> Result<Option<T>, StepError> {
    let mut queue = queue.lock().map_err(|_| StepError::Interrupted)?;
    Ok(queue.pop_front())
}

async fn build_one(
    context: &StepContext,
    session: &Connected,
    entry: &PendingStatement,
) -> Result<(), StepError> {
    let shard = session.name();
    entry.wait_and_report(context).await;
    let what = format!("shard {shard}: building {}", entry.label);
    let statement = entry.throttled_sql(context);
    for attempt in 1..=DEADLOCK_TRIES {
        epoch::begin(session, &context.token()).await?;
        keys::prove_for_foreign_key(context, session, entry.foreign_key_kind()).await?;
        match session.batch_execute(&statement).await {
            Ok(()) => break,
            Err(error)
                if error.code() == Some(&SqlState::T_R_DEADLOCK_DETECTED)
                    && attempt < DEADLOCK_TRIES =>
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
    fail_point::hit(entry.point).await?;
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
