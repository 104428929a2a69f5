//! The gate (C1): what must hold before anything is refused to anybody. Waits and says why.

use std::time::Duration;

use plans::names::Direction;
use plans::step::StepKind;
use plans::step::preflight::{Identity, Preflighted};
use tokio_postgres::Client;

use super::Parties;
use crate::error::{At, StepError};
use crate::owned::Context;
use crate::pg::{catalog, guard, sequences, wait_out};
use crate::steps::catch_up;

/// Pause between two looks at what stands in the way.
const PAUSE: Duration = Duration::from_millis(200);
/// What was seen at the gate and must still be so right before the flip (R10).
pub(super) struct Facts {
    pub(super) fingerprint: String,
    pub(super) guards: Vec<String>,
    pub(super) sequences: Vec<String>,
}

/// Waits until the cutover can be expected to fit its budget.
pub(super) async fn pass(context: &Context, parties: &Parties) -> Result<Facts, StepError> {
    context.ensure_stream(parties.direction).await?;
    let losing = parties.sides.origin.session("gate").await?;
    let gaining = parties.sides.destination.session("gate").await?;
    share_out(context, parties, &losing, &gaining).await?;
    loop {
        let facts = facts(context, parties, &losing, &gaining).await?;
        match obstacle(context, parties, &losing).await? {
            None => return Ok(facts),
            Some(reason) => context.say(format!("the cutover waits: {reason}")),
        }
        if context.cancel.is_cancelled() {
            return Err(StepError::Interrupted);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// What keeps the cutover from starting now, if anything does.
async fn obstacle(
    context: &Context,
    parties: &Parties,
    losing: &Client,
) -> Result<Option<String>, StepError> {
    let options = &context.dispatch.options;
    let tables = &context.keyed();
    let budget = options.write_stop_budget_ms;
    let shard = parties.sides.origin.name.as_str();
    let obstacles = wait_out::obstacles(losing, tables, budget, shard).await?;
    if let Some(first) = obstacles.first() {
        return Ok(Some(first.clone()));
    }
    let lag = catch_up::probe(context, parties.direction).await?;
    let level = catch_up::level(context);
    Ok((lag > level).then(|| {
        format!(
            "a marker takes {} ms, more than {} ms",
            lag.as_millis(),
            level.as_millis()
        )
    }))
}

/// Sequence values are shared out before anything is refused: afterwards neither shard issues the other's.
pub(super) async fn share_out(
    context: &Context,
    parties: &Parties,
    losing: &Client,
    gaining: &Client,
) -> Result<(), StepError> {
    let token = context.token_for_cleanup();
    let tables = context.keyed();
    let (origin, destination) = (&parties.sides.origin, &parties.sides.destination);
    for (session, shard) in [(losing, origin), (gaining, destination)] {
        let share = shard.share(context.dispatch.sequences);
        sequences::share_out(session, &token, &tables, share, &shard.name).await?;
    }
    Ok(())
}

pub(super) async fn facts(
    context: &Context,
    parties: &Parties,
    losing: &Client,
    gaining: &Client,
) -> Result<Facts, StepError> {
    let tables = &context.dispatch.tables;
    let id = &context.dispatch.migration;
    let (origin, destination) = (&parties.sides.origin, &parties.sides.destination);
    let fingerprint = catalog::fingerprint(losing, tables, &origin.name).await?;
    let other = catalog::fingerprint(gaining, tables, &destination.name).await?;
    let planned = &context.dispatch.schema_fingerprint;
    for (found, shard) in [(&fingerprint, &origin.name), (&other, &destination.name)] {
        if found != planned {
            return Err(StepError::refused(
                "schema.drift",
                format!("shard {shard}: the moving tables are not as the plan describes them"),
                "make both sides equal again and `resume`, or abort the migration and plan it again",
            ));
        }
    }
    guard::check(gaining, id, tables, &destination.name).await?;
    check_identity(context, losing, &origin.name, parties.direction).await?;
    let mut names = sequences::names(gaining, &destination.name).await?;
    let there = sequences::names(losing, &origin.name).await?;
    names.retain(|name| there.contains(name));
    Ok(Facts {
        fingerprint,
        guards: guard::check(losing, id, tables, &origin.name).await?,
        sequences: names,
    })
}

/// I10: the same server and the same timeline as when the capture was opened.
pub(super) async fn check_identity(
    context: &Context,
    session: &Client,
    shard: &str,
    direction: Direction,
) -> Result<(), StepError> {
    let known: Preflighted = context.output(StepKind::Preflight)?;
    let expected = match direction {
        Direction::Forward => known.source,
        Direction::Reverse => known.target,
    };
    let row = session
        .query_one(
            "select system_identifier::text,
                    pg_catalog.substring(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 1, 8)
             from pg_catalog.pg_control_system()",
            &[],
        )
        .await
        .at(format_args!("shard {shard}: identifying the server"))?;
    let timeline: String = row.get(1);
    let found = Identity {
        system: row.get(0),
        timeline: i32::from_str_radix(&timeline, 16).unwrap_or(0),
    };
    if found == expected {
        return Ok(());
    }
    Err(StepError::refused(
        "server.changed",
        format!(
            "shard {shard} is another server, or was promoted to another timeline, since the capture was opened"
        ),
        "abort the migration and plan it again",
    ))
}
