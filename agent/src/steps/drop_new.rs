//! After a rollback: removes the target's copy and all other objects of the migration.

use plans::step::unwind::Unwound;

use super::unwind;
use crate::error::StepError;
use crate::migration::context::StepContext;

pub(super) async fn run(context: &StepContext) -> Result<Unwound, StepError> {
    context.report_message("removing the target's copy");
    fail_point::hit("drop_new.started").await?;
    unwind::end_work(context).await;
    unwind::remove_all(context).await
}
