//! Checks before a step that the definitions of the moving tables on both shards are those of the plan. If they are
//! equal on both shards but not those of the plan, the agent reports the new definition to the controller.
//!
//! Order:
//! 1. If the request demands it, create the event triggers that refuse DDL.
//! 2. Retire partitions that the application has dropped or detached on the owner of the keys.
//! 3. Before the verification, create dropped guards again.
//! 4. Adopt partitions, and tables that refer to moving ones, that the application has created there.
//! 5. Compare the definitions. Before the flip, no other table may refer to the moving ones.

mod adoption;
mod follow;
mod partition_monitor;
pub(crate) mod references;
mod retirement;

use connect::Connected;
use plans::failure::StepCode;
use plans::names::Direction;
use plans::request::Ddl;
use plans::step::StepKind;
use plans::step::create_target::TargetCreated;
use plans::table::{MovingTable, TableName};
use tokio_postgres::error::SqlState;

use crate::controller::CleanupRecord;
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::catalog::{self, RetiredPartitions};
use crate::shard::ddl::{self, DefinitionSide};
use crate::shard::epoch;
use crate::shard::guard::cascade;
use crate::shard::guard::{self, ddl_guard};
use crate::shard::partitions::{self, TablePartition};

pub(super) use follow::record_for_hold;
pub(crate) use follow::wait_until_followed;
pub(crate) use follow::{follow_after_failure, is_followed, watch};

/// How often the definitions are compared again because partitions were created or removed meanwhile.
const MAX_RACES: u32 = 5;

/// One session on each shard, to compare the definitions of the tables.
pub(super) struct DefinitionSessions<'a> {
    pub(super) source: &'a Connected,
    pub(super) target: &'a Connected,
}

/// Checks the definitions of the moving tables on both shards before a step, if the step needs them.
///
/// # Errors
/// `schema.drift` with the differences; [`StepError::Reshaped`] if both shards have the same new definition.
pub(crate) async fn check(context: &StepContext, kind: StepKind) -> Result<(), StepError> {
    // After the end of its stream, a hold leaves the other shard outdated.
    if !compares_definitions(kind) || has_lost_stream(context, kind) {
        return Ok(());
    }
    let (source, target) = (context.source()?, context.target()?);
    let source_session = source.session("shape").await?;
    let target_session = target.session("shape").await?;
    let sessions = DefinitionSessions {
        source: &source_session,
        target: &target_session,
    };
    if context.dispatch.options.ddl == Ddl::Refuse {
        create_ddl_guards(context, &sessions).await?;
    }
    retirement::retire_partitions(context, kind, &sessions).await?;
    if kind == StepKind::Verify && context.is_online() {
        restore_guards(context, &sessions).await?;
    }
    if context.follows_definitions() {
        return Box::pin(follow::check(context, kind, &sessions)).await;
    }
    Box::pin(compare_definitions(context, &sessions)).await
}

/// Returns whether the step is a hold that continues without its stream.
fn has_lost_stream(context: &StepContext, kind: StepKind) -> bool {
    super::is_hold(kind) && context.session.stream_end().is_some()
}

/// Waits until the application has created, dropped or detached a partition, so that the step ends. Returns a description.
/// Never returns if the step continues with such a change.
pub(crate) async fn wait_for_changed_partition(context: &StepContext, kind: StepKind) -> String {
    // If the agent follows changes, it ends the step itself once the other definitions are equal.
    if adopts_partitions_in(kind) && !context.follows_definitions() {
        partition_monitor::wait_for_change(context, kind).await
    } else {
        std::future::pending().await
    }
}

/// A step failed: the cause may be a partition that the owner of the keys does not have any more. The next attempt retires
/// it. Returns the error that the step ends with.
pub(crate) async fn retry_after_departure(
    context: &StepContext,
    kind: StepKind,
    error: StepError,
) -> StepError {
    let is_failure = matches!(error, StepError::Failed(_));
    if !is_failure || error.is_superseded() || !compares_definitions(kind) {
        return error;
    }
    let departed = async {
        let direction = direction_of(kind);
        let (owner, _) = context.owner_and_other(direction)?;
        let session = owner.session("shape").await?;
        retirement::departed_partition(context, &session, direction).await
    };
    match departed.await {
        Ok(Some(change)) => {
            tracing::info!(%error, "the step is tried again: {change}");
            follow::again(error)
        }
        Ok(None) => error,
        Err(other) => {
            tracing::debug!(%other, "the partitions of the owner could not be read");
            error
        }
    }
}

/// Returns the direction in which changes of the tables' owner reach the other shard during the step.
fn direction_of(kind: StepKind) -> Direction {
    match kind {
        StepKind::Hold | StepKind::Rollback => Direction::Reverse,
        StepKind::Preflight
        | StepKind::CreateTarget
        | StepKind::OpenCapture
        | StepKind::Promote
        | StepKind::SetReadOnly
        | StepKind::Copy
        | StepKind::CatchUp
        | StepKind::BuildIndexes
        | StepKind::Verify
        | StepKind::OpenReverse
        | StepKind::Cutover
        | StepKind::HoldBack
        | StepKind::DropOld
        | StepKind::DropSurplus
        | StepKind::Unwind
        | StepKind::DropNew => Direction::Forward,
    }
}

