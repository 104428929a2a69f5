//! The cutover of an offline move: the keys have been read-only since before the copy, so there is nothing to
//! fence, to drain or to compare.
//!
//! Order: facts, begin in the store (C2), witness, register closed again under the attempt, wait-out, seal
//! (C7), sequences, last look, flip (C9), open (C10).
//! An attempt that fails before the flip is released in the store; the source stays read-only until the
//! migration is resumed or aborted.

use std::time::Duration;

use plans::id::AttemptNo;
use plans::step::cutover::{CutoverResult, WriteBlockTimes};
use plans::wire::{CutoverAnswer, CutoverQuery};
use tokio::time::Instant;

use super::gate::{self, GateFacts};
use super::last_look::{look, standbys_flushed};
use super::{
    BegunAttempt, CutoverParties, ask_controller, ask_until_answered, begin, finish_flipped,
    millis, open, refused, refused_by_both, tell_former, window,
};
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::wait_out;
use crate::shard::register::{self, RegisterSetting};

pub(super) async fn run(
    context: &StepContext,
    mut parties: CutoverParties,
) -> Result<CutoverResult, StepError> {
    let losing = parties.sides.origin.session("gate").await?;
    let gaining = parties.sides.destination.session("gate").await?;
    gate::share_out(context, &parties, &losing, &gaining).await?;
    let facts = gate::facts(context, &parties, &losing, &gaining).await?;
    match begin(context, &mut parties).await? {
        BegunAttempt::Flipped(attempt, version) => {
            finish_flipped(context, parties, attempt, version).await
        }
        BegunAttempt::Attempt(attempt, _) => {
            match self::attempt(context, &parties, attempt, &facts).await {
                Ok(done) => Ok(done),
                Err(error) => Err(give_up(context, &parties, attempt, error).await),
            }
        }
    }
}

async fn attempt(
    context: &StepContext,
    parties: &CutoverParties,
    number: AttemptNo,
    facts: &GateFacts,
) -> Result<CutoverResult, StepError> {
    let (origin, destination) = (&parties.sides.origin, &parties.sides.destination);
    let losing = origin.session("cutover").await?;
    let gaining = destination.session("cutover").await?;
    let token = &parties.sides.token;
    let budget = Duration::from_millis(context.dispatch.options.write_stop_budget_ms.into());
    let (started, deadline) = (Instant::now(), Instant::now() + budget);
    let version = parties.version.0;
    register::begin_and_check_witness(&gaining, token, number.0, version).await?;
    register::begin_and_set(&losing, token, number.0, RegisterSetting::Closed).await?;
    fail_point::hit("cutover.fenced").await?;
    wait_out::wait_out(&losing, &context.keyed_tables(), deadline).await?;
    let sealing = Instant::now();
    fail_point::hit("cutover.before_seal").await?;
    let direction = parties.direction;
    let ask = CutoverQuery::Seal {
        direction,
        attempt: number,
        compared: facts.compared.clone(),
    };
    let answer = ask_controller(context, ask).await?;
    if answer != CutoverAnswer::Granted {
        return Err(refused("allow the seal", &answer));
    }
    fail_point::hit("cutover.sealed").await?;
    window::carry_sequences(context, parties, facts, &losing, &gaining).await?;
    standbys_flushed(context, parties, &losing, deadline).await?;
    look(context, parties, &losing, facts).await?;
    let mut window = WriteBlockTimes {
        seal: millis(sealing),
        ..WriteBlockTimes::default()
    };
    let flipping = Instant::now();
    let ask = CutoverQuery::Flip {
        direction,
        attempt: number,
        applied: None,
    };
    let answer = ask_until_answered(context, &ask).await?;
    let CutoverAnswer::Flipped { map_version } = answer else {
        return Err(refused("flip the map", &answer));
    };
    window.flip = millis(flipping);
    fail_point::hit("cutover.flipped").await?;
    let opening = Instant::now();
    open(context, parties, number, map_version, &gaining).await?;
    window.open = millis(opening);
    window.total = millis(started);
    context.report_message(format!(
        "shard {} owns the keys; map version {map_version}",
        destination.name
    ));
    let refused = refused_by_both(parties, &losing, &gaining).await;
    tell_former(parties, number, map_version, &losing).await?;
    Ok(CutoverResult {
        attempt: number.0,
        map_version: map_version.0,
        write_block: window,
        dirty_keys: 0,
        refused,
        storage: facts.gaining_storage.clone(),
    })
}

async fn give_up(
    context: &StepContext,
    parties: &CutoverParties,
    attempt: AttemptNo,
    error: StepError,
) -> StepError {
    if error.is_superseded() {
        return error;
    }
    context.report_message(format!("attempt {attempt} is given up: {error}"));
    let ask = CutoverQuery::Release {
        direction: parties.direction,
        attempt,
        reason: error.to_string(),
    };
    match ask_until_answered(context, &ask).await {
        Ok(CutoverAnswer::Released) => error,
        Ok(answer) => refused("release the attempt", &answer),
        Err(second) => second,
    }
}
