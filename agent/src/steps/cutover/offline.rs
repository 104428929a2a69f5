//! The cutover of an offline move. The keys have been read-only since before the copy, so the cutover needs no fence,
//! no drain and no comparison.
//!
//! Order: check the tables as at the gate, begin the attempt in the control store (C2) and on the witness, close the
//! register again for this attempt, wait-out, permission to seal (C7), sequences, final recheck, flip (C9), open (C10).
//! If an attempt fails before the flip, the agent ends it in the control store. The source stays read-only until the
//! migration is resumed or aborted.

use std::time::Duration;

use plans::id::AttemptNo;
use plans::step::cutover::{CutoverResult, WriteBlockTimes};
use plans::wire::{CutoverAnswer, CutoverQuery};
use tokio::time::Instant;

use super::final_recheck::{recheck_all, wait_for_new_standbys, wait_for_standbys};
use super::gate::{self, GateFacts};
use super::{
    AttemptBegin, CutoverParties, begin_attempt, call_controller, call_until_answered,
    count_refused_in, finish_after_flip, millis_since, notify_old_owner, open_new_owner,
    refusal_error, window,
};
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::wait_out;
use crate::shard::register::{self, RegisterSetting};

pub(super) async fn run(
    context: &StepContext,
    mut parties: CutoverParties,
) -> Result<CutoverResult, StepError> {
    let old_owner = parties.old_shard().session("gate").await?;
    let new_owner = parties.new_shard().session("gate").await?;
    gate::divide_sequence_values(context, &parties, &old_owner, &new_owner).await?;
    let facts = gate::read_facts(context, &parties, &old_owner, &new_owner).await?;
    match begin_attempt(context, &mut parties).await? {
        AttemptBegin::Flipped(attempt, version) => {
            finish_after_flip(context, parties, attempt, version).await
        }
        AttemptBegin::Attempt(attempt, _) => {
            match run_attempt(context, &parties, attempt, &facts).await {
                Ok(done) => Ok(done),
                Err(error) => Err(give_up(context, &parties, attempt, error).await),
            }
        }
    }
}

async fn run_attempt(
    context: &StepContext,
    parties: &CutoverParties,
    number: AttemptNo,
    facts: &GateFacts,
) -> Result<CutoverResult, StepError> {
    let (old_shard, new_shard) = (parties.old_shard(), parties.new_shard());
    let old_owner = old_shard.session("cutover").await?;
    let new_owner = new_shard.session("cutover").await?;
    let token = &parties.shards.token;
    let budget = Duration::from_millis(context.dispatch.options.write_stop_budget_ms.into());
    let (started, deadline) = (Instant::now(), Instant::now() + budget);
    let version = parties.version;
    register::begin_and_check_witness(&new_owner, token, number, version).await?;
    register::begin_and_set(&old_owner, token, number, RegisterSetting::Closed).await?;
    fail_point::hit("cutover.fenced").await?;
    wait_out::wait_out(&old_owner, &context.keyed_tables(), deadline).await?;
    let seal_started = Instant::now();
    fail_point::hit("cutover.before_seal").await?;
    let direction = parties.direction;
    let request = CutoverQuery::Seal {
        direction,
        attempt: number,
        compared: facts.compared.clone(),
    };
    let answer = call_controller(context, request).await?;
    if answer != CutoverAnswer::Granted {
        return Err(refusal_error("allow the seal", &answer));
    }
    fail_point::hit("cutover.sealed").await?;
    window::advance_sequences(context, parties, facts, &old_owner, &new_owner).await?;
    wait_for_standbys(context, parties, &old_owner, deadline).await?;
    wait_for_new_standbys(context, &new_owner, deadline).await?;
    recheck_all(context, parties, &old_owner, facts).await?;
    let mut times = WriteBlockTimes {
        seal: millis_since(seal_started),
        ..WriteBlockTimes::default()
    };
    let flip_started = Instant::now();
    let request = CutoverQuery::Flip {
        direction,
        attempt: number,
        applied: None,
    };
    let answer = call_until_answered(context, &request).await?;
    let CutoverAnswer::Flipped { map_version } = answer else {
        return Err(refusal_error("flip the map", &answer));
    };
    times.flip = millis_since(flip_started);
    fail_point::hit("cutover.flipped").await?;
    let open_started = Instant::now();
    open_new_owner(context, parties, number, map_version, &new_owner).await?;
    times.open = millis_since(open_started);
    times.total = millis_since(started);
    context.report_message(format!(
        "shard {} owns the keys; map version {map_version}",
        new_shard.name
    ));
    let refused = count_refused_in(parties, &old_owner, &new_owner).await;
    notify_old_owner(parties, number, map_version, &old_owner).await?;
    Ok(CutoverResult {
        attempt: number,
        map_version,
        write_block: times,
        dirty_keys: 0,
        refused,
        storage: facts.new_owner_storage.clone(),
    })
}

/// Ends an attempt that failed with `error` in the control store. Returns the error to report. The source stays closed.
async fn give_up(
    context: &StepContext,
    parties: &CutoverParties,
    attempt: AttemptNo,
    error: StepError,
) -> StepError {
    if error.is_superseded() {
        return error;
    }
    context.report_message(format!("the agent gives up attempt {attempt}: {error}"));
    let request = CutoverQuery::Release {
        direction: parties.direction,
        attempt,
        reason: error.to_string(),
    };
    match call_until_answered(context, &request).await {
        Ok(CutoverAnswer::Released) => error,
        Ok(answer) => refusal_error("release the attempt", &answer),
        Err(release_error) => release_error,
    }
}
