//! Foreign keys: added, and later validated, some in one transaction. The proof that no code runs which is not trusted is
//! about all tables, and made once for each transaction.
//!
//! Keys are added by one session, which locks all tables before the first key, in the order in which the stream locks
//! them. The stream waits for that transaction. Validations go on side by side. Each locks its own table against another validation, and all sessions take them in the
//! order of the tables, so that none waits for one that waits for it.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use connect::Connected;

use super::{PendingStatement, build_one, mark, next, side_by_side};
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::schema::foreign_keys::KEY;
use crate::shard::{epoch, user_code};

/// How many are made in one transaction.
const AT_ONCE: usize = 50;
/// A transaction that has taken longer takes no more of them: the stream waits where keys are added, and so may commits.
const ENOUGH: Duration = Duration::from_millis(200);

/// Adds, or validates, foreign keys; all entries are of one kind.
pub(super) async fn build(
    context: &StepContext,
    mut entries: Vec<PendingStatement>,
) -> Result<(), StepError> {
    let Some(kind) = entries.first().and_then(PendingStatement::kind) else {
        return Ok(());
    };
    if kind == KEY {
        return worker(context, &Mutex::new(VecDeque::from(entries))).await;
    }
    // A label is the kind, the schema, the table, the key.
    entries.sort_by(|a, b| a.label.cmp(&b.label));
    let queue = Mutex::new(VecDeque::from(entries));
    side_by_side(context, || worker(context, &queue)).await
}

/// Makes entries until none is left.
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
        let mut taken = Vec::new();
        if some(context, &session, queue, &mut taken).await.is_err() {
            // Whatever it was, one by one each is made or says what it fails of.
            epoch::rollback(&session).await;
            for entry in &taken {
                build_one(context, &session, entry).await?;
            }
        }
        if taken.is_empty() {
            return Ok(());
        }
    }
}

/// Makes some entries in one transaction; `taken` are those that were begun.
async fn some(
    context: &StepContext,
    session: &Connected,
    queue: &Mutex<VecDeque<PendingStatement>>,
    taken: &mut Vec<PendingStatement>,
) -> Result<(), StepError> {
    let shard = &context.target()?.name;
    let mut begun = None;
    while taken.len() < AT_ONCE && begun.is_none_or(|begun: Instant| begun.elapsed() < ENOUGH) {
        let Some(entry) = next(queue)? else { break };
        entry.announce(context).await;
        let (kind, statement) = (entry.kind(), entry.paced(context));
        let what = format!("shard {shard}: building {}", entry.label);
        taken.push(entry);
        if begun.is_none() {
            epoch::begin(session, &context.token()).await?;
            prove(context, session, kind).await?;
            begun = Some(Instant::now());
        }
        session.batch_execute(&statement).await.at(&what)?;
    }
    let Some(last) = taken.last() else {
        return Ok(());
    };
    let what = format!("shard {shard}: building {}", last.label);
    let ordinals: Vec<i32> = taken.iter().map(|entry| entry.ordinal).collect();
    mark(context, session, &ordinals).await.at(&what)?;
    fail_point::hit(last.point).await?;
    epoch::commit(session, &what).await
}

/// A foreign key reads both of its tables; what else is built runs with the rights of its table's owner. Definitions stay
/// as they were proved until the transaction ends.
pub(super) async fn prove(
    context: &StepContext,
    session: &Connected,
    kind: Option<&str>,
) -> Result<(), StepError> {
    let Some(kind) = kind else { return Ok(()) };
    let target = context.target()?;
    let tables = &context.dispatch.tables;
    // A key that is added locks two tables. The stream locks those that it writes in the order of all: so does this, or
    // each would wait for the other.
    let lock = match kind {
        KEY => user_code::lock_sql_for_foreign_keys(tables),
        _ => user_code::lock_sql(tables),
    };
    let prover = context.session.code_prover(&target).await?;
    prover.check_same_server(session, &lock).await?;
    prover.prove_locked(tables).await
}
