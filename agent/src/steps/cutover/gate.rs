//! The gate (C1): waits until the conditions of a cutover are met, and reports the condition that is not met. No write
//! is refused yet.

use std::collections::HashSet;
use std::time::Duration;

use connect::Connected;
use plans::failure::{Failure, RetryClass, StepCode};
use plans::id::AttemptNo;
use plans::identity::DatabaseIdentity;
use plans::names::Direction;
use plans::sql::quote_ident;
use plans::step::StepKind;
use plans::step::cutover::CutoverResult;
use plans::step::verify::TableVerified;
use tokio::time::Instant;

use super::obstacles::FenceObstacles;
use super::{CutoverParties, before_rollback, unread_slot};
use crate::compare::{ComparisonRecords, TableStorage};
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::catalog;
use crate::postgres::replication::IDENTIFY;
use crate::shard::epoch::{AttemptCount, EpochToken};
use crate::shard::guard::cascade;
use crate::shard::{adopted_storage, guard, publication, register, sequences};
use crate::steps::definitions;

/// The pause after the first check. Each later pause is longer by half.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// The longest pause between two checks.
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
/// The interval at which the agent advances a slot that no stream reads yet.
const SLOT_ADVANCE_INTERVAL: Duration = Duration::from_secs(10);

/// What the gate has read. Definitions and file nodes must be the same immediately before the flip (R10).
pub(super) struct GateFacts {
    pub(super) fingerprint: String,
    /// The definitions of the old owner's guards.
    pub(super) guards: Vec<String>,
    /// The names of the sequences that exist on both shards.
    pub(super) sequences: Vec<String>,
    /// The file nodes of the old owner's tables, as of the comparison.
    pub(super) storage: TableStorage,
    /// The file nodes of the new owner's tables.
    pub(super) new_owner_storage: TableStorage,
    /// The results of the comparison that the target has recorded; `None` for a rollback.
    pub(super) compared: Option<Vec<TableVerified>>,
}

