//! Promotes the standby that becomes the target.

use plans::step::promote::Promoted;

use crate::error::StepError;
use crate::migration::context::StepContext;

pub(super) async fn run(_context: &StepContext) -> Result<Promoted, StepError> {
    Ok(Promoted::default())
}
