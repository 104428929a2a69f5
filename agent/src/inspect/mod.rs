//! Inspects shards outside of migrations: for a plan, for measuring load, for an import, for a check.
//!
//! All inspections only read, with these exceptions: the trial of a plan, which is rolled back; repairs and sweeps,
//! which an operator requests; the closing of keys on a shard that is older than the map; and the conversion of a map.

mod check;
mod close;
mod convert;
mod differences;
mod directory;
mod doctor;
pub(crate) mod findings;
mod fixes;
mod identify;
mod inventory;
mod keys;
mod load;
mod queries;
mod reference;
pub(crate) mod repair;
mod sorted;
pub(crate) mod survey;
mod sweep;

use std::path::Path;

use connect::Connected;
use plans::failure::{Failure, RetryClass, StepCode};
use plans::fleet::ShardRef;
use plans::id::{Epoch, MigrationId};
use plans::inspection::{Inspected, Inspection};

use crate::error::{StepError, WithIntent};
use crate::shard::database::Shard;
use crate::shard::identity::{self, TimelineRule};

/// Runs an inspection, and returns what it observed, or the failure.
///
/// `files` is the agent's folder, in which a repair keeps the rows that it deletes.
pub(crate) async fn run(inspection: &Inspection, files: &Path) -> Result<Inspected, Failure> {
    let result = match inspection {
        Inspection::Survey(task) => survey::run(task).await.map(Inspected::Survey),
        Inspection::Doctor(task) => doctor::run(task).await.map(Inspected::Doctor),
        Inspection::Load(task) => load::run(task).await.map(Inspected::Load),
        Inspection::Directory(task) => directory::run(task).await.map(Inspected::Directory),
        Inspection::Check(task) => check::run(task).await.map(Inspected::Check),
        Inspection::Repair(task) => repair::run(task, files).await.map(Inspected::Repair),
        Inspection::Differences(task) => differences::run(task).await.map(Inspected::Differences),
        Inspection::Inventory(task) => {
            let result = inventory::run(task).await;
            result.map(|inventory| Inspected::Inventory(Box::new(inventory)))
        }
        Inspection::Identify(task) => identify::run(task).await.map(Inspected::Identified),
        Inspection::Sweep(task) => sweep::run(task).await.map(Inspected::Swept),
        Inspection::Convert(task) => convert::run(task).await.map(Inspected::Converted),
        Inspection::Close(task) => close::run(task).await.map(Inspected::Swept),
    };
    result.map_err(|error| failure(&error))
}

fn failure(error: &StepError) -> Failure {
    error.failure().cloned().unwrap_or(Failure {
        code: StepCode::InspectionInterrupted.into(),
        message: error.to_string(),
        hint: None,
        retry: RetryClass::Exponential,
    })
}

/// Takes the place of the migration in the `application_name` of inspection sessions.
const INSPECTION_ID: &str = "inspect";

/// Returns a shard without a migration.
fn shard(reference: &ShardRef) -> Result<Shard, StepError> {
    Shard::new(reference, &MigrationId(INSPECTION_ID.to_owned()), Epoch(0))
}

/// Opens a session on a shard without a migration.
async fn session(reference: &ShardRef, role: &str) -> Result<Connected, StepError> {
    shard(reference)?.session(role).await
}

/// Opens a session that may change the shard. Fails if a standby was promoted and no operator has accepted it.
async fn session_to_change(reference: &ShardRef, role: &str) -> Result<Connected, StepError> {
    let session = session(reference, role).await?;
    let proof = identity::proof_sql(TimelineRule::Same);
    let result = session.batch_execute(&proof).await;
    result.at(format_args!(
        "shard {}: proving which database it is",
        reference.name
    ))?;
    Ok(session)
}

/// Converts a count of rows, which is never negative.
fn row_count(rows: i64) -> u64 {
    u64::try_from(rows).unwrap_or(0)
}