/// Returns whether the step ends when the application has created a partition, so that the migration adopts it. Other
/// steps are short, wait for such a partition themselves, or check the definitions at their end.
fn adopts_partitions_in(kind: StepKind) -> bool {
    matches!(
        kind,
        StepKind::Copy | StepKind::CatchUp | StepKind::Verify | StepKind::Hold | StepKind::HoldBack
    )
}

/// Checks the definitions at the gate of an attempt. If the agent follows changes, the next attempt begins with this.
///
/// # Errors
/// See [`check`]; `schema.changed` if the agent follows changes.
pub(super) async fn check_at_gate(
    context: &StepContext,
    sessions: &DefinitionSessions<'_>,
) -> Result<(), StepError> {
    let compared = compare_definitions(context, sessions).await;
    match compared {
        Err(StepError::Failed(failure)) if context.follows_definitions() => {
            Err(StepError::not_yet(StepCode::SchemaChanged, failure.message))
        }
        compared => compared,
    }
}

/// Returns whether the definitions are compared before this step. They are not compared before steps that begin the
/// capture or remove objects, although both shards may have the tables.
fn compares_definitions(kind: StepKind) -> bool {
    match kind {
        StepKind::Copy
        | StepKind::CatchUp
        | StepKind::BuildIndexes
        | StepKind::Verify
        | StepKind::OpenReverse
        | StepKind::Cutover
        | StepKind::Hold
        | StepKind::Rollback
        | StepKind::HoldBack => true,
        StepKind::Preflight
        | StepKind::CreateTarget
        | StepKind::OpenCapture
        | StepKind::SetReadOnly
        | StepKind::Promote
        | StepKind::DropOld
        | StepKind::DropSurplus
        | StepKind::Unwind
        | StepKind::DropNew => false,
    }
}

/// Adopts new partitions of the owner, and compares the definitions on both shards; see [`check`] for the errors.
pub(super) async fn compare_definitions(
    context: &StepContext,
    sessions: &DefinitionSessions<'_>,
) -> Result<(), StepError> {
    let tops = partitions::topmost_tables(context.planned_tables.iter());
    let (owner, _) = owner_and_other(context, sessions);
    let mut found = partitions::read(owner, &tops).await?;
    for _ in 0..MAX_RACES {
        let compared = adopt_and_compare(context, sessions, &found).await;
        let Err(error) = &compared else {
            return compared;
        };
        // The application may have created or removed a partition between two of the queries.
        let now = partitions::read(owner, &tops).await?;
        if !can_be_a_race(error) || now == found {
            return compared;
        }
        found = now;
    }
    Err(StepError::not_yet(
        StepCode::SchemaChanged,
        format!(
            "shard {}: the partitions of a moving table change all the time",
            owner.name()
        ),
    ))
}

/// Returns the sessions on the owner of the keys and on the other shard.
fn owner_and_other<'a>(
    context: &StepContext,
    sessions: &DefinitionSessions<'a>,
) -> (&'a Connected, &'a Connected) {
    let kind = context.dispatch.step.as_ref().map(|(_, kind)| *kind);
    match kind.map(direction_of) {
        Some(Direction::Reverse) => (sessions.target, sessions.source),
        Some(Direction::Forward) | None => (sessions.source, sessions.target),
    }
}

/// Returns whether the error is one of those that a change of partitions causes while the agent reads them.
fn can_be_a_race(error: &StepError) -> bool {
    error.has_code(StepCode::SchemaDrift)
        || error.has_code(StepCode::SchemaChanged)
        || error.sqlstate() == Some(SqlState::UNDEFINED_TABLE.code())
}

async fn adopt_and_compare(
    context: &StepContext,
    sessions: &DefinitionSessions<'_>,
    partitions: &[TablePartition],
) -> Result<(), StepError> {
    let adopts_new = adoption::adopt_new(context, sessions).await?;
    references::check(context, sessions.source, partitions, adopts_new).await?;
    let kind = context.dispatch.step.as_ref().map(|(_, kind)| *kind);
    if kind == Some(StepKind::Rollback) {
        let (owner, _) = owner_and_other(context, sessions);
        references::check_before_rollback(context, owner).await?;
    }
    let tables = &context.keyed_tables();
    let (owner, other) = owner_and_other(context, sessions);
    let compared = context.compared_tables();
    let of_owner = catalog::fingerprint(owner, &compared).await?;
    let of_other = catalog::fingerprint_of_follower(other, &compared).await?;
    let planned = &context.dispatch.schema_fingerprint;
    if &of_owner == planned && &of_other == planned {
        return Ok(());
    }
    let without_indexes = has_no_indexes_yet(context)?;
    let names: Vec<TableName> = tables.iter().map(|table| table.table.clone()).collect();
    let retired = context.retired_names();
    let definitions = (
        catalog::facts(owner, &names, RetiredPartitions::OfOwner(&retired)).await?,
        catalog::facts(other, &names, RetiredPartitions::OfFollower(&retired)).await?,
    );
    let side = |shard, definitions| DefinitionSide { shard, definitions };
    let differences = ddl::differences(
        side(owner.name(), &definitions.0),
        side(other.name(), &definitions.1),
        without_indexes,
    );
    if !differences.is_empty() {
        return Err(ddl::drift_error(&differences));
    }
    report_common_definition(context, sessions, of_owner, without_indexes).await
}

