//! Opens the source of an aborted migration, and proves in a separate transaction that it is open.

use plans::failure::{Failure, RetryClass, StepCode};
use plans::id::AttemptNo;

use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::shard::database::Shard;
use crate::shard::dual_write::OwnershipProof;
use crate::shard::epoch;
use crate::shard::register::{self, Register, RegisterSetting};
use crate::steps::{cutover, dual_write};

/// Opens the register and proves that it is open. The abort cannot end before that.
///
/// # Errors
/// The source cannot be reached or read; or `unwind.sealed`: a cutover has sealed the source, and the target cannot be
/// reached. Only the target can prove that the map has not flipped (I4).
pub(super) async fn run(context: &StepContext) -> Result<(), StepError> {
    let source = context.source()?;
    match open_register(context, &source).await {
        Err(StepError::Failed(failure)) if !stops_abort(&failure) => {
            Err(waiting_error(&source, failure))
        }
        other => other,
    }
}

async fn open_register(context: &StepContext, source: &Shard) -> Result<(), StepError> {
    let (token, shard) = (context.token_for_cleanup(), source.name.as_str());
    // Without this, commits of this session would wait for a walsender that has ended.
    dual_write::remove_standby_names_from(context, source, OwnershipProof::TakeOver).await?;
    let session = source.session("unwind").await?;
    if !register::exists(&session, &token.migration).await? {
        // Without a register, no guard of the migration refuses writes. The catalog shows this even if the role cannot
        // read the schema.
        return Ok(());
    }
    epoch::take_over(&session, &token).await?;
    let what = format!("shard {shard}: reading the register");
    let status = register::read(&session, &token, &what).await?;
    let newest_attempt = epoch::newest_attempt(&session, &token).await?;
    match attempt_to_open_under(context, status.register, newest_attempt).await {
        // A value that was only read could be lost in a crash, so 0 is written again too (R9).
        Ok(number) => {
            register::begin_and_set(&session, &token, number, RegisterSetting::Open).await?;
        }
        Err(error) if error.failure().is_none_or(stops_abort) => return Err(error),
        Err(error) if status.register == Register::Closed => {
            return Err(sealed_error(source, &error));
        }
        // A fence expires without an action of the agent, and then counts as open. Only a seal needs a witness.
        Err(_) => {}
    }
    let open = register::check_open(&session, &token).await;
    session.close().await;
    open
}

/// Returns the attempt number for the opening of the source. First proves that no flip has happened (I4).
async fn attempt_to_open_under(
    context: &StepContext,
    register: Register,
    newest_attempt: AttemptNo,
) -> Result<AttemptNo, StepError> {
    if register == Register::Open {
        return Ok(newest_attempt);
    }
    match cutover::check_abort_witness(context, newest_attempt).await {
        // Each cutover records its attempt on the source before the flip, so no cutover has run.
        Err(StepError::Failed(failure))
            if newest_attempt == AttemptNo(0) && !stops_abort(&failure) =>
        {
            Ok(AttemptNo(0))
        }
        witnessed => witnessed,
    }
}

/// Returns whether the source must stay as it is: a newer owner has taken over, or the shards have recorded a flip that
/// the control store has lost.
fn stops_abort(failure: &Failure) -> bool {
    failure.has_code_of(&[StepCode::EpochStale, StepCode::FlipLost])
}

fn sealed_error(source: &Shard, error: &StepError) -> StepError {
    StepError::Failed(Failure {
        code: StepCode::UnwindSealed.into(),
        message: format!(
            "shard {} was sealed by a cutover, and the target cannot confirm that the map has not flipped: {error}",
            source.name
        ),
        hint: Some(
            "make the target reachable; if it is lost for good, change its connection string to the server that replaces it"
                .to_owned(),
        ),
        retry: RetryClass::Exponential,
    })
}

fn waiting_error(source: &Shard, failure: Failure) -> StepError {
    let hint = format!(
        "make shard {} reachable for the agents' role: the abort then continues by itself",
        source.name
    );
    StepError::Failed(Failure {
        message: format!(
            "the abort waits until shard {} provably accepts writes: {}",
            source.name, failure.message
        ),
        hint: failure.hint.or(Some(hint)),
        ..failure
    })
}
