//! Looks at shards outside of migrations: for a plan, for the load, for an import, for a check.
//!
//! Everything here only reads, but for the trial of a plan, which is rolled back, for mends and sweeps that an operator
//! has asked for, and for the closing of keys on a shard that is older than the map.

mod check;
mod close;
mod differences;
mod directory;
mod doctor;
pub(crate) mod findings;
mod fixes;
mod identify;
mod inventory;
mod keys;
mod load;
pub(crate) mod mend;
mod queries;
mod reference;
mod sorted;
pub(crate) mod survey;
mod sweep;

use std::path::Path;

use connect::Connected;
use plans::failure::{Failure, RetryClass};
use plans::fleet::ShardRef;
use plans::id::{Epoch, MigrationId};
use plans::inspection::{Inspected, Inspection};

use crate::error::{StepError, WithIntent};
use crate::shard::database::Shard;
use crate::shard::identity::{self, TimelineRule};

/// Looks, and answers with what was seen or why nothing was.
///
/// `files`: the agent's folder, for rows that a repair deletes.
pub(crate) async fn run(inspection: &Inspection, files: &Path) -> Result<Inspected, Failure> {
    let seen = match inspection {
        Inspection::Survey(task) => survey::run(task).await.map(Inspected::Survey),
        Inspection::Doctor(task) => doctor::run(task).await.map(Inspected::Doctor),
        Inspection::Load(task) => load::run(task).await.map(Inspected::Load),
        Inspection::Directory(task) => directory::run(task).await.map(Inspected::Directory),
        Inspection::Check(task) => check::run(task).await.map(Inspected::Check),
        Inspection::Repair(task) => mend::run(task, files).await.map(Inspected::Repair),
        Inspection::Differences(task) => differences::run(task).await.map(Inspected::Differences),
        Inspection::Inventory(task) => {
            let seen = inventory::run(task).await;
            seen.map(|inventory| Inspected::Inventory(Box::new(inventory)))
        }
        Inspection::Identify(task) => identify::run(task).await.map(Inspected::Identified),
        Inspection::Sweep(task) => sweep::run(task).await.map(Inspected::Swept),
        Inspection::Close(task) => close::run(task).await.map(Inspected::Swept),
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

/// What stands in the place of a migration in the names of sessions that look.
const INSPECT: &str = "inspect";

/// A shard outside of any migration.
fn shard(reference: &ShardRef) -> Result<Shard, StepError> {
    Shard::new(reference, &MigrationId(INSPECT.to_owned()), Epoch(0))
}

/// A session on a shard outside of any migration.
async fn session(reference: &ShardRef, role: &str) -> Result<Connected, StepError> {
    shard(reference)?.session(role).await
}

/// The same, to change something there: not where a standby was promoted that no operator has accepted.
async fn session_to_change(reference: &ShardRef, role: &str) -> Result<Connected, StepError> {
    let session = session(reference, role).await?;
    let proof = identity::proof_sql(TimelineRule::Same);
    let proven = session.batch_execute(&proof).await;
    proven.at(format_args!(
        "shard {}: proving which database it is",
        reference.name
    ))?;
    Ok(session)
}

/// A count of rows; PostgreSQL's are never negative.
fn count(rows: i64) -> u64 {
    u64::try_from(rows).unwrap_or(0)
}
