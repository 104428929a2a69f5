//! The gate (C1): what must hold before anything is refused to anybody. Waits and says why.

use std::time::Duration;

use connect::Connected;
use plans::failure::{Failure, RetryClass};
use plans::id::AttemptNo;
use plans::identity::DatabaseIdentity;
use plans::names::Direction;
use plans::step::StepKind;
use plans::step::cutover::CutoverResult;
use plans::step::preflight::Preflighted;
use plans::step::verify::TableVerified;
use tokio::time::Instant;

use super::clear_way::FenceObstacles;
use super::{CutoverParties, spare, way_back};
use crate::compare::{ComparisonRecords, TableStorage};
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::catalog;
use crate::postgres::replication::IDENTIFY;
use crate::shard::epoch::EpochToken;
use crate::shard::guard::cascade;
use crate::shard::{guard, publication, register, sequences};
use crate::steps::shape;

/// Pause between the first two looks at what stands in the way; each one after that is half as long again.
const PAUSE: Duration = Duration::from_millis(200);
/// Longest pause between two looks.
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
/// A slot that nobody reads is moved along this often.
const SPARE_EVERY: Duration = Duration::from_secs(10);

/// What was seen at the gate and must still be so right before the flip (R10).
pub(super) struct GateFacts {
    pub(super) fingerprint: String,
    pub(super) guards: Vec<String>,
    pub(super) sequences: Vec<String>,
    /// Where the losing shard's rows lie, which were compared.
    pub(super) storage: TableStorage,
    /// The same of the gaining shard: what it will own.
    pub(super) gaining_storage: TableStorage,
    /// What the target has recorded of the comparison; none of a way back.
    pub(super) compared: Option<Vec<TableVerified>>,
}

/// Waits until the cutover can be expected to fit its budget.
pub(super) async fn pass(
    context: &StepContext,
    parties: &CutoverParties,
    losing: &Connected,
    gaining: &Connected,
) -> Result<GateFacts, StepError> {
    context.ensure_stream(parties.direction).await?;
    share_out(context, parties, losing, gaining).await?;
    let mut way = FenceObstacles::new(context, parties, losing);
    let mut pause = PAUSE;
    let mut spared = Instant::now();
    loop {
        let facts = facts(context, parties, losing, gaining).await?;
        let obstacle = match way.obstacle().await? {
            None => unsettled(context, parties, gaining).await?,
            Some(reason) => Some(reason),
        };
        match obstacle {
            None => return Ok(facts),
            Some(reason) => context.report_waiting(format!("the cutover waits: {reason}"), &reason),
        }
        if spared.elapsed() >= SPARE_EVERY {
            spare::let_log_go(context, spare::opposite(parties.direction)).await?;
            spared = Instant::now();
        }
        tokio::select! {
            () = context.cancel.cancelled() => return Err(StepError::Interrupted),
            () = tokio::time::sleep(pause) => {}
        }
        pause = pause.mul_f32(1.5).min(LONGEST_PAUSE);
    }
}

/// Sequence values are shared out before anything is refused: afterwards neither shard issues the other's.
pub(super) async fn share_out(
    context: &StepContext,
    parties: &CutoverParties,
    losing: &Connected,
    gaining: &Connected,
) -> Result<(), StepError> {
    let token = context.token_for_cleanup();
    let tables = context.keyed_tables();
    let (origin, destination) = (&parties.sides.origin, &parties.sides.destination);
    for (session, shard) in [(losing, origin), (gaining, destination)] {
        let share = shard.sequence_share(context.dispatch.sequences);
        sequences::share_out(session, &token, &tables, share).await?;
    }
    Ok(())
}

pub(super) async fn facts(
    context: &StepContext,
    parties: &CutoverParties,
    losing: &Connected,
    gaining: &Connected,
) -> Result<GateFacts, StepError> {
    let tables = &context.dispatch.tables;
    let id = &context.dispatch.migration;
    shape::compare(
        context,
        &shape::of_sides(parties.direction, losing, gaining),
    )
    .await?;
    guard::check(gaining, id, tables).await?;
    check_identity(context, losing, parties.direction).await?;
    check_stream(context, losing, parties).await?;
    if parties.direction == Direction::Forward && context.is_online() {
        // The stream back is that server's: without it the keys could not come back (I6).
        check_identity(context, gaining, Direction::Reverse).await?;
    }
    let storage = check_rewritten(context, parties, losing, gaining).await?;
    let captured = context.captured_tables(parties.direction);
    let gaining_storage = catalog::storage(gaining, captured).await?;
    let compared = match parties.direction {
        Direction::Forward => Some(
            records(parties, gaining, &context.token_for_cleanup())
                .digests()
                .await?,
        ),
        Direction::Reverse => None,
    };
    let mut names = sequences::list_names(gaining).await?;
    let there = sequences::list_names(losing).await?;
    names.retain(|name| there.contains(name));
    Ok(GateFacts {
        fingerprint: context.dispatch.schema_fingerprint.clone(),
        guards: guard::check(losing, id, tables).await?,
        sequences: names,
        storage,
        gaining_storage,
        compared,
    })
}

