//! Offline move: makes the moving keys read-only on the source until the flip.
//!
//! Order: the agent creates the sidecar schema and the row of the migration, then the guards, closes the register, and
//! waits without a time limit for the transactions that have already written. Reads are not affected.
//!
//! The step runs again if a standby of the source was promoted. Rows that were copied before are compared then.

use std::time::Duration;

use plans::failure::StepCode;
use plans::id::AttemptNo;
use plans::step::set_read_only::ReadOnly;
use tokio::time::Instant;

use super::copy;
use super::create_target::create_guards;
use crate::controller::CleanupRecord;
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::wait_out;
use crate::shard::register::{self, Register, RegisterSetting};
use crate::shard::{epoch, identity};

/// The interval at which the step reports for how many transactions it waits.
const REPORT_INTERVAL: Duration = Duration::from_secs(5);

pub(super) async fn run(context: &StepContext) -> Result<ReadOnly, StepError> {
    let dispatch = &context.dispatch;
    // A wait for the permitted hours after this point would only prolong the time in which the keys are read-only.
    context.wait_for_permitted_hours().await;
    let source = context.source()?;
    let shard = source.name.as_str();
    let session = source.session("read-only").await?;
    let server = identity::read_named(&session).await?;
    let token = context.token();
    let record = |kind: &str, name: String| CleanupRecord {
        shard: source.name.clone(),
        kind: kind.to_owned(),
        name,
        policy: "always".to_owned(),
    };
    let records = [
        record("schema", plans::names::SCHEMA.to_owned()),
        record("guard", dispatch.migration.guard_function()),
    ];
    context
        .controller
        .record_cleanup(dispatch, &records)
        .await?;
    context.enrol(&session, "source").await?;
    let sql = format!(
        "update shardwright.move set read_only = true where migration = {}",
        plans::sql::quote_literal(dispatch.migration.as_str())
    );
    epoch::execute(&session, &token, &sql)
        .await
        .at(format_args!(
            "shard {shard}: recording that the keys are read-only"
        ))?;
    context.report_message("putting guards on the source's tables");
    create_guards(context, &session, Register::Open).await?;
    register::begin_and_set(&session, &token, AttemptNo(0), RegisterSetting::Closed).await?;
    fail_point::hit("set_read_only.closed").await?;
    let started = Instant::now();
    let tables = context.keyed_tables();
    while let Err(error) =
        wait_out::wait_out(&session, &tables, Instant::now() + REPORT_INTERVAL).await
    {
        if !error.has_code(StepCode::WaitOutBudget) {
            return Err(error);
        }
        let writers = wait_out::writers(&session, &tables).await?;
        context.report_message(format!(
            "the keys are read-only; waiting for {} transaction(s) that have already written",
            writers.len()
        ));
    }
    copy::compare_copied_rows_again(context).await?;
    Ok(ReadOnly {
        waited_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        source: Some(server),
    })
}
