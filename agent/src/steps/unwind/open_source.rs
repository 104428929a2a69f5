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

/// Opens the register and proves that it is open. The abort does not continue before that.
///
/// # Errors
/// An error if the agent cannot reach or read the source. `unwind.sealed` if a cutover has sealed the source, and the
/// agent cannot reach the target: only the target can prove that the map has not flipped (I4).
pub(super) async fn run(context: &StepContext) -> Result<(), StepError> {
    let source = context.source()?;
    match open_register(context, &source).await {
        Err(StepError::Failed(failure)) if !must_stop_abort(&failure) => {
            Err(abort_waits_error(&source, failure))
        }
        other => other,
    }
}

async fn open_register(context: &StepContext, source: &Shard) -> Result<(), StepError> {
    let (token, shard) = (context.token_for_cleanup(), source.name.as_str());
    // If a standby name were left, commits of this session would wait for a walsender that has ended.
    dual_write::remove_standby_names_from(context, source, OwnershipProof::TakeOver).await?;
    let session = source.session("unwind").await?;
    if !register::exists(&session, &token.migration).await? {
        // Without a register, the shard has no guard of the migration. The agent reads this in the catalog, also if its
        // role may not read the sidecar schema.
        return Ok(());
    }
    epoch::take_over(&session, &token).await?;
    let what = format!("shard {shard}: reading the register");
    let status = register::read(&session, &token, &what).await?;
    let newest_attempt = epoch::newest_attempt(&session, &token).await?;
    match attempt_number_for_opening(context, status.register, newest_attempt).await {
        // This writes the value also if it is 0 already, because the value that was read may not be durable (R9).
        Ok(number) => {
            // A bound register is open here and closed on a standby that may be promoted. It is bound anew, because
            // the server may have another timeline since a failover.
            let setting = match status.register {
                Register::Bound(_) => RegisterSetting::Bound,
                Register::Open | Register::FencedUntil(_) | Register::Closed => {
                    RegisterSetting::OpenAgain
                }
            };
            register::begin_and_set(&session, &token, number, setting).await?;
        }
        Err(error) if error.failure().is_none_or(must_stop_abort) => return Err(error),
        Err(error) if status.register == Register::Closed => {
            return Err(sealed_error(source, &error));
        }
        // The register is fenced: a fence expires without an action of the agent, and then counts as open. Only a seal
        // needs the proof of the witness.
        Err(_) => {}
    }
    let open = register::check_open(&session, &token).await;
    session.close().await;
    open
}

/// Returns the number of the attempt with which the source is opened. First proves that no flip has happened (I4),
/// unless the register is already open.
async fn attempt_number_for_opening(
    context: &StepContext,
    register: Register,
    newest_attempt: AttemptNo,
) -> Result<AttemptNo, StepError> {
    // A bound source was never closed by a cutover.
    if matches!(register, Register::Open | Register::Bound(_)) {
        return Ok(newest_attempt);
    }
    match cutover::check_abort_witness(context, newest_attempt).await {
        // Each cutover records its attempt on the source before the flip, so no cutover has run.
        Err(StepError::Failed(failure))
            if newest_attempt == AttemptNo(0) && !must_stop_abort(&failure) =>
        {
            Ok(AttemptNo(0))
        }
        checked => checked,
    }
}

/// Returns whether the source must stay as it is: another agent has taken over, or the shards have recorded a flip that
/// the control store has lost.
fn must_stop_abort(failure: &Failure) -> bool {
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

fn abort_waits_error(source: &Shard, failure: Failure) -> StepError {
    let hint = format!(
        "make shard {} reachable for the role of the agents: the abort then continues by itself",
        source.name
    );
    StepError::Failed(Failure {
        message: format!(
            "the abort waits until shard {} accepts writes: {}",
            source.name, failure.message
        ),
        hint: failure.hint.or(Some(hint)),
        ..failure
    })
}