/// What the gaining shard has recorded of the comparison.
fn records<'a>(
    parties: &'a CutoverParties,
    gaining: &'a Connected,
    token: &'a EpochToken,
) -> ComparisonRecords<'a> {
    ComparisonRecords {
        client: gaining,
        token,
        direction: parties.direction,
    }
}

/// Begins the attempt on the shard that is to gain the keys, before anything is refused on the other one: it testifies
/// (I4), from here on no cascade skips a row there, and what was skipped so far has followed. Its count.
pub(super) async fn witness(
    context: &StepContext,
    parties: &CutoverParties,
    gaining: &Connected,
    attempt: AttemptNo,
) -> Result<i64, StepError> {
    let (shard, token) = (&parties.sides.destination, &parties.sides.token);
    let version = parties.version.0;
    let count = register::begin_and_check_witness(gaining, token, attempt.0, version).await?;
    if cascade::refuse_skips(gaining, token, count).await? == 0 {
        return Ok(count);
    }
    context.report_message("looking for rows that cascades have skipped");
    let session = shard.session("cascades").await?;
    cascade::check_and_reset(&session, token, count, context.guarded_rows()).await?;
    Ok(count)
}

/// What the gaining shard would lack now, so that no attempt begins in vain.
async fn unsettled(
    context: &StepContext,
    parties: &CutoverParties,
    gaining: &Connected,
) -> Result<Option<String>, StepError> {
    cascade::find_unfollowed(gaining, &parties.sides.token, context.guarded_rows()).await
}

/// The losing shard's rows are those that were compared, or for a way back those that it had when it gained the keys:
/// no stream tells what an ALTER TABLE writes.
async fn check_rewritten(
    context: &StepContext,
    parties: &CutoverParties,
    losing: &Connected,
    gaining: &Connected,
) -> Result<TableStorage, StepError> {
    let origin = &parties.sides.origin;
    let now = catalog::storage(losing, context.captured_tables(parties.direction)).await?;
    let token = context.token_for_cleanup();
    let compared = records(parties, gaining, &token).last_storage().await?;
    if rewritten_since(&now, &compared).is_empty() {
        return Ok(now);
    }
    match parties.direction {
        Direction::Forward => Err(rewritten(told(
            &origin.name,
            &rewritten_since(&now, &compared),
        ))),
        Direction::Reverse => {
            let gained: CutoverResult = context.output(StepKind::Cutover)?;
            let tables = rewritten_since(&now, &gained.storage);
            if tables.is_empty() {
                return Ok(now);
            }
            Err(way_back::impossible(format!(
                "{}: order a comparison with `verify`, with `--repair` where rows differ",
                told(&origin.name, &tables)
            )))
        }
    }
}

/// The tables that were written anew.
fn rewritten_since<'a>(now: &'a TableStorage, before: &TableStorage) -> Vec<&'a str> {
    now.iter()
        .filter(|(name, lies)| before.get(*name) != Some(*lies))
        .map(|(name, _)| name.as_str())
        .collect()
}

fn told(shard: &str, tables: &[&str]) -> String {
    format!(
        "shard {shard}: {} written anew since the rows were compared (ALTER TABLE, VACUUM FULL, CLUSTER), so values may have changed",
        tables.join(", ")
    )
}

/// The comparison is made again, and what waits for it.
fn rewritten(message: String) -> StepError {
    StepError::Rewind {
        to: StepKind::Verify,
        failure: Failure {
            code: "verify.rewritten".to_owned(),
            message,
            hint: Some("every row is compared again; `ddl: refuse` keeps others from altering moving tables".to_owned()),
            retry: RetryClass::Exponential,
        },
    }
}

/// What the losing shard's stream sends is everything that it should; an offline move has none.
pub(super) async fn check_stream(
    context: &StepContext,
    losing: &Connected,
    parties: &CutoverParties,
) -> Result<(), StepError> {
    if !context.is_online() {
        return Ok(());
    }
    let token = context.token_for_cleanup();
    publication::check(losing, &token, parties.direction).await
}

/// I10: the shard that a stream of this direction reads is the same server, on the same timeline, as at first.
pub(in crate::steps) async fn check_identity(
    context: &StepContext,
    session: &Connected,
    direction: Direction,
) -> Result<(), StepError> {
    let shard = session.name();
    let known: Preflighted = context.output(StepKind::Preflight)?;
    let expected = match direction {
        Direction::Forward => known.source,
        Direction::Reverse => known.target,
    };
    let found = identity(session).await?;
    if found == expected {
        return Ok(());
    }
    Err(StepError::refused(
        "server.changed",
        format!(
            "shard {shard} is another server, or was promoted to another timeline, since the migration began"
        ),
        "`abort` it and plan it again",
    ))
}

/// Which server a session is on, and its timeline.
pub(super) async fn identity(session: &Connected) -> Result<DatabaseIdentity, StepError> {
    let shard = session.name();
    let rows = session
        .query_prepared(IDENTIFY, &[])
        .await
        .at(format_args!("shard {shard}: identifying the server"))?;
    let timeline: String = rows[0].get(1);
    Ok(DatabaseIdentity {
        system: rows[0].get(0),
        timeline: i32::from_str_radix(&timeline, 16).unwrap_or(0),
        ..DatabaseIdentity::default()
    })
}
