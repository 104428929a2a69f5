//! Follows changes of definitions before and during a step (`ddl: follow`), and reports them to the controller.

use std::time::Duration;

use connect::Connected;
use plans::failure::{RetryClass, StepCode};
use plans::id::ShardName;
use plans::names::Direction;
use plans::plan::FollowedChange;
use plans::step::StepKind;
use plans::table::MovingTable;
use tokio::time::{MissedTickBehavior, interval};

use super::adoption::new_tables;
use super::partition_monitor::{find_change, monitored_tables};
use super::{
    DefinitionSessions, adopts_partitions_in, compare_definitions, compares_definitions,
    direction_of, has_no_indexes_yet, retirement,
};
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::lsn::Lsn;
use crate::postgres::{catalog, versions};
use crate::schema::follow::{self, FollowRequest, FollowedDefinitions, RecordedChange, rewritten};
use crate::shard::epoch::EpochToken;
use crate::shard::monitor_session::MonitorSession;
use crate::shard::{ddl, snapshot};
use crate::steps::copy;

/// The interval at which a step looks for changes of definitions on the owner.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);
/// The pause before the agent looks again whether the stream has applied what was written before a change.
const SETTLE_PAUSE: Duration = Duration::from_millis(100);
/// The pause while the holders of an old snapshot end.
const HOLDERS_PAUSE: Duration = Duration::from_millis(20);
/// How often the agent checks that they have ended.
const MAX_HOLDER_PROBES: u32 = 250;

/// What following did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FollowEnd {
    /// Both shards have the definitions of the plan, as far as the agent follows them. Nothing had to be done.
    Unchanged,
    /// The agent changed the other shard, or the copy must continue with another snapshot.
    Changed,
    /// Statements are due when the stream has applied more.
    DueLater,
}

/// Returns whether the agent follows changes of definitions during the step.
pub(crate) fn is_followed(context: &StepContext, kind: StepKind) -> bool {
    context.follows_definitions()
        && compares_definitions(kind)
        && !super::has_lost_stream(context, kind)
}

/// Follows changes before a step, and then adopts new partitions and compares the definitions.
///
/// # Errors
/// [`StepError::Reshaped`] if the plan must have the new definitions; `schema.drift`.
pub(super) async fn check(
    context: &StepContext,
    kind: StepKind,
    sessions: &DefinitionSessions<'_>,
) -> Result<(), StepError> {
    let end = follow_changes(context, kind, sessions).await?;
    if kind == StepKind::Copy {
        follow::compare_rows(&FollowParts::of(context, kind, sessions, false).request()).await?;
    }
    if end == FollowEnd::DueLater {
        if matches!(kind, StepKind::Cutover | StepKind::Rollback) {
            return Err(StepError::not_yet(
                StepCode::SchemaChanged,
                "the other shard does not have every change of a definition yet",
            ));
        }
        // A later check adopts new partitions, whose definitions must be equal on both shards.
        return Ok(());
    }
    compare_definitions(context, sessions).await?;
    let columns_only = awaits_indexes(context, sessions.target).await?;
    follow::begin(&FollowParts::of(context, kind, sessions, columns_only).request()).await
}

/// Waits until the other shard has every change of a definition that the owner has. Does nothing if the agent does not
/// follow changes.
///
/// # Errors
/// See [`check`].
pub(crate) async fn wait_until_followed(
    context: &StepContext,
    kind: StepKind,
) -> Result<(), StepError> {
    if !is_followed(context, kind) {
        return Ok(());
    }
    let (source, target) = open_sessions(context).await?;
    let sessions = DefinitionSessions {
        source: &source,
        target: &target,
    };
    while follow_changes(context, kind, &sessions).await? == FollowEnd::DueLater {
        tokio::time::sleep(SETTLE_PAUSE).await;
    }
    Ok(())
}

/// Records on the source the definitions of the target, whose changes the agent follows after the flip.
pub(crate) async fn record_for_hold(context: &StepContext) -> Result<(), StepError> {
    if !context.follows_definitions() {
        return Ok(());
    }
    let (source, target) = open_sessions(context).await?;
    let sessions = DefinitionSessions {
        source: &source,
        target: &target,
    };
    follow::begin(&FollowParts::of(context, StepKind::Hold, &sessions, false).request()).await
}

