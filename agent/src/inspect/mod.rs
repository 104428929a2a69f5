//! Looks at shards outside of migrations: for a plan, for the load, for an import, for a check.
//!
//! Everything here only reads, but for the mends that an operator has asked for.

mod check;
mod directory;
mod keys;
mod load;
mod mend;
mod reference;
mod sorted;
pub(crate) mod survey;

use connect::Connected;
use plans::failure::{Failure, RetryClass};
use plans::id::{Epoch, MigrationId};
use plans::inspection::{Inspected, Inspection};
use plans::plan::ShardRef;

use crate::error::StepError;
use crate::pg::shard::Shard;

/// Looks, and answers with what was seen or why nothing was.
pub(crate) async fn run(inspection: &Inspection) -> Result<Inspected, Failure> {
    let seen = match inspection {
        Inspection::Survey(task) => survey::run(task).await.map(Inspected::Survey),
        Inspection::Load(task) => load::run(task).await.map(Inspected::Load),
        Inspection::Directory(task) => directory::run(task).await.map(Inspected::Directory),
        Inspection::Check(task) => check::run(task).await.map(Inspected::Check),
        Inspection::Mend(task) => mend::run(task).await.map(Inspected::Mend),
    };
    seen.map_err(|error| failure(&error))
}

fn failure(error: &StepError) -> Failure {
    error.failure().cloned().unwrap_or(Failure {
        code: "inspection.interrupted".to_owned(),
        message: error.to_string(),
        hint: None,
        retry: RetryClass::Exponential,
    })
}

/// A shard outside of any migration.
fn shard(reference: &ShardRef) -> Result<Shard, StepError> {
    Shard::new(reference, &MigrationId("inspect".to_owned()), Epoch(0))
}

/// A session on a shard outside of any migration.
async fn session(reference: &ShardRef, role: &str) -> Result<Connected, StepError> {
    shard(reference)?.session(role).await
}

/// A count of rows; PostgreSQL's are never negative.
fn count(rows: i64) -> u64 {
    u64::try_from(rows).unwrap_or(0)
}