/// Returns [`StepError::Reshaped`] for a definition that is the same on both shards and differs from the plan: with
/// this error the agent reports the definition to the controller. Returns `Ok` if only the indexes of a new target are
/// missing.
async fn report_common_definition(
    context: &StepContext,
    sessions: &DefinitionSessions<'_>,
    fingerprint: String,
    without_indexes: bool,
) -> Result<(), StepError> {
    let planned = &context.dispatch.tables;
    let (tables, changes) =
        ddl::reshaped_tables(&context.planned_tables, [sessions.source, sessions.target]).await?;
    // The step `build_indexes` compares indexes, constraints and triggers of a new target when it has built them.
    if without_indexes && columns_of_tables(&tables) == columns_of_tables(planned) {
        return Ok(());
    }
    Err(StepError::Reshaped {
        tables,
        fingerprint,
        changes,
        followed: Vec::new(),
        copy_again: false,
        retired: Box::default(),
    })
}

/// Returns the columns of each table, for a comparison.
fn columns_of_tables(tables: &[MovingTable]) -> Vec<&[plans::table::Column]> {
    tables
        .iter()
        .map(|table| table.columns.as_slice())
        .collect()
}

/// Returns whether the migration created the tables and has not built their indexes yet.
fn has_no_indexes_yet(context: &StepContext) -> Result<bool, StepError> {
    if context.is_seeded() {
        return Ok(false);
    }
    let created: TargetCreated = context.output(StepKind::CreateTarget)?;
    Ok(created.created && !context.is_done(StepKind::BuildIndexes))
}

/// Creates on both shards the event triggers that refuse DDL on the moving tables. First writes their cleanup records,
/// with the policy `always`: the event triggers are removed after success and after failure.
async fn create_ddl_guards(
    context: &StepContext,
    sessions: &DefinitionSessions<'_>,
) -> Result<(), StepError> {
    let migration = &context.dispatch.migration;
    let tables = &context.keyed_tables();
    for session in [sessions.source, sessions.target] {
        let shard = session.name();
        if !ddl_guard::is_enabled(session, migration).await? {
            let record = |kind: &str, name: String| CleanupRecord {
                shard: shard.to_owned(),
                kind: kind.to_owned(),
                name,
                policy: "always".to_owned(),
            };
            let names = ["end", "drop"].map(|part| migration.ddl_guard(part));
            let records = names.map(|name| record("event_trigger", name));
            context
                .controller
                .record_cleanup(&context.dispatch, &records)
                .await?;
        }
        ddl_guard::create(session, &context.token_for_cleanup(), tables).await?;
    }
    Ok(())
}

/// Creates missing guards again. The verification comes afterwards and compares all rows, so it detects writes that the
/// missing guards did not refuse.
async fn restore_guards(
    context: &StepContext,
    sessions: &DefinitionSessions<'_>,
) -> Result<(), StepError> {
    let dispatch = &context.dispatch;
    let token = context.token_for_cleanup();
    for session in [sessions.source, sessions.target] {
        let shard = session.name();
        let (migration, tables) = (&dispatch.migration, &dispatch.tables);
        let mut missing = guard::missing_triggers(session, migration, tables).await?;
        if context.is_online() {
            missing.extend(guard::owner_change::missing(session, migration, tables).await?);
        }
        // Without a row of the migration, the shard has no guard of it.
        if missing.is_empty() || !epoch::is_enrolled(session, &token).await? {
            continue;
        }
        context.report_message(format!("shard {shard}: creating missing guards again"));
        let guarded = context.guarded_rows();
        guard::create(session, &token, &dispatch.map, guarded).await?;
        super::create_target::create_owner_guards(context, session).await?;
        if context.may_skip_cascades() {
            cascade::create(session, &token, guarded, false).await?;
        }
    }
    Ok(())
}

/// Returns sessions on the old and the new owner of a cutover as sessions on source and target.
pub(super) fn definition_sessions<'a>(
    direction: Direction,
    old_owner: &'a Connected,
    new_owner: &'a Connected,
) -> DefinitionSessions<'a> {
    match direction {
        Direction::Forward => DefinitionSessions {
            source: old_owner,
            target: new_owner,
        },
        Direction::Reverse => DefinitionSessions {
            source: new_owner,
            target: old_owner,
        },
    }
}
