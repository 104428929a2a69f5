//! Checks whether the schema of the source can be created on a new target.

use connect::Connected;
use plans::survey::SurveyTask;
use plans::table::MovingTable;

use crate::error::StepError;
use crate::inspect::findings::Findings;
use crate::schema;
use crate::schema::scope::SchemaScope;

/// Refuses a schema that cannot be written as statements, if it must be written from the catalog, and whole tables that need
/// objects which do not move with them.
pub(super) async fn check(
    client: &Connected,
    task: &SurveyTask,
    tables: &[MovingTable],
    findings: &mut Findings,
) -> Result<(), StepError> {
    refuse(client, schema::check(client).await, findings)?;
    let settings = &task.settings;
    let (reference, ignored) = (settings.reference_tables(), settings.ignored_tables());
    match SchemaScope::of(tables, &reference, &ignored) {
        Some(scope) => refuse(client, scope.check(client).await, findings),
        None => Ok(()),
    }
}

/// Adds a finding for a failure that the schema causes.
fn refuse(
    client: &Connected,
    checked: Result<(), StepError>,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = client.name();
    match checked {
        Err(StepError::Failed(failure)) if failure.code.starts_with("schema.") => {
            let remedy = failure.hint.unwrap_or_default();
            let object = format!("shard {shard}, schema");
            findings.add_refusal(&failure.code, object, failure.message, remedy);
            Ok(())
        }
        other => other,
    }
}
