//! Opens capture on the source: creates the guards, the publication, the slot with its snapshot, and the progress row.
//!
//! The publication must exist before the slot; otherwise the stream can never start (E11). A second run drops the slot
//! and creates it again; the step `copy` then compares the rows that were copied with the first slot. There is one
//! exception: if a standby of the source was promoted that has the slot and every change that the agent has seen, the
//! stream continues there.

mod continuation;

use connect::Connected;
use std::time::Duration;

use plans::failure::StepCode;
use plans::names::Direction;
use plans::step::StepKind;
use plans::step::open_capture::CaptureOpened;

use super::copy;
use super::create_target::{create_guards, create_owner_guards};
use crate::controller::CleanupRecord;
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::migration::continuation as stream_continuation;
use crate::postgres::lsn::Lsn;
use crate::postgres::replication::{CreatedSlot, IDENTIFY, ReplicationSession, SlotOptions};
use crate::postgres::standbys;
use crate::shard::apply_progress::{self, ApplyProgress};
use crate::shard::database::Shard;
use crate::shard::guard::{cascade, clone};
use crate::shard::register::Register;
use crate::shard::{epoch, identity, publication, snapshot};

/// Time limit for the creation of a slot, which waits until every running transaction has ended.
const SLOT_TIMEOUT: Duration = Duration::from_secs(120);
/// The maximum number of attempts to drop a slot. Each attempt that finds a session on the slot ends this session.
const MAX_DROP_ATTEMPTS: u32 = 100;

pub(super) async fn run(context: &StepContext) -> Result<CaptureOpened, StepError> {
    let dispatch = &context.dispatch;
    let source = context.source()?;
    let session = source.session("capture").await?;
    let token = context.token();
    record_stream_objects(context, &dispatch.source.name.0, Direction::Forward).await?;
    context.enrol(&session, "source").await?;
    context.report_message("putting guards on the source's tables");
    create_guards(context, &session, Register::Open).await?;
    create_owner_guards(context, &session).await?;
    if context.is_seeded() {
        clone::create(&session, &token, &dispatch.map, &dispatch.tables).await?;
    }
    let cascades = match context.is_seeded() {
        true => cascade::has_cascading_keys(&session, &dispatch.tables).await?,
        false => context.may_skip_cascades(),
    };
    if cascades {
        cascade::create(&session, &token, context.guarded_rows(), false).await?;
    }
    context.session.stop_stream().await;
    let server = identity::read_named(&session).await?;
    // The other sessions must be on this server, and not on one before it.
    let source = context.source_as(Some(server.clone()))?;
    if !context.is_seeded()
        && let Some(opened) = continuation::continue_stream(context, &session, &server).await?
    {
        return Ok(opened);
    }
    drop_slot(&session, context, Direction::Forward).await?;
    // The spool contains changes that an earlier slot captured; they belong to an earlier copy.
    context.spool().remove().await?;
    create_publication(&session, context, Direction::Forward).await?;
    context.report_message("creating the replication slot; it waits for transactions that run now");
    let (slot, slot_session) = create_slot(&session, context, &source, Direction::Forward).await?;
    fail_point::hit("open_capture.slot_created").await?;
    let id = dispatch.migration.as_str();
    // An agent that was suspended must not end the snapshot holders of the agent that has taken over, so it proves its
    // epoch first (I7).
    epoch::execute(&session, &token, "select 1")
        .await
        .at(format_args!("shard {}: proving the epoch", source.name))?;
    snapshot::end_holders(&session, id).await?;
    // The progress of a seeded target begins at its switch point, which the step `promote` finds.
    if !context.is_seeded() {
        copy::empty_partly_copied_units(context).await?;
        copy::record_slot_snapshot(
            context,
            &source,
            slot.snapshot.as_deref().unwrap_or_default(),
        )
        .await?;
    }
    drop(slot_session);
    if !context.is_seeded() {
        let (from, target) = (slot.consistent_point, context.target()?);
        let start = StreamPosition {
            lsn: from,
            timeline: server.timeline,
        };
        write_first_progress(context, Direction::Forward, start, true, &target).await?;
    }
    Ok(CaptureOpened {
        consistent_point: slot.consistent_point.to_string(),
        source: Some(server),
        continued_from: None,
        epoch: dispatch.epoch,
        cascades: context.is_seeded() && cascades,
    })
}

/// Writes cleanup records for the objects that the agent is about to create on `shard`, the upstream shard of a stream.
pub(super) async fn record_stream_objects(
    context: &StepContext,
    shard: &str,
    direction: Direction,
) -> Result<(), StepError> {
    let migration = &context.dispatch.migration;
    let record = |kind: &str, name: String| CleanupRecord {
        shard: shard.to_owned(),
        kind: kind.to_owned(),
        name,
        policy: "always".to_owned(),
    };
    let mut records = vec![
        record("publication", migration.publication(direction)),
        record("slot", migration.slot(direction)),
    ];
    if direction == Direction::Forward {
        records.push(record("schema", plans::names::SCHEMA.to_owned()));
        records.push(record("guard", migration.guard_function()));
    }
    context
        .controller
        .record_cleanup(&context.dispatch, &records)
        .await?;
    Ok(())
}

