//! Builds what the copy left out: secondary indexes side by side, then triggers and the rest one by one, the tables
//! analyzed before the first foreign key, so that rows without a parent are searched for by a good plan; foreign keys
//! that follow each other are added, and validated, some in one transaction.
//!
//! The statements lie on the target; each is done together with its mark, so a restart goes on.

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

/// In a transaction: no processes but the session's own.
const ALONE: &str = "set local max_parallel_maintenance_workers = 0; set local max_parallel_workers_per_gather = 0; ";

/// What labels of entries begin with that make nothing but a part of a table, which goes with it.
const PARTS: [&str; 9] = [
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

/// A statement that meets the applier in a deadlock is tried again this often.
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
    /// Whether what it makes goes with its table.
    fn lies_on_a_table(&self) -> bool {
        PARTS.iter().any(|part| self.label.starts_with(part))
    }

    /// Waits until it may begin, and says that it does.
    async fn announce(&self, context: &StepContext) {
        context.wait_until_open().await;
        context.session.throttle.until_worth_beginning().await;
        context.report_message(format!("building {}", self.label));
        context.session.update(|progress| {
            progress.tables = vec![TableProgress {
                table: self.label.clone(),
                phase: "building".to_owned(),
                ..TableProgress::default()
            }];
        });
    }

    /// The statement, which starts no processes where an application's latency is held.
    fn paced(&self, context: &StepContext) -> String {
        let alone = match context.session.throttle.is_gentle() {
            true => ALONE,
            false => "",
        };
        format!("{alone}{}", self.statement)
    }

    /// What entries that are built beside it have in common.
    fn kind(&self) -> Option<&'static str> {
        let mut kinds = [KEY, VALIDATION].into_iter();
        kinds.find(|kind| self.label.starts_with(kind))
    }
}

pub(super) async fn run(context: &StepContext) -> Result<Value, StepError> {
    forget_comparison(context).await?;
    let mut entries = pending(context, "post").await?;
    let total = entries.len();
    let first_key = entries.iter().position(|entry| entry.kind().is_some());
    let keys = entries.split_off(first_key.unwrap_or(total));
    all(context, entries).await?;
    analyze(context).await?;
    all(context, keys).await?;
    guard_cascades(context).await?;
    let built = IndexesBuilt {
        objects: total,
        schema: compare_schemas(context).await?,
    };
    Ok(json!(built))
}

/// The target's foreign keys are there now.
async fn guard_cascades(context: &StepContext) -> Result<(), StepError> {
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
/// Tables that a live target had were compared before the copy; the rest of its schema is its own.
async fn compare_schemas(context: &StepContext) -> Result<Option<SchemaCompared>, StepError> {
    let (source, target) = (context.source()?, context.target()?);
    let there = target.session("compare").await?;
    let what = format!("shard {}: reading what was created", target.name);
    let recorded = created::is_recorded(&there, &context.dispatch.migration).await;
    if !recorded.at(what)? {
        return Ok(None);
    }
    context.report_message("comparing the schemas");
    let here = source.session("compare").await?;
    let compared = compare(&here, &there).await?;
    context.report_message(format!(
        "schemas compared: {} objects, none differs",
        compared.objects
    ));
    Ok(Some(compared))
}

/// Keys of changes are kept from the end of this step on: a comparison that is older, which a control store that
/// was restored has forgotten, would count for changes that nobody kept.
async fn forget_comparison(context: &StepContext) -> Result<(), StepError> {
    let target = context.target()?;
    let session = target.session("build").await?;
    sidecar_schema::delete_comparison(&session, &context.token()).await
}

/// Restores every entry of a section that is not done.
pub(super) async fn build(context: &StepContext, section: &str) -> Result<(), StepError> {
    all(context, pending(context, section).await?).await
}

/// Builds indexes side by side, then the rest in its order.
async fn all(context: &StepContext, entries: Vec<PendingStatement>) -> Result<(), StepError> {
    let target = context.target()?;
    let session = target.session("build").await?;
    let (beside, after): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| entry.parallel);
    all_of(context, beside).await?;
    let mut alike: Vec<PendingStatement> = Vec::new();
    for entry in after {
        if alike.last().is_some_and(|last| last.kind() != entry.kind()) {
            keys::build(context, std::mem::take(&mut alike)).await?;
        }
        if entry.kind().is_some() {
            alike.push(entry);
        } else {
            build_one(context, &session, &entry).await?;
        }
    }
    keys::build(context, alike).await
}

