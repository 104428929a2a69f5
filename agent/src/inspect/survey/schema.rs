//! Checks whether the schema of the source can be created on a new target.

use connect::Connected;

use crate::error::StepError;
use crate::inspect::findings::Findings;
use crate::schema;

/// Refuses a schema that cannot be written as statements, if it must be written from the catalog.
pub(super) async fn check(client: &Connected, findings: &mut Findings) -> Result<(), StepError> {
    let shard = client.name();
    match schema::check(client).await {
        Err(StepError::Failed(failure)) if failure.code.starts_with("schema.") => {
            let remedy = failure.hint.unwrap_or_default();
            let object = format!("shard {shard}, schema");
            findings.add_refusal(&failure.code, object, failure.message, remedy);
            Ok(())
        }
        other => other,
    }
}
