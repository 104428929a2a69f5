//! After a roll back: drops the target's copy and everything that the migration created.

use serde_json::{Value, json};

use super::unwind;
use crate::error::StepError;
use crate::owned::Context;

pub(super) async fn run(context: &Context) -> Result<Value, StepError> {
    context.say("dropping the target's copy");
    fail_point::hit("drop_new.started").await?;
    context.owned.stop_stream().await;
    context.spool().remove().await?;
    unwind::take_back(context).await?;
    Ok(json!({}))
}