/// Builds entries side by side.
async fn all_of(context: &StepContext, entries: Vec<PendingStatement>) -> Result<(), StepError> {
    let queue = Mutex::new(VecDeque::from(entries));
    side_by_side(context, || worker(context, &queue)).await
}

/// Runs as many workers as there are streams; one where an application's latency is held, since none can be slowed.
async fn side_by_side<F>(context: &StepContext, worker: impl Fn() -> F) -> Result<(), StepError>
where
    F: Future<Output = Result<(), StepError>>,
{
    let throttle = &context.session.throttle;
    let count = if throttle.is_gentle() {
        1
    } else {
        throttle.streams()
    };
    let workers = (0..count).map(|_| worker());
    futures::future::try_join_all(workers).await.map(|_| ())
}

/// Analyzes the moving tables side by side.
async fn analyze(context: &StepContext) -> Result<(), StepError> {
    // With a partitioned table its leaves.
    let tables = one_of_each_top(&context.dispatch.tables).into_iter();
    let tables = Mutex::new(tables.map(|table| table.top().clone()).collect());
    side_by_side(context, || analyze_some(context, &tables)).await
}

/// Analyzes tables until none is left.
async fn analyze_some(
    context: &StepContext,
    tables: &Mutex<VecDeque<TableName>>,
) -> Result<(), StepError> {
    let target = context.target()?;
    let session = target.session("analyze").await?;
    loop {
        let Some(table) = next(tables)? else {
            return Ok(());
        };
        context.report_message(format!("analyzing {table}"));
        session
            .batch_execute(&format!("analyze {}", table.sql()))
            .await
            .at(format_args!("shard {}: analyzing {table}", target.name))?;
    }
}

async fn pending(context: &StepContext, section: &str) -> Result<Vec<PendingStatement>, StepError> {
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
    // Primary keys are built by the copy.
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

async fn worker(
    context: &StepContext,
    queue: &Mutex<VecDeque<PendingStatement>>,
) -> Result<(), StepError> {
    let target = context.target()?;
    let session = target.session("build").await?;
    loop {
        if context.cancel.is_cancelled() {
            return Err(StepError::Interrupted);
        }
        let Some(entry) = next(queue)? else {
            return Ok(());
        };
        build_one(context, &session, &entry).await?;
    }
}

/// The next one of a queue that several workers share.
fn next<T>(queue: &Mutex<VecDeque<T>>) -> Result<Option<T>, StepError> {
    let mut queue = queue.lock().map_err(|_| StepError::Interrupted)?;
    Ok(queue.pop_front())
}

async fn build_one(
    context: &StepContext,
    session: &Connected,
    entry: &PendingStatement,
) -> Result<(), StepError> {
    let shard = session.name();
    entry.announce(context).await;
    let what = format!("shard {shard}: building {}", entry.label);
    let statement = entry.paced(context);
    for attempt in 1..=DEADLOCK_TRIES {
        epoch::begin(session, &context.token()).await?;
        keys::prove(context, session, entry.kind()).await?;
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
    if !entry.lies_on_a_table() {
        let recorded = created::record(session, &context.dispatch.migration).await;
        recorded.at(&what)?;
    }
    mark(context, session, &[entry.ordinal]).await.at(&what)?;
    fail_point::hit(entry.point).await?;
    epoch::commit(session, &what).await
}

/// Marks entries as done, in the transaction that made them.
async fn mark(
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