/// A step failed: the cause may be a change that the agent can follow. Returns the error that the step ends with.
pub(crate) async fn follow_after_failure(
    context: &StepContext,
    kind: StepKind,
    error: StepError,
) -> StepError {
    // An attempt of the cutover checks the definitions when it begins.
    let is_cutover = matches!(kind, StepKind::Cutover | StepKind::Rollback);
    let is_failure = matches!(error, StepError::Failed(_) | StepError::Rewind { .. });
    if !is_followed(context, kind) || is_cutover || !is_failure || error.is_superseded() {
        return error;
    }
    match follow_now(context, kind).await {
        Err(reshaped @ StepError::Reshaped { .. }) => reshaped,
        Ok(FollowEnd::Changed | FollowEnd::DueLater) => again(error),
        Ok(FollowEnd::Unchanged) => error,
        Err(other) => {
            tracing::warn!(%other, "changes of definitions could not be followed");
            error
        }
    }
}

/// Returns the error as one after which the step is tried again.
pub(super) fn again(error: StepError) -> StepError {
    let mut failure = match error {
        StepError::Failed(failure) | StepError::Rewind { failure, .. } => failure,
        StepError::Interrupted | StepError::Reshaped { .. } => return error,
    };
    failure.retry = RetryClass::Exponential;
    StepError::Failed(failure)
}

/// Looks for changes of definitions while a step runs. Returns the error with which the step must end, so that it
/// continues with the new definitions.
pub(crate) async fn watch(context: &StepContext, kind: StepKind) -> StepError {
    let direction = direction_of(kind);
    let mut monitor = match context.owner_and_other(direction) {
        Ok((owner, _)) => MonitorSession::new(owner, "follow"),
        Err(error) => return error,
    };
    let adoptable = match adopts_partitions_in(kind) {
        true => monitored_tables(context).await,
        false => Vec::new(),
    };
    let mut ticks = interval(WATCH_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut known = None;
    loop {
        ticks.tick().await;
        if super::has_lost_stream(context, kind) {
            return std::future::pending().await;
        }
        let tables = &context.dispatch.tables;
        let read = monitor.probe(async |session| catalog_versions(session, tables).await);
        let found = read.await;
        if found.is_none() || found == known {
            continue;
        }
        // The definition of a partition that is gone cannot be followed.
        let departed = async |session: &Connected| {
            retirement::departed_partition(context, session, direction).await
        };
        if monitor.probe(departed).await.flatten().is_some() {
            return StepError::Interrupted;
        }
        match follow_now(context, kind).await {
            // Only now the definitions are equal, so that the check before the next run can adopt a partition.
            Ok(FollowEnd::Unchanged) => {
                match find_change(context, direction, &adoptable, &mut monitor).await {
                    Some(_) => return StepError::Interrupted,
                    None => known = found,
                }
            }
            // The snapshot of the copy may have ended, because a table was rewritten. The copy takes another one.
            Ok(FollowEnd::Changed) if kind == StepKind::Copy => return StepError::Interrupted,
            Ok(FollowEnd::Changed | FollowEnd::DueLater) => {}
            Err(error) if is_transient(&error) => {
                tracing::debug!(%error, "changes of definitions were not followed yet");
            }
            Err(error) => return error,
        }
    }
}

fn is_transient(error: &StepError) -> bool {
    error
        .failure()
        .is_some_and(|failure| failure.retry != RetryClass::None)
}

/// Returns a text that changes if a definition of the tables may have changed, a value of an enum type was added, or a
/// table has got a foreign key to one of them.
async fn catalog_versions(
    session: &Connected,
    tables: &[MovingTable],
) -> Result<String, StepError> {
    let what = format!(
        "shard {}: reading versions of enum types and foreign keys",
        session.name()
    );
    let names = tables.iter().flat_map(|table| [&table.table, table.top()]);
    let names: Vec<String> = names.map(|name| name.sql()).collect();
    let row = session
        .query_one(
            "select (select pg_catalog.count(*)::text from pg_catalog.pg_enum) || ' ' ||
                    (select pg_catalog.count(*) || ' ' || coalesce(pg_catalog.max(k.oid), 0)
                     from pg_catalog.pg_constraint k
                     where k.contype = 'f' and k.confrelid in (
                       select pg_catalog.to_regclass(name)::oid from pg_catalog.unnest($1::text[]) name))",
            &[&names],
        )
        .await
        .at(what)?;
    let counts: String = row.get(0);
    Ok(format!(
        "{} {counts}",
        versions::versions(session, tables).await?
    ))
}

/// Opens a session on the source and one on the target.
async fn open_sessions(context: &StepContext) -> Result<(Connected, Connected), StepError> {
    let (source, target) = (context.source()?, context.target()?);
    Ok((
        source.session("follow").await?,
        target.session("follow").await?,
    ))
}

/// Follows changes with sessions of its own.
async fn follow_now(context: &StepContext, kind: StepKind) -> Result<FollowEnd, StepError> {
    let (source, target) = open_sessions(context).await?;
    let sessions = DefinitionSessions {
        source: &source,
        target: &target,
    };
    follow_changes(context, kind, &sessions).await
}

/// The parts of a [`FollowRequest`] that it borrows.
struct FollowParts<'a> {
    upstream: &'a Connected,
    downstream: &'a Connected,
    token: EpochToken,
    direction: Direction,
    tables: Vec<MovingTable>,
    columns_only: bool,
    applied: Option<Lsn>,
    builds_indexes: bool,
    may_compare_rows: bool,
}

