//! Unwind: takes back everything that a migration created before the flip.
//!
//! The store has decided already that no flip can happen. Order: the source is opened and freed of
//! guards first, since an application waits for that; then slots and publications; then the target.

use plans::names::Direction;
use serde_json::{Value, json};
use tokio_postgres::Client;

use super::open_capture::{drop_slot, unpublish};
use super::{create_target, cutover, dual_write};
use crate::error::{At, StepError};
use crate::owned::Context;
use crate::pg::dual_write::Proof;
use crate::pg::shard::Shard;
use crate::pg::{epoch, guard, home, register, snapshot};

pub(super) async fn run(context: &Context) -> Result<Value, StepError> {
    context.say("taking back what the migration created");
    fail_point::hit("unwind.started").await?;
    context.owned.stop_stream().await;
    context.spool().remove().await?;
    *context.owned.holders.lock().await = None;
    let source = context.source()?;
    let session = source.session("unwind").await?;
    if register_is_set(context, &session, &source).await? {
        cutover::reopen_source(context).await?;
    }
    take_back(context).await?;
    Ok(json!({}))
}

/// Removes everything of ours from both shards, and the target's copy.
pub(super) async fn take_back(context: &Context) -> Result<(), StepError> {
    let token = context.token_for_cleanup();
    dual_write::take_out(context, Proof::Owner).await?;
    let source = context.source()?;
    let session = source.session("unwind").await?;
    snapshot::end_all(&source, context.dispatch.migration.as_str()).await?;
    if epoch::is_enrolled(&session, &token, &source.name).await? {
        guard::drop_all(&session, &token, &source.name).await?;
        drop_slot(&session, context, Direction::Forward, &source.name).await?;
        unpublish(&session, context, Direction::Forward, &source.name).await?;
    }
    let target = context.target()?;
    let there = target.session("unwind").await?;
    if epoch::is_enrolled(&there, &token, &target.name).await? {
        drop_slot(&there, context, Direction::Reverse, &target.name).await?;
        unpublish(&there, context, Direction::Reverse, &target.name).await?;
        create_target::undo(context, &there, &target.name).await?;
    }
    home::forget(&there, &token, &target.name).await?;
    home::forget(&session, &token, &source.name).await
}

/// Whether the source's register exists and is anything but open.
async fn register_is_set(
    context: &Context,
    session: &Client,
    source: &Shard,
) -> Result<bool, StepError> {
    let name = context.dispatch.migration.register();
    let what = format!("shard {}: reading the register", source.name);
    if !register::exists(session, &context.dispatch.migration, &source.name).await? {
        return Ok(false);
    }
    let row = session
        .query_one(
            &format!("select last_value <> 0 from shardwright.{name}"),
            &[],
        )
        .await
        .at(&what)?;
    Ok(row.get(0))
}
