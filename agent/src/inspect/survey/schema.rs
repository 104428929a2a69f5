//! Whether the source's schema can be created on a target that has nothing yet.

use connect::Connected;

use crate::error::StepError;
use crate::inspect::findings::Findings;
use crate::schema;

/// Names what keeps it from being written, where it has to be written from the catalog.
pub(super) async fn check(client: &Connected, findings: &mut Findings) -> Result<(), StepError> {
    let shard = client.name();
    match schema::check(client).await {
        Err(StepError::Failed(failure)) if failure.code.starts_with("schema.") => {
            let remedy = failure.hint.unwrap_or_default();
            let object = format!("shard {shard}, schema");
            findings.refuse(&failure.code, object, failure.message, remedy);
            Ok(())
        }
        other => other,
    }
}