/// Waits until nothing prevents the cutover, so that it is expected to stay within its budget.
pub(super) async fn wait_at_gate(
    context: &StepContext,
    parties: &CutoverParties,
    old_owner: &Connected,
    new_owner: &Connected,
) -> Result<GateFacts, StepError> {
    context.ensure_stream(parties.direction).await?;
    divide_sequence_values(context, parties, old_owner, new_owner).await?;
    let mut obstacles = FenceObstacles::new(context, parties, old_owner, new_owner);
    let mut pause = FIRST_PAUSE;
    let mut slot_advanced = Instant::now();
    loop {
        let facts = read_facts(context, parties, old_owner, new_owner).await?;
        let obstacle = match obstacles.find().await? {
            None => find_rows_with_skipped_cascades(context, parties, new_owner).await?,
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

/// Divides the sequence values between the shards, so that from now on no two shards issue the same value. The caller
/// does this before any write is refused.
pub(super) async fn divide_sequence_values(
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

/// Checks definitions, guards, servers and the publication, and that no table was rewritten since the comparison.
/// Returns what was read.
pub(super) async fn read_facts(
    context: &StepContext,
    parties: &CutoverParties,
    old_owner: &Connected,
    new_owner: &Connected,
) -> Result<GateFacts, StepError> {
    let tables = &context.dispatch.tables;
    let id = &context.dispatch.migration;
    definitions::check_at_gate(
        context,
        &definitions::definition_sessions(parties.direction, old_owner, new_owner),
    )
    .await?;
    guard::check(new_owner, id, tables).await?;
    if context.is_online() {
        for owner in [new_owner, old_owner] {
            guard::owner_change::check(owner, id, tables).await?;
        }
    }
    check_identity(context, old_owner, parties.direction).await?;
    check_publication(context, old_owner, parties).await?;
    if parties.direction == Direction::Forward && context.is_online() {
        // The reverse stream reads this server. If it were another server, a rollback would be impossible (I6).
        check_identity(context, new_owner, Direction::Reverse).await?;
    }
    let storage = check_not_rewritten(context, parties, old_owner, new_owner).await?;
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
    let sequences = common_sequences(context, old_owner, new_owner).await?;
    Ok(GateFacts {
        fingerprint: context.dispatch.schema_fingerprint.clone(),
        guards: guard::check(old_owner, id, tables).await?,
        sequences,
        storage,
        new_owner_storage,
        compared,
    })
}

/// Returns the sequences that both shards have, without those of schemas that a move of whole tables leaves out.
async fn common_sequences(
    context: &StepContext,
    old_owner: &Connected,
    new_owner: &Connected,
) -> Result<Vec<String>, StepError> {
    let left_schemas = match context.schema_scope() {
        Some(scope) => scope.left_schemas(old_owner).await?,
        None => Vec::new(),
    };
    let left: HashSet<String> = left_schemas.iter().map(|name| quote_ident(name)).collect();
    let of_old_owner: HashSet<String> = sequences::list_names(old_owner)
        .await?
        .into_iter()
        .collect();
    let mut names = sequences::list_names(new_owner).await?;
    let is_left = |name: &String| left.contains(quoted_schema(name));
    names.retain(|name| of_old_owner.contains(name) && !is_left(name));
    Ok(names)
}

/// Returns the schema of a qualified and quoted name, with its quotes.
fn quoted_schema(name: &str) -> &str {
    let end = match name.strip_prefix('"') {
        Some(rest) => rest.find("\".").map(|end| end + 2),
        None => name.find('.'),
    };
    &name[..end.unwrap_or(name.len())]
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
/// records the attempt while it is closed. From now on cascades skip no row there. The function checks that the stream
/// has applied the effects of all cascades that were skipped. Returns the attempt counter of the new owner.
pub(super) async fn begin_attempt_on_witness(
    context: &StepContext,
    parties: &CutoverParties,
    new_owner: &Connected,
    attempt: AttemptNo,
) -> Result<AttemptCount, StepError> {
    let (shard, token) = (parties.new_shard(), &parties.shards.token);
    let count =
        register::begin_and_check_witness(new_owner, token, attempt, parties.version).await?;
    if cascade::refuse_skips(new_owner, token, count).await? == 0 {
        return Ok(count);
    }
    context.report_message("checking rows that cascades have skipped");
    let session = shard.session("cascades").await?;
    cascade::check_and_reset(&session, token, count, context.guarded_rows()).await?;
    Ok(count)
}

/// Returns a description of rows of the new owner that refer to missing rows, if there are any: a cascade has skipped
/// them, and the stream has not applied the cascade's effect on the old owner yet. An attempt would fail as long as
/// they exist.
async fn find_rows_with_skipped_cascades(
    context: &StepContext,
    parties: &CutoverParties,
    new_owner: &Connected,
) -> Result<Option<String>, StepError> {
    cascade::find_unfollowed(new_owner, &parties.shards.token, context.guarded_rows()).await
}

/// Checks that no table of the old owner was rewritten since the comparison, because no stream reports the values that
/// ALTER TABLE writes. Before a rollback, a table may also have the file node with which the shard became the owner, and
/// a partition the one with which it was adopted afterwards.
async fn check_not_rewritten(
    context: &StepContext,
    parties: &CutoverParties,
    old_owner: &Connected,
    new_owner: &Connected,
) -> Result<TableStorage, StepError> {
    let old_shard = parties.old_shard();
    let current = catalog::storage(old_owner, context.captured_tables(parties.direction)).await?;
    let token = context.token_for_cleanup();
    let compared = comparison_records(parties, new_owner, &token)
        .last_storage()
        .await?;
    if rewritten_since(&current, &compared).is_empty() {
        return Ok(current);
    }
    match parties.direction {
        Direction::Forward => Err(rewritten_error(rewritten_message(
            &old_shard.name,
            &rewritten_since(&current, &compared),
        ))),
        Direction::Reverse => {
            let adopted = adopted_storage::read(new_owner, &token, parties.direction).await?;
            let or_adopted =
                |before: TableStorage| adopted.clone().into_iter().chain(before).collect();
            if rewritten_since(&current, &or_adopted(compared)).is_empty() {
                return Ok(current);
            }
            let cutover: CutoverResult = context.output(StepKind::Cutover)?;
            let flipped = or_adopted(cutover.storage);
            let tables = rewritten_since(&current, &flipped);
            if tables.is_empty() {
                return Ok(current);
            }
            Err(before_rollback::impossible_error(format!(
                "{}: request a comparison with `verify`, with `--repair` if rows differ",
                rewritten_message(&old_shard.name, &tables)
            )))
        }
    }
}

/// Returns the tables whose file nodes in `current` are not those in `before`.
fn rewritten_since<'a>(current: &'a TableStorage, before: &TableStorage) -> Vec<&'a str> {
    current
        .iter()
        .filter(|(name, file_nodes)| before.get(*name) != Some(*file_nodes))
        .map(|(name, _)| name.as_str())
        .collect()
}

fn rewritten_message(shard: &str, tables: &[&str]) -> String {
    format!(
        "shard {shard}: tables were written anew since the rows were compared (by ALTER TABLE, VACUUM FULL or CLUSTER), so values may have changed: {}",
        tables.join(", ")
    )
}

/// Returns the error that makes the controller repeat the comparison and the steps after it.
fn rewritten_error(message: String) -> StepError {
    StepError::Rewind {
        to: StepKind::Verify,
        failure: Failure {
            code: StepCode::VerifyRewritten.into(),
            message,
            hint: Some(
                "the agent compares every row again; `ddl: refuse` in a request prevents changes of moving tables"
                    .to_owned(),
            ),
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

/// I10: checks that `session` is on the server and the timeline that the preflight recorded for the upstream shard of
/// this direction.
pub(in crate::steps) async fn check_identity(
    context: &StepContext,
    session: &Connected,
    direction: Direction,
) -> Result<(), StepError> {
    let shard = session.name();
    let (source, target) = context.known_servers()?;
    let expected = match direction {
        Direction::Forward => source,
        Direction::Reverse => target,
    };
    let found = read_identity(session).await?;
    if found == expected {
        return Ok(());
    }
    Err(StepError::refused(
        StepCode::ServerChanged,
        format!(
            "shard {shard} is on another server than when the migration began, or a standby was promoted"
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
