//! The gate (C1): waits until the conditions of a cutover are met, and reports the one that is not. No write is refused
//! yet.

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

use super::obstacles::FenceObstacles;
use super::{CutoverParties, before_rollback, unread_slot};
use crate::compare::{ComparisonRecords, TableStorage};
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::catalog;
use crate::postgres::replication::IDENTIFY;
use crate::shard::epoch::EpochToken;
use crate::shard::guard::cascade;
use crate::shard::{guard, publication, register, sequences};
use crate::steps::definitions;

/// Pause between the first two checks. Each later pause is longer by half.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// The longest pause between two checks.
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
/// The interval at which the agent advances a slot that no stream reads yet.
const SLOT_ADVANCE_INTERVAL: Duration = Duration::from_secs(10);

/// Facts that the gate has read and that must be unchanged immediately before the flip (R10).
pub(super) struct GateFacts {
    pub(super) fingerprint: String,
    pub(super) guards: Vec<String>,
    pub(super) sequences: Vec<String>,
    /// The file nodes of the old owner's tables, as of the comparison.
    pub(super) storage: TableStorage,
    /// The file nodes of the new owner's tables.
    pub(super) new_owner_storage: TableStorage,
    /// The results of the comparison that the target has recorded; None for a rollback.
    pub(super) compared: Option<Vec<TableVerified>>,
}

/// Waits until the cutover is expected to stay within its budget.
pub(super) async fn wait_at_gate(
    context: &StepContext,
    parties: &CutoverParties,
    old_owner: &Connected,
    new_owner: &Connected,
) -> Result<GateFacts, StepError> {
    context.ensure_stream(parties.direction).await?;
    share_out_sequences(context, parties, old_owner, new_owner).await?;
    let mut obstacles = FenceObstacles::new(context, parties, old_owner);
    let mut pause = FIRST_PAUSE;
    let mut slot_advanced = Instant::now();
    loop {
        let facts = read_facts(context, parties, old_owner, new_owner).await?;
        let obstacle = match obstacles.find().await? {
            None => find_unfollowed_rows(context, parties, new_owner).await?,
            Some(reason) => Some(reason),
        };
        match obstacle {
            None => return Ok(facts),
            Some(reason) => context.report_waiting(format!("the cutover waits: {reason}"), &reason),
        }
        if slot_advanced.elapsed() >= SLOT_ADVANCE_INTERVAL {
            unread_slot::advance_unread_slot(context, unread_slot::opposite(parties.direction))
                .await?;
            slot_advanced = Instant::now();
        }
        tokio::select! {
            () = context.cancel.cancelled() => return Err(StepError::Interrupted),
            () = tokio::time::sleep(pause) => {}
        }
        pause = pause.mul_f32(1.5).min(LONGEST_PAUSE);
    }
}

/// Divides the sequence values between the shards, so that neither shard issues a value of the other one. This happens
/// before any write is refused.
pub(super) async fn share_out_sequences(
    context: &StepContext,
    parties: &CutoverParties,
    old_owner: &Connected,
    new_owner: &Connected,
) -> Result<(), StepError> {
    let token = context.token_for_cleanup();
    let tables = context.keyed_tables();
    let (old_shard, new_shard) = (parties.old_shard(), parties.new_shard());
    for (session, shard) in [(old_owner, old_shard), (new_owner, new_shard)] {
        let share = shard.sequence_share(context.dispatch.sequences);
        sequences::share_out(session, &token, &tables, share).await?;
    }
    Ok(())
}

/// Checks definitions, guards, servers, the publication and rewrites. Returns the facts that must not change until the
/// flip.
pub(super) async fn read_facts(
    context: &StepContext,
    parties: &CutoverParties,
    old_owner: &Connected,
    new_owner: &Connected,
) -> Result<GateFacts, StepError> {
    let tables = &context.dispatch.tables;
    let id = &context.dispatch.migration;
    definitions::compare_definitions(
        context,
        &definitions::definition_sessions(parties.direction, old_owner, new_owner),
    )
    .await?;
    guard::check(new_owner, id, tables).await?;
    check_identity(context, old_owner, parties.direction).await?;
    check_publication(context, old_owner, parties).await?;
    if parties.direction == Direction::Forward && context.is_online() {
        // The reverse stream reads this server. Without it, a rollback would be impossible (I6).
        check_identity(context, new_owner, Direction::Reverse).await?;
    }
    let storage = check_rewritten(context, parties, old_owner, new_owner).await?;
    let captured_tables = context.captured_tables(parties.direction);
    let new_owner_storage = catalog::storage(new_owner, captured_tables).await?;
    let compared = match parties.direction {
        Direction::Forward => Some(
            comparison_records(parties, new_owner, &context.token_for_cleanup())
                .digests()
                .await?,
        ),
        Direction::Reverse => None,
    };
    let mut names = sequences::list_names(new_owner).await?;
    let old_names = sequences::list_names(old_owner).await?;
    names.retain(|name| old_names.contains(name));
    Ok(GateFacts {
        fingerprint: context.dispatch.schema_fingerprint.clone(),
        guards: guard::check(old_owner, id, tables).await?,
        sequences: names,
        storage,
        new_owner_storage,
        compared,
    })
}

