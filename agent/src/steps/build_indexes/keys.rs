//! Adds foreign keys, and later validates them, several in one transaction. In each transaction one check of all tables
//! proves that the statements run no untrusted code (ADR 49).
//!
//! One session adds the keys. It locks all tables before it adds the first key, in the order in which the apply stream
//! locks them. The stream waits for that transaction. Several sessions validate concurrently. A validation locks its
//! table against another validation; all sessions process the keys in the order of the tables, so they cannot deadlock.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use connect::Connected;

use super::{PendingStatement, build_one, mark_done, run_workers, take_next};
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::schema::foreign_keys::KEY_LABEL;
use crate::shard::{epoch, user_code};

/// Maximum number of keys in one transaction.
const KEYS_PER_TRANSACTION: usize = 50;
/// No further key is added to a transaction that has lasted longer: the stream waits while keys are added, and commits
/// of the application may wait for the stream.
const MAX_TRANSACTION_TIME: Duration = Duration::from_millis(200);

/// Adds or validates foreign keys; all entries have the same kind.
pub(super) async fn build_foreign_keys(
    context: &StepContext,
    mut entries: Vec<PendingStatement>,
) -> Result<(), StepError> {
    let Some(kind) = entries.first().and_then(PendingStatement::foreign_key_kind) else {
        return Ok(());
    };
    if kind == KEY_LABEL {
        return build_until_empty(context, &Mutex::new(VecDeque::from(entries))).await;
    }
    // A label consists of the kind, the schema, the table and the key.
    entries.sort_by(|a, b| a.label.cmp(&b.label));
    let queue = Mutex::new(VecDeque::from(entries));
    run_workers(context, || build_until_empty(context, &queue)).await
}

/// Builds entries until the queue is empty.
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
        let mut started = Vec::new();
        if build_some(context, &session, queue, &mut started)
            .await
            .is_err()
        {
            // In a transaction of its own, each entry succeeds or returns its own error.
            epoch::rollback(&session).await;
            for entry in &started {
                build_one(context, &session, entry).await?;
            }
        }
        if started.is_empty() {
            return Ok(());
        }
    }
}

/// Builds some entries in one transaction. Adds each entry to `started` before it builds the entry.
async fn build_some(
    context: &StepContext,
    session: &Connected,
    queue: &Mutex<VecDeque<PendingStatement>>,
    started: &mut Vec<PendingStatement>,
) -> Result<(), StepError> {
    let shard = &context.target()?.name;
    let mut begun = None;
    while started.len() < KEYS_PER_TRANSACTION
        && begun.is_none_or(|begun: Instant| begun.elapsed() < MAX_TRANSACTION_TIME)
    {
        let Some(entry) = take_next(queue)? else {
            break;
        };
        entry.wait_and_report(context).await;
        let (kind, statement) = (entry.foreign_key_kind(), entry.throttled_sql(context));
        let what = format!("shard {shard}: building {}", entry.label);
        started.push(entry);
        if begun.is_none() {
            epoch::begin(session, &context.token()).await?;
            prove_for_foreign_key(context, session, kind).await?;
            begun = Some(Instant::now());
        }
        session.batch_execute(&statement).await.at(&what)?;
    }
    let Some(last) = started.last() else {
        return Ok(());
    };
    let what = format!("shard {shard}: building {}", last.label);
    let ordinals: Vec<i32> = started.iter().map(|entry| entry.ordinal).collect();
    mark_done(context, session, &ordinals).await.at(&what)?;
    fail_point::hit(last.point).await?;
    epoch::commit(session, &what).await
}

/// Proves that building a foreign key runs no untrusted code: it reads both of its tables with the agent's privileges.
/// Other objects are built with the privileges of the table's owner. The checked definitions cannot change until the
/// transaction ends.
pub(super) async fn prove_for_foreign_key(
    context: &StepContext,
    session: &Connected,
    kind: Option<&str>,
) -> Result<(), StepError> {
    let Some(kind) = kind else { return Ok(()) };
    let target = context.target()?;
    let tables = &context.dispatch.tables;
    // Adding a key locks two tables. The transaction first locks the tables in the order in which the stream locks
    // them, so that they cannot deadlock.
    let lock = match kind {
        KEY_LABEL => user_code::lock_sql_for_foreign_keys(tables),
        _ => user_code::lock_sql(tables),
    };
    let prover = context.session.code_prover(&target).await?;
    prover.check_same_server(session, &lock).await?;
    prover.prove_locked(tables).await
}
