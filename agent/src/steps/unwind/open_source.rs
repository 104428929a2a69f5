//! Opens the source of a migration that is aborted, and proves in a transaction of its own that it is open.

use plans::failure::{Failure, RetryClass};

use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::shard::database::Shard;
use crate::shard::dual_write::OwnershipProof;
use crate::shard::epoch;
use crate::shard::register::{self, RegisterSetting};
use crate::steps::{cutover, dual_write};

/// Opens the register and proves it; the abort does not end before that.
///
/// # Errors
/// The source cannot be reached or read. Or `unwind.sealed`: a cutover has sealed it, and the target cannot be reached,
/// which alone can prove that the map has not flipped (I4).
pub(super) async fn run(context: &StepContext) -> Result<(), StepError> {
    let source = context.source()?;
    match open(context, &source).await {
        Err(StepError::Failed(failure)) if !must_stop(&failure) => Err(waits(&source, failure)),
        other => other,
    }
}

async fn open(context: &StepContext, source: &Shard) -> Result<(), StepError> {
    let (token, shard) = (context.token_for_cleanup(), source.name.as_str());
    // Its commits would wait for a walsender that is gone.
    dual_write::take_out_of(context, source, OwnershipProof::TakeOver).await?;
    let session = source.session("unwind").await?;
    if !register::exists(&session, &token.migration).await? {
        // Nothing of ours refuses a write there: the catalog says so, also where the schema is not ours to read.
        return Ok(());
    }
    epoch::take_over(&session, &token).await?;
    let what = format!("shard {shard}: reading the register");
    let seen = register::read(&session, &token, &what).await?;
    let counted = epoch::newest_attempt(&session, &token).await?;
    match may_open(context, seen.register, counted).await {
        // A value that was only read proves nothing after a crash, so 0 is written again too (R9).
        Ok(number) => {
            register::begin_and_set(&session, &token, number, RegisterSetting::Open).await?;
        }
        Err(error) if error.failure().is_none_or(must_stop) => return Err(error),
        Err(error) if seen.register == i64::MAX => return Err(sealed(source, &error)),
        // A fence ends by itself and counts as open then: only a seal needs a witness.
        Err(_) => {}
    }
    let open = register::check_open(&session, &token).await;
    session.close().await;
    open
}

/// The number under which the source may be opened, once no flip can have been (I4).
async fn may_open(context: &StepContext, register: i64, counted: i64) -> Result<i64, StepError> {
    if register == 0 {
        return Ok(counted);
    }
    match cutover::witness_of_abort(context, counted).await {
        // Each cutover counts on the source before it flips the map: none has been there.
        Err(StepError::Failed(failure)) if counted == 0 && !must_stop(&failure) => Ok(0),
        witnessed => witnessed,
    }
}

/// A newer owner goes on, or the shards know of a flip that the store has lost: nothing is opened.
fn must_stop(failure: &Failure) -> bool {
    ["epoch.stale", "flip.lost"].contains(&failure.code.as_str())
}

fn sealed(source: &Shard, error: &StepError) -> StepError {
    StepError::Failed(Failure {
        code: "unwind.sealed".to_owned(),
        message: format!(
            "shard {} was sealed by a cutover, and the target does not testify that the map has not flipped: {error}",
            source.name
        ),
        hint: Some(
            "make the target reachable; if it is lost for good, let its connection string lead to what replaces it"
                .to_owned(),
        ),
        retry: RetryClass::Exponential,
    })
}

fn waits(source: &Shard, failure: Failure) -> StepError {
    let hint = format!(
        "make shard {} reachable for the agents' role: the abort goes on by itself",
        source.name
    );
    StepError::Failed(Failure {
        message: format!(
            "the abort waits until shard {} is proved to take writes: {}",
            source.name, failure.message
        ),
        hint: failure.hint.or(Some(hint)),
        ..failure
    })
}
