//! After a rollback: removes the target's copy and all other objects of the migration.

use plans::names::Direction;
use plans::step::unwind::Unwound;

use super::unwind;
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::shard::{epoch, register};

pub(super) async fn run(context: &StepContext) -> Result<Unwound, StepError> {
    context.report_message("removing the target's copy");
    fail_point::hit("drop_new.started").await?;
    unwind::end_work(context).await;
    let source = context.source()?.session("drop").await?;
    let token = context.token_for_cleanup();
    // An earlier run that has removed the register has proved this.
    if register::exists(&source, &token.migration).await?
        && epoch::is_enrolled(&source, &token).await?
    {
        register::require_owner(&source, &token, Direction::Forward).await?;
    }
    drop(source);
    unwind::remove_all(context).await
}