/// Returns the records of the comparison on the new owner.
fn comparison_records<'a>(
    parties: &'a CutoverParties,
    new_owner: &'a Connected,
    token: &'a EpochToken,
) -> ComparisonRecords<'a> {
    ComparisonRecords {
        client: new_owner,
        token,
        direction: parties.direction,
    }
}

/// Begins the attempt on the new owner, before the old owner refuses any write. The new owner is the witness (I4): it
/// records the attempt while it is closed. From now on cascades skip no row there, and the function proves that the
/// stream has applied all skipped changes. Returns the attempt count of the new owner.
pub(super) async fn begin_witness(
    context: &StepContext,
    parties: &CutoverParties,
    new_owner: &Connected,
    attempt: AttemptNo,
) -> Result<i64, StepError> {
    let (shard, token) = (parties.new_shard(), &parties.shards.token);
    let version = parties.version.0;
    let count = register::begin_and_check_witness(new_owner, token, attempt.0, version).await?;
    if cascade::refuse_skips(new_owner, token, count).await? == 0 {
        return Ok(count);
    }
    context.report_message("looking for rows that cascades have skipped");
    let session = shard.session("cascades").await?;
    cascade::check_and_reset(&session, token, count, context.guarded_rows()).await?;
    Ok(count)
}

/// Returns which rows of the new owner refer to missing rows at present, so that no attempt begins that must fail. The
/// cause is a cascade whose effect on the old owner the stream has not applied yet.
async fn find_unfollowed_rows(
    context: &StepContext,
    parties: &CutoverParties,
    new_owner: &Connected,
) -> Result<Option<String>, StepError> {
    cascade::find_unfollowed(new_owner, &parties.shards.token, context.guarded_rows()).await
}

/// Checks that the old owner's tables still have the file nodes of the comparison, or for a rollback those of the time
/// when it became the owner. No stream reports the values that ALTER TABLE writes.
async fn check_rewritten(
    context: &StepContext,
    parties: &CutoverParties,
    old_owner: &Connected,
    new_owner: &Connected,
) -> Result<TableStorage, StepError> {
    let old_shard = parties.old_shard();
    let now = catalog::storage(old_owner, context.captured_tables(parties.direction)).await?;
    let token = context.token_for_cleanup();
    let compared = comparison_records(parties, new_owner, &token)
        .last_storage()
        .await?;
    if rewritten_since(&now, &compared).is_empty() {
        return Ok(now);
    }
    match parties.direction {
        Direction::Forward => Err(rewritten_error(rewritten_message(
            &old_shard.name,
            &rewritten_since(&now, &compared),
        ))),
        Direction::Reverse => {
            let gained: CutoverResult = context.output(StepKind::Cutover)?;
            let tables = rewritten_since(&now, &gained.storage);
            if tables.is_empty() {
                return Ok(now);
            }
            Err(before_rollback::impossible_error(format!(
                "{}: request a comparison with `verify`, with `--repair` if rows differ",
                rewritten_message(&old_shard.name, &tables)
            )))
        }
    }
}

/// Returns the tables that were rewritten.
fn rewritten_since<'a>(now: &'a TableStorage, before: &TableStorage) -> Vec<&'a str> {
    now.iter()
        .filter(|(name, file_nodes)| before.get(*name) != Some(*file_nodes))
        .map(|(name, _)| name.as_str())
        .collect()
}

fn rewritten_message(shard: &str, tables: &[&str]) -> String {
    format!(
        "shard {shard}: {} written anew since the rows were compared (ALTER TABLE, VACUUM FULL, CLUSTER), so values may have changed",
        tables.join(", ")
    )
}

/// Returns the error that makes the controller repeat the comparison and the steps after it.
fn rewritten_error(message: String) -> StepError {
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

/// Checks that the old owner's publication sends every change. An offline move has no publication.
pub(super) async fn check_publication(
    context: &StepContext,
    old_owner: &Connected,
    parties: &CutoverParties,
) -> Result<(), StepError> {
    if !context.is_online() {
        return Ok(());
    }
    let token = context.token_for_cleanup();
    publication::check(old_owner, &token, parties.direction).await
}

/// I10: checks that the upstream shard of this direction is still the same server on the same timeline.
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
    let found = read_identity(session).await?;
    if found == expected {
        return Ok(());
    }
    Err(StepError::refused(
        "server.changed",
        format!(
            "shard {shard} is another server, or was promoted to another timeline, since the migration began"
        ),
        "`abort` the migration and plan it again",
    ))
}

/// Reads the system identifier and the timeline of a session's server.
pub(super) async fn read_identity(session: &Connected) -> Result<DatabaseIdentity, StepError> {
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
