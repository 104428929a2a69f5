//! The proof that a stream can continue on a promoted standby of its upstream shard, with the slot that the standby has
//! synchronized (PostgreSQL 17 and newer).
//!
//! The agent proves, by what it reads from the promoted server and from the downstream shard:
//! 1. The server's timeline branched off from the one to which the progress belongs, at the *switch point*.
//! 2. Everything that the agent has seen of the upstream shard was before the switch point: the applied changes, and the
//!    snapshots of the copy. So the promoted server has all of it. The setting `synchronized_standby_slots` guarantees
//!    this for the changes.
//! 3. The slot exists there, and its confirmed position is not after the progress. So it still sends every change that
//!    is not applied.
//! 4. The publication is the one that the agent has created, so no change was omitted.

use connect::Connected;
use plans::failure::StepCode;
use plans::id::MigrationId;
use plans::identity::DatabaseIdentity;
use plans::names::Direction;

use super::context::StepContext;
use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;
use crate::postgres::replication::ReplicationSession;
use crate::shard::database::Shard;
use crate::shard::publication;

/// What the agent has seen of the upstream shard, as the downstream shard has recorded it.
pub(crate) struct ObservedLog {
    /// The timeline of the upstream shard.
    pub(crate) timeline: i32,
    pub(crate) progress: Lsn,
    /// The end of everything that was applied or copied.
    end: Lsn,
}

/// Reads what the downstream shard of a stream has recorded. `known_timeline` is that of the upstream shard if the
/// downstream shard has no record of it. Returns `None` if it has no record of the capture.
pub(crate) async fn read_observed_log(
    context: &StepContext,
    direction: Direction,
    known_timeline: Option<i32>,
) -> Result<Option<ObservedLog>, StepError> {
    let downstream = match direction {
        Direction::Forward => context.target()?,
        Direction::Reverse => context.source()?,
    };
    let session = downstream.session("progress").await?;
    // The second lane of the stream can be ahead of the progress (ADR 39).
    let row = session
        .query_opt(
            "select coalesce(c.timeline, $3), p.lsn, greatest(
                (select pg_catalog.max(a.lsn) from shardwright.progress a
                 where a.migration = $1 and pg_catalog.starts_with(a.direction, $2)),
                (select pg_catalog.max(s.barrier) from shardwright.snapshot s where s.migration = $1))
             from shardwright.progress p
             left join shardwright.capture c on c.migration = p.migration
             where p.migration = $1 and p.direction = $2",
            &[
                &context.dispatch.migration.0,
                &direction.to_string(),
                &known_timeline,
            ],
        )
        .await
        .at(format_args!("shard {}: reading progress", session.name()))?;
    Ok(row.and_then(|row| {
        Some(ObservedLog {
            timeline: row.get::<_, Option<i32>>(0)?,
            progress: row.get(1),
            end: row.get(2),
        })
    }))
}

/// Records on the downstream shard, in the transaction of `session`, to which timeline of the upstream shard the progress
/// belongs.
pub(crate) async fn record_timeline(
    session: &Connected,
    migration: &MigrationId,
    timeline: i32,
) -> Result<(), StepError> {
    session
        .execute(
            "insert into shardwright.capture (migration, timeline) values ($1, $2)
             on conflict (migration) do update set timeline = excluded.timeline",
            &[&migration.0, &timeline],
        )
        .await
        .at(format_args!(
            "shard {}: recording the timeline of the other shard",
            session.name()
        ))
        .map(drop)
}

/// Returns the switch point if the stream can continue on `server`, and otherwise the reason why it cannot. `session` is
/// on that server.
pub(crate) async fn prove(
    context: &StepContext,
    direction: Direction,
    session: &Connected,
    server: &DatabaseIdentity,
    observed: &ObservedLog,
) -> Result<Result<Lsn, String>, StepError> {
    let upstream = match direction {
        Direction::Forward => context.source_as(Some(server.clone()))?,
        Direction::Reverse => context.target_as(Some(server.clone()))?,
    };
    let Some(switch_point) = read_switch_point(&upstream, server, observed.timeline).await? else {
        return Ok(Err(format!(
            "its timeline {} did not branch off from timeline {}",
            server.timeline, observed.timeline
        )));
    };
    if observed.end > switch_point {
        return Ok(Err(format!(
            "it lacks changes after {switch_point}, and the agent has seen the log up to {}",
            observed.end
        )));
    }
    if let Some(reason) = check_slot(context, direction, session, observed).await? {
        return Ok(Err(reason));
    }
    let token = context.token_for_cleanup();
    match publication::check(session, &token, direction).await {
        Ok(()) => Ok(Ok(switch_point)),
        // Only tables of it were dropped, so no changes are lost.
        Err(error) if error.has_code(StepCode::SchemaChanged) => Ok(Ok(switch_point)),
        Err(StepError::Failed(failure)) => Ok(Err(failure.message)),
        Err(error) => Err(error),
    }
}

/// Returns the reason why the slot on the promoted server cannot be used; `None` if it can.
async fn check_slot(
    context: &StepContext,
    direction: Direction,
    session: &Connected,
    observed: &ObservedLog,
) -> Result<Option<String>, StepError> {
    let slot = context.dispatch.migration.slot(direction);
    let row = session
        .query_opt(
            "select confirmed_flush_lsn, wal_status is distinct from 'lost' and restart_lsn is not null
             from pg_catalog.pg_replication_slots
             where slot_name = $1 and not temporary and plugin = 'pgoutput'
               and database = pg_catalog.current_database()",
            &[&slot],
        )
        .await
        .at(format_args!(
            "shard {}: reading slot {slot}",
            session.name()
        ))?;
    let Some(row) = row else {
        return Ok(Some(format!("it has no slot {slot}")));
    };
    let (confirmed, is_usable): (Option<Lsn>, bool) = (row.get(0), row.get(1));
    if !is_usable {
        return Ok(Some(format!("slot {slot} is invalidated")));
    }
    let is_covered = confirmed.is_some_and(|confirmed| confirmed <= observed.progress);
    Ok((!is_covered).then(|| {
        format!(
            "slot {slot} is past the applied changes, which end at {}",
            observed.progress
        )
    }))
}

/// Returns the position at which the history of the server's timeline leaves `timeline`.
pub(crate) async fn read_switch_point(
    upstream: &Shard,
    server: &DatabaseIdentity,
    timeline: i32,
) -> Result<Option<Lsn>, StepError> {
    let what = format!(
        "shard {}: reading the history of its timeline",
        upstream.name
    );
    let name = upstream.application_name("history");
    let mut replication = ReplicationSession::open(&upstream.dsn, &name)
        .await
        .at(&what)?;
    let newest = u32::try_from(server.timeline).unwrap_or_default();
    let history = replication.timeline_history(newest).await.at(&what)?;
    let left = history
        .iter()
        .find(|(before, _)| i64::from(*before) == i64::from(timeline));
    Ok(left.map(|(_, switch_point)| *switch_point))
}
