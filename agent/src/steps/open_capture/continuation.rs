//! Continues the forward stream on a promoted standby of the source, with the slot that the standby has synchronized
//! (PostgreSQL 17 and newer).
//!
//! The agent proves, by what it reads from the promoted server and from the target:
//! 1. The server's timeline branched off from the one to which the progress belongs, at the *switch point*.
//! 2. Everything that the agent has seen of the source was before the switch point: the applied changes, and the
//!    snapshots of the copy. So the promoted server has all of it. The setting `synchronized_standby_slots` guarantees
//!    this for the changes.
//! 3. The slot exists there, and its confirmed position is not after the progress. So it still sends every change that
//!    is not applied.
//! 4. The publication is the one that the agent has created, so no change was omitted.
//!
//! Changes in the spool are discarded: they may be from after the switch point, and the slot sends the others again.

use connect::Connected;
use plans::identity::DatabaseIdentity;
use plans::names::Direction;
use plans::sql::quote_literal;
use plans::step::open_capture::CaptureOpened;

use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::lsn::Lsn;
use crate::postgres::replication::ReplicationSession;
use crate::shard::{epoch, publication};

/// What the agent has seen of the source, as the target has recorded it.
struct ObservedLog {
    /// The timeline of the source.
    timeline: i32,
    progress: Lsn,
    /// The end of everything that was applied or copied.
    end: Lsn,
}

/// Continues the stream on `server`, if the proof holds. Returns `None` if a new slot is necessary.
pub(super) async fn continue_stream(
    context: &StepContext,
    session: &Connected,
    server: &DatabaseIdentity,
) -> Result<Option<CaptureOpened>, StepError> {
    let observed = read_observed_log(context).await?;
    let Some(observed) = observed.filter(|observed| observed.timeline < server.timeline) else {
        return Ok(None);
    };
    let shard = session.name();
    let switch_point = match prove(context, session, server, &observed).await? {
        Ok(switch_point) => switch_point,
        Err(reason) => {
            context.report_message(format!(
                "shard {shard}: a standby was promoted, and the stream cannot continue there: {reason}"
            ));
            return Ok(None);
        }
    };
    context.spool().remove().await?;
    let target = context.target()?.session("progress").await?;
    let sql = format!(
        "update shardwright.capture set timeline = {} where migration = {}",
        server.timeline,
        quote_literal(context.dispatch.migration.as_str())
    );
    let recorded = epoch::execute(&target, &context.token(), &sql).await;
    recorded.at(format_args!(
        "shard {}: recording the timeline of the source",
        target.name()
    ))?;
    context.report_message(format!(
        "shard {shard}: a standby was promoted at {switch_point}; the stream continues there"
    ));
    Ok(Some(CaptureOpened {
        consistent_point: observed.progress.to_string(),
        source: Some(server.clone()),
        continued_from: Some(switch_point.to_string()),
        epoch: context.dispatch.epoch,
        cascades: false,
    }))
}

/// Reads what the target has recorded; `None` if it has no record of a capture.
async fn read_observed_log(context: &StepContext) -> Result<Option<ObservedLog>, StepError> {
    let target = context.target()?.session("progress").await?;
    // The second lane of the stream can be ahead of the progress (ADR 39).
    let row = target
        .query_opt(
            "select c.timeline, p.lsn, greatest(
                (select pg_catalog.max(a.lsn) from shardwright.progress a
                 where a.migration = $1 and pg_catalog.starts_with(a.direction, $2)),
                (select pg_catalog.max(s.barrier) from shardwright.snapshot s where s.migration = $1))
             from shardwright.capture c
             join shardwright.progress p on p.migration = c.migration and p.direction = $2
             where c.migration = $1",
            &[
                &context.dispatch.migration.0,
                &Direction::Forward.to_string(),
            ],
        )
        .await
        .at(format_args!("shard {}: reading progress", target.name()))?;
    Ok(row.map(|row| ObservedLog {
        timeline: row.get(0),
        progress: row.get(1),
        end: row.get(2),
    }))
}

/// Returns the switch point if the proof holds, and otherwise the reason why it does not.
async fn prove(
    context: &StepContext,
    session: &Connected,
    server: &DatabaseIdentity,
    observed: &ObservedLog,
) -> Result<Result<Lsn, String>, StepError> {
    let Some(switch_point) = read_switch_point(context, server, observed.timeline).await? else {
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
    if let Some(reason) = check_slot(context, session, observed).await? {
        return Ok(Err(reason));
    }
    let token = context.token_for_cleanup();
    match publication::check(session, &token, Direction::Forward).await {
        Ok(()) => Ok(Ok(switch_point)),
        Err(StepError::Failed(failure)) => Ok(Err(failure.message)),
        Err(error) => Err(error),
    }
}

/// Returns the reason why the slot on the promoted server cannot be used; `None` if it can.
async fn check_slot(
    context: &StepContext,
    session: &Connected,
    observed: &ObservedLog,
) -> Result<Option<String>, StepError> {
    let slot = context.dispatch.migration.slot(Direction::Forward);
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
async fn read_switch_point(
    context: &StepContext,
    server: &DatabaseIdentity,
    timeline: i32,
) -> Result<Option<Lsn>, StepError> {
    let source = context.source_as(Some(server.clone()))?;
    let what = format!("shard {}: reading the history of its timeline", source.name);
    let name = source.application_name("history");
    let mut replication = ReplicationSession::open(&source.dsn, &name)
        .await
        .at(&what)?;
    let newest = u32::try_from(server.timeline).unwrap_or_default();
    let history = replication.timeline_history(newest).await.at(&what)?;
    let left = history
        .iter()
        .find(|(before, _)| i64::from(*before) == i64::from(timeline));
    Ok(left.map(|(_, switch_point)| *switch_point))
}