impl<'a> FollowParts<'a> {
    /// Returns the parts of a request for the tables of the plan.
    fn of(
        context: &StepContext,
        kind: StepKind,
        sessions: &DefinitionSessions<'a>,
        columns_only: bool,
    ) -> Self {
        let direction = direction_of(kind);
        let (upstream, downstream) = match direction {
            Direction::Forward => (sessions.source, sessions.target),
            Direction::Reverse => (sessions.target, sessions.source),
        };
        Self {
            upstream,
            downstream,
            token: match direction {
                Direction::Forward => context.token(),
                Direction::Reverse => context.token_after_flip(),
            },
            direction,
            tables: context.captured_tables(direction).cloned().collect(),
            columns_only,
            applied: applied_position(context, direction),
            // The comparison holds a snapshot, for which the build would wait.
            builds_indexes: !matches!(kind, StepKind::Copy | StepKind::Verify),
            may_compare_rows: context.is_online() && !context.is_seeded() && !context.has_flipped(),
        }
    }

    fn request(&self) -> FollowRequest<'_> {
        FollowRequest {
            upstream: self.upstream,
            downstream: self.downstream,
            token: &self.token,
            direction: self.direction,
            tables: &self.tables,
            columns_only: self.columns_only,
            applied: self.applied,
            builds_indexes: self.builds_indexes,
            may_compare_rows: self.may_compare_rows,
        }
    }
}

/// Returns the position up to which the stream in this direction has applied changes; `None` if no such stream runs, or
/// if a step uses it exclusively now.
fn applied_position(context: &StepContext, direction: Direction) -> Option<Lsn> {
    let stream = context.session.stream.try_lock().ok()?;
    let running = stream
        .as_ref()
        .filter(|stream| stream.direction == direction && stream.is_running())?;
    let applied = u64::try_from(running.observation().status.applied_at).ok()?;
    (applied > 0).then_some(Lsn(applied))
}

/// Returns whether the migration has not built every index and constraint of a new target yet.
async fn awaits_indexes(context: &StepContext, target: &Connected) -> Result<bool, StepError> {
    if !has_no_indexes_yet(context)? {
        return Ok(false);
    }
    let row = target
        .query_one(
            "select exists (select from shardwright.schema_entry where migration = $1 and not done)",
            &[&context.dispatch.migration.0],
        )
        .await;
    let row = row.at(format_args!(
        "shard {}: reading which indexes are built",
        target.name()
    ))?;
    Ok(row.get(0))
}

