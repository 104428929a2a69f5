//! Adds foreign keys, and later validates them, several in one transaction. Each transaction checks all tables once, to
//! prove that its statements run no untrusted code (ADR 49).
//!
//! Only one session adds keys. Before the first key it locks all tables, in the order in which the change stream locks
//! them; the stream waits for this transaction. Several sessions validate keys at the same time. A validation locks its
//! table against other validations. All sessions process the keys in the order of the tables, so they cannot deadlock.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use connect::Connected;

use super::{PendingStatement, build_entry, mark_done, run_workers, take_next};
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::schema::foreign_keys::KEY_LABEL;
use crate::shard::{epoch, user_code};

/// Maximum number of foreign keys in one transaction.
const KEYS_PER_TRANSACTION: usize = 50;
/// When a transaction has lasted for this time, it gets no further key. The change stream waits for a transaction that
/// adds keys, and commits of the application may wait for the stream.
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
    // This is the order of the tables: a label consists of the kind, the schema, the table and the key.
    entries.sort_by(|one, other| one.label.cmp(&other.label));
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
        if build_in_one_transaction(context, &session, queue, &mut started)
            .await
            .is_err()
        {
            // Each entry is built again in its own transaction, so that the entry with the error returns it.
            epoch::rollback(&session).await;
            for entry in &started {
                build_entry(context, &session, entry).await?;
            }
        }
        if started.is_empty() {
            return Ok(());
        }
    }
}

/// Builds entries of the queue in one transaction. Adds each entry to `started` before it builds the entry.
async fn build_in_one_transaction(
    context: &StepContext,
    session: &Connected,
    queue: &Mutex<VecDeque<PendingStatement>>,
    started: &mut Vec<PendingStatement>,
) -> Result<(), StepError> {
    let shard = &context.target()?.name;
    let mut begun_at = None;
    while started.len() < KEYS_PER_TRANSACTION
        && begun_at.is_none_or(|begun_at: Instant| begun_at.elapsed() < MAX_TRANSACTION_TIME)
    {
        let Some(entry) = take_next(queue)? else {
            break;
        };
        entry.wait_and_report(context).await;
        let (kind, statement) = (entry.foreign_key_kind(), entry.throttled_sql(context));
        let what = format!("shard {shard}: building {}", entry.label);
        started.push(entry);
        if begun_at.is_none() {
            epoch::begin(session, &context.token()).await?;
            prove_for_foreign_key(context, session, kind).await?;
            begun_at = Some(Instant::now());
        }
        session.batch_execute(&statement).await.at(&what)?;
    }
    let Some(last) = started.last() else {
        return Ok(());
    };
    let what = format!("shard {shard}: building {}", last.label);
    let ordinals: Vec<i32> = started.iter().map(|entry| entry.ordinal).collect();
    mark_done(context, session, &ordinals).await.at(&what)?;
    fail_point::hit(last.fail_point).await?;
    epoch::commit(session, &what).await
}

/// If `kind` is set, proves that adding or validating a foreign key runs no untrusted code: the statement reads both
/// tables of the key with the agent's privileges. Other objects need no proof, because they are built with the
/// privileges of the table's owner. The checked definitions cannot change until the transaction ends.
pub(super) async fn prove_for_foreign_key(
    context: &StepContext,
    session: &Connected,
    kind: Option<&str>,
) -> Result<(), StepError> {
    let Some(kind) = kind else { return Ok(()) };
    let target = context.target()?;
    let tables = &context.dispatch.tables;
    // Adding a key locks two tables. The transaction locks all tables first, in the order in which the stream locks
    // them, so that the two cannot deadlock.
    let lock = match kind {
        KEY_LABEL => user_code::lock_sql_for_foreign_keys(tables),
        _ => user_code::lock_sql(tables),
    };
    let prover = context.session.code_prover(&target).await?;
    prover.check_same_server(session, &lock).await?;
    prover.prove_locked(tables).await
}