/// Drops the publication if it exists, and creates it with the predicate of the moving keys as row filter.
pub(super) async fn create_publication(
    session: &Connected,
    context: &StepContext,
    direction: Direction,
) -> Result<(), StepError> {
    let tables: Vec<String> = context
        .captured_tables(direction)
        .map(|table| context.published(table))
        .collect();
    let token = context.token_for_cleanup();
    publication::create(session, &token, direction, &tables).await
}

/// Creates the slot of a stream. In the step `open_capture` it exports a snapshot, which exists as long as the returned
/// session.
pub(super) async fn create_slot(
    client: &Connected,
    context: &StepContext,
    shard: &Shard,
    direction: Direction,
) -> Result<(CreatedSlot, ReplicationSession), StepError> {
    let slot = context.dispatch.migration.slot(direction);
    let what = format!("shard {}: creating replication slot {slot}", shard.name);
    let name = shard.application_name("slot");
    let mut session = ReplicationSession::open(&shard.dsn, &name)
        .await
        .at(&what)?;
    let export =
        direction == Direction::Forward && is_opening_capture(context) && !context.is_seeded();
    // A snapshot or a position of another server would not belong to this slot (I10).
    let (found, expected) = (
        session.identify_system().await.at(&what)?,
        client.query_one(IDENTIFY, &[]).await.at(&what)?,
    );
    if (found.system_id.to_string(), found.timeline) != identity_of(&expected) {
        return Err(StepError::passing(
            StepCode::ServerPromoted,
            format!("{what}: two sessions are on different servers"),
        ));
    }
    let options = SlotOptions {
        temporary: false,
        export,
        failover: standbys::uses_synchronized_slots(client).await?,
    };
    let created = tokio::time::timeout(SLOT_TIMEOUT, session.create_slot(&slot, options)).await;
    match created {
        Ok(created) => Ok((created.at(&what)?, session)),
        Err(_) => Err(StepError::passing(
            StepCode::SlotWaits,
            format!(
                "{what}: the creation has waited for {SLOT_TIMEOUT:?} for a transaction that was already open"
            ),
        )),
    }
}

/// Returns the system identifier and the timeline from a row of [`IDENTIFY`].
fn identity_of(row: &tokio_postgres::Row) -> (String, u32) {
    let timeline: String = row.get(1);
    (
        row.get(0),
        u32::from_str_radix(&timeline, 16).unwrap_or_default(),
    )
}

fn is_opening_capture(context: &StepContext) -> bool {
    matches!(context.dispatch.step, Some((_, StepKind::OpenCapture)))
}

/// Drops a slot of the migration if it exists. Ends the session that still reads it.
pub(super) async fn drop_slot(
    session: &Connected,
    context: &StepContext,
    direction: Direction,
) -> Result<(), StepError> {
    let shard = session.name();
    let slot = context.dispatch.migration.slot(direction);
    let what = format!("shard {shard}: dropping replication slot {slot}");
    for _ in 0..MAX_DROP_ATTEMPTS {
        let row = session
            .query_opt(
                "select active_pid from pg_catalog.pg_replication_slots where slot_name = $1",
                &[&slot],
            )
            .await
            .at(&what)?;
        let Some(row) = row else { return Ok(()) };
        if let Some(pid) = row.get::<_, Option<i32>>(0) {
            session
                .execute("select pg_catalog.pg_terminate_backend($1, 1000)", &[&pid])
                .await
                .at(&what)?;
            continue;
        }
        let sql = format!("select pg_catalog.pg_drop_replication_slot('{slot}')");
        epoch::execute(session, &context.token_for_cleanup(), &sql)
            .await
            .at(&what)?;
    }
    Err(StepError::passing(
        StepCode::SlotBusy,
        format!("{what}: a session still uses the slot"),
    ))
}

/// Drops the publication of one direction if it exists.
pub(super) async fn drop_publication(
    session: &Connected,
    context: &StepContext,
    direction: Direction,
) -> Result<(), StepError> {
    let name = context.dispatch.migration.publication(direction);
    publication::drop(session, Some(&context.token_for_cleanup()), &name).await
}

/// The position from which a slot sends changes, and the timeline of the server to which it belongs.
pub(super) struct StreamPosition {
    pub(super) lsn: Lsn,
    pub(super) timeline: i32,
}

/// Writes the first progress row of a stream on its downstream shard. `opened` is false if the stream must ignore
/// everything before the open marker (C11).
pub(super) async fn write_first_progress(
    context: &StepContext,
    direction: Direction,
    from: StreamPosition,
    opened: bool,
    downstream: &Shard,
) -> Result<(), StepError> {
    let session = downstream.session("progress").await?;
    let token = context.token_for_cleanup();
    let progress = ApplyProgress {
        lsn: from.lsn,
        opened,
        transactions: 0,
        changes: 0,
    };
    epoch::begin(&session, &token).await?;
    apply_progress::write(&session, &token, direction, progress).await?;
    stream_continuation::record_timeline(&session, &token.migration, from.timeline).await?;
    epoch::commit(
        &session,
        &format!("shard {}: writing progress", downstream.name),
    )
    .await
}