/// Makes the changes of the owner's tables on the other shard.
///
/// # Errors
/// [`StepError::Reshaped`] if the plan must have the new definitions; `schema.drift` if the agent cannot follow a
/// change.
async fn follow_changes(
    context: &StepContext,
    kind: StepKind,
    sessions: &DefinitionSessions<'_>,
) -> Result<FollowEnd, StepError> {
    let columns_only = awaits_indexes(context, sessions.target).await?;
    let mut parts = FollowParts::of(context, kind, sessions, columns_only);
    let is_rewritten =
        kind == StepKind::Copy && leave_old_snapshot(context, &parts.request()).await?;
    let created = new_tables::created_leaves(context, sessions).await?;
    parts.tables.extend(created);
    let request = parts.request();
    let Some(followed) = follow::follow(&request).await? else {
        return Ok(FollowEnd::Unchanged);
    };
    report_new_plan(context, kind, &request, &followed).await?;
    Ok(
        match (
            followed.due_later,
            is_rewritten || !followed.statements.is_empty(),
        ) {
            (0, false) => FollowEnd::Unchanged,
            (0, true) => FollowEnd::Changed,
            _ => FollowEnd::DueLater,
        },
    )
}

/// If a table was rewritten whose chunks are not all copied: gives up the copy's snapshot, which does not see the rows
/// of the new file, and lets the copy read the new file. Returns whether one was.
async fn leave_old_snapshot(
    context: &StepContext,
    request: &FollowRequest<'_>,
) -> Result<bool, StepError> {
    let tables = rewritten::find(request).await?;
    if tables.is_empty() {
        return Ok(false);
    }
    let id = context.dispatch.migration.as_str();
    for _ in 0..MAX_HOLDER_PROBES {
        copy::end_holders(context).await?;
        if snapshot::importable_names(request.upstream, id)
            .await?
            .is_empty()
        {
            rewritten::adopt(request, &tables).await?;
            return Ok(true);
        }
        tokio::time::sleep(HOLDERS_PAUSE).await;
    }
    Err(StepError::not_yet(
        StepCode::SchemaChanged,
        format!(
            "shard {}: sessions still hold a snapshot that does not see the rows of a rewritten table",
            request.upstream.name()
        ),
    ))
}

/// Reports the owner's definitions to the controller if the plan has others.
///
/// # Errors
/// [`StepError::Reshaped`] if the plan has others.
async fn report_new_plan(
    context: &StepContext,
    kind: StepKind,
    request: &FollowRequest<'_>,
    followed: &FollowedDefinitions,
) -> Result<(), StepError> {
    let planned = &context.dispatch.tables;
    let upstream = request.upstream;
    let found = catalog::tables(upstream).await?;
    // The agent adopts new partitions after it has followed other changes.
    let mut refused = Vec::new();
    let mut tables = Vec::with_capacity(planned.len());
    for table in planned {
        let mut present = table.clone();
        if request
            .tables
            .iter()
            .any(|captured| captured.table == table.table)
        {
            let columns = catalog::columns(upstream, &table.table).await?;
            present.columns = columns.into_iter().map(|found| found.column).collect();
            let earlier = followed.renamed_columns.get(table.top());
            earlier
                .cloned()
                .unwrap_or_default()
                .clone_into(&mut present.renamed_columns);
            let identity = found
                .get(&table.table)
                .map(|found| found.identity(&table.key));
            if identity.as_ref() != Some(&table.identity) {
                refused.push(format!(
                    "{}: its primary key or replica identity has changed",
                    table.table
                ));
            }
        }
        tables.push(present);
    }
    if !refused.is_empty() {
        return Err(ddl::unsupported_error(&refused));
    }
    let fingerprint = catalog::fingerprint(upstream, &context.compared_tables()).await?;
    let is_planned = &tables == planned && fingerprint == context.dispatch.schema_fingerprint;
    // The copy that has the new plan compares the rows.
    if is_planned && (kind == StepKind::Copy || !followed.lacks_values) {
        return Ok(());
    }
    let shard = ShardName::from(upstream.name());
    let change = |change: &RecordedChange| FollowedChange {
        shard: shard.clone(),
        position: change.position.to_string(),
        change: change.statement.clone(),
    };
    let mut changes = followed.statements.clone();
    if changes.is_empty() {
        changes.push("definitions that need no change on the other shard".to_owned());
    }
    Err(StepError::Reshaped {
        tables,
        fingerprint,
        changes,
        followed: followed.changes.iter().map(change).collect(),
        copy_again: followed.lacks_values,
        retired: Box::default(),
    })
}
