//! The snapshots of the copy: first the slot's snapshot; later ones if the current one is lost or too old.
//!
//! A later snapshot must see everything that the slot's snapshot saw (G1, dominance). Then each transaction is in the
//! copy with that snapshot, or in the stream, or in both. Before the agent copies with a snapshot, it commits a barrier
//! transaction on the source (G2). After that, a crash of the source can neither undo a transaction that the snapshot
//! saw, nor reuse its transaction id.
//!
//! Sessions on the source, the *holders*, hold the current snapshot, so that a restarted agent can import it again.

use std::sync::Arc;
use std::time::Duration;

use connect::Connected;
use plans::failure::StepCode;
use plans::id::{AttemptNo, MigrationId};
use plans::table::MovingTable;
use tokio::time::Instant;

use super::units::{self, CopyChunk};
use super::{resync, unfinished};
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::migration::continuation;
use crate::postgres::lsn::Lsn;
use crate::postgres::visibility::TxSnapshot;
use crate::shard::database::Shard;
use crate::shard::marker::{Marker, MarkerKind};
use crate::shard::snapshot::{self, SnapshotHolders};
use crate::shard::{epoch, identity};
use crate::shared_scan::participants::{SharedScan, SharedSnapshot};

/// Time limit for the attempts to take a snapshot that dominates the slot's snapshot.
const DOMINANCE_TIMEOUT: Duration = Duration::from_secs(60);
/// The pause between two of these attempts.
const SNAPSHOT_RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Deletes what is known of an earlier slot. Its stream has ended, and this slot does not send the changes after that
/// snapshot. So rows that were copied with an earlier slot have no snapshot, and the copy compares them with the source.
const FORGET_EARLIER_SLOT: [&str; 6] = [
    // The publication contains the adopted partitions from now on.
    "delete from shardwright.adopted where migration = $1",
    "delete from shardwright.snapshot where migration = $1",
    "update shardwright.chunk set snapshot = null where migration = $1",
    "delete from shardwright.resync where migration = $1 and not done",
    "delete from shardwright.resync_keys where migration = $1",
    // A position of a second lane that is ahead of the progress would make the stream skip changes (ADR 39).
    "delete from shardwright.progress where migration = $1 and pg_catalog.starts_with(direction, 'forward')",
];

/// The snapshot that the copy uses now.
pub(super) struct CurrentSnapshot {
    pub(super) number: i32,
    /// The snapshot as text.
    pub(super) text: String,
    /// The time at which the snapshot reaches its maximum age. No unit begins with it afterwards.
    pub(super) begin_until: Instant,
}

/// A snapshot as recorded on the target.
struct RecordedSnapshot {
    number: i32,
    text: String,
    age: Duration,
}

/// Records the slot's snapshot as number 0, and deletes the snapshots of an earlier slot. Rows that were copied before
/// stay, and the copy will compare them.
///
/// Imports the snapshot of `source` and starts its holders. `exported` is the name of the snapshot; its session must
/// exist until the function returns.
pub(crate) async fn record_slot_snapshot(
    context: &StepContext,
    source: &Shard,
    exported: &str,
) -> Result<(), StepError> {
    let id = context.dispatch.migration.as_str();
    let session = source.session("snapshot").await?;
    let timeline = identity::read_named(&session).await?.timeline;
    let text = import_and_read(&session, exported, source).await?;
    let barrier = commit_barrier(context, source).await?;
    let holders = SnapshotHolders::start(source, id, exported).await?;
    *context.session.snapshot_holders.lock().await = Some(holders);
    let target = context.target()?;
    let target_session = target.session("snapshot").await?;
    let what = format!("shard {}: recording the snapshot", target.name);
    epoch::begin(&target_session, &context.token()).await?;
    for sql in FORGET_EARLIER_SLOT {
        target_session.execute(sql, &[&id]).await.at(&what)?;
    }
    continuation::record_timeline(&target_session, &context.dispatch.migration, timeline).await?;
    insert_snapshot(
        &target_session,
        &context.dispatch.migration,
        0,
        &text,
        barrier,
    )
    .await
    .at(&what)?;
    epoch::commit(&target_session, &what).await
}

/// Returns the snapshot to continue with: the newest one if it can still be imported and is not too old, otherwise a
/// new one.
///
/// A chunk of an adopted partition needs a snapshot that was taken after the partition had been published: see
/// [`record_adoption`].
///
/// Returns `None` for an offline move, whose rows do not change, and if no chunk is left. Deletes the copied rows of
/// units that had begun with a lost snapshot; these units begin again. In a shared scan, a snapshot that all
/// participants can use replaces the slot's snapshot before any row is copied.
pub(super) async fn current_snapshot(
    context: &StepContext,
    target: &Connected,
    shared_scan: Option<&Arc<SharedScan>>,
) -> Result<Option<CurrentSnapshot>, StepError> {
    if !context.is_online() {
        return Ok(None);
    }
    let newest = newest_snapshot(context, target).await?;
    let limit = Duration::from_secs(context.dispatch.options.snapshot_age_s.into());
    let has_unfinished_units = has_unfinished_units(context, target).await?;
    let is_young = newest.age < limit;
    let remaining = units::remaining_chunks(context, target).await?;
    let is_for_newest = |chunk: &CopyChunk| chunk.first_snapshot <= newest.number;
    let has_work_for_newest = remaining.iter().any(is_for_newest)
        || !resync::tables_left(context, target).await?.is_empty();
    let replaces_slot_snapshot =
        shared_scan.is_some() && newest.number == 0 && !has_unfinished_units;
    if (is_young || has_unfinished_units)
        && !replaces_slot_snapshot
        && has_work_for_newest
        && ensure_held(context, &newest.text).await?
    {
        return Ok(Some(CurrentSnapshot {
            number: newest.number,
            text: newest.text,
            begin_until: Instant::now() + limit.saturating_sub(newest.age),
        }));
    }
    if count_remaining(context, target).await? == 0 {
        return Ok(None);
    }
    unfinished::empty_unfinished_units(context, target).await?;
    resync::restart(context, target).await?;
    let number = newest.number + 1;
    // Another participant may have taken its snapshot before this move published the partition.
    let may_use_offer = remaining.iter().all(is_for_newest);
    let text = take_snapshot(context, target, &newest, shared_scan, may_use_offer).await?;
    Ok(Some(CurrentSnapshot {
        number,
        text,
        begin_until: Instant::now() + limit,
    }))
}

/// Returns the number of chunks that are to be copied, and of tables that are to be resynchronized.
pub(super) async fn count_remaining(
    context: &StepContext,
    target: &Connected,
) -> Result<usize, StepError> {
    let chunks = units::remaining_chunks(context, target).await?.len();
    Ok(chunks + resync::tables_left(context, target).await?.len())
}

/// Returns whether a unit is partly copied, or a table partly resynchronized: these continue with the same snapshot.
pub(super) async fn has_unfinished_units(
    context: &StepContext,
    target: &Connected,
) -> Result<bool, StepError> {
    Ok(!units::begun_units(context, target).await?.is_empty()
        || resync::has_begun(context, target).await?)
}

/// Records that these tables are partitions which the application created during the migration, and that only a later
/// snapshot than all recorded ones may copy them. The caller has published them: a snapshot that is older than the
/// publication of a table misses rows that the stream does not send (I2).
pub(crate) async fn record_adoption(
    context: &StepContext,
    target: &Connected,
    tables: &[MovingTable],
) -> Result<(), StepError> {
    let shard = target.name();
    let what = format!("shard {shard}: recording adopted partitions");
    let relations: Vec<String> = tables.iter().map(|table| table.table.to_string()).collect();
    epoch::begin(target, &context.token()).await?;
    target
        .execute(
            "insert into shardwright.adopted (migration, relation, snapshot)
             select $1, relation, (select coalesce(max(s.number), 0) + 1 from shardwright.snapshot s where s.migration = $1)
             from pg_catalog.unnest($2::text[]) relation
             on conflict (migration, relation) do update set snapshot = excluded.snapshot",
            &[&context.dispatch.migration.0, &relations],
        )
        .await
        .at(&what)?;
    epoch::commit(target, &what).await
}

/// After a take-over: starts holders for the newest snapshot of a running copy, if it can still be imported.
pub(crate) async fn hold_newest_snapshot(context: &StepContext) -> Result<(), StepError> {
    let target = context.target()?;
    let session = target.session("snapshot").await?;
    let newest = newest_snapshot(context, &session).await?;
    ensure_held(context, &newest.text).await.map(|_| ())
}

/// Reads the newest recorded snapshot.
async fn newest_snapshot(
    context: &StepContext,
    target: &Connected,
) -> Result<RecordedSnapshot, StepError> {
    let shard = target.name();
    let row = target
        .query_opt(
            "select number, snapshot, extract(epoch from pg_catalog.clock_timestamp() - taken_at)::float8
             from shardwright.snapshot where migration = $1 order by number desc limit 1",
            &[&context.dispatch.migration.0],
        )
        .await
        .at(format_args!("shard {shard}: reading the copy's snapshot"))?;
    let row = row.ok_or_else(|| {
        StepError::refused(
            StepCode::CopySnapshot,
            format!("shard {shard}: table shardwright.snapshot has no row of this migration"),
            "`abort` the migration and plan it again",
        )
    })?;
    Ok(RecordedSnapshot {
        number: row.get(0),
        text: row.get(1),
        age: Duration::from_secs_f64(row.get::<_, f64>(2).max(0.0)),
    })
}

/// Makes sure that holders of this agent hold the snapshot `text`; if necessary, imports it from holders of an earlier
/// agent. Returns whether this was possible.
async fn ensure_held(context: &StepContext, text: &str) -> Result<bool, StepError> {
    let mut holders = context.session.snapshot_holders.lock().await;
    let source = context.source()?;
    let session = source.session("snapshot").await?;
    let id = context.dispatch.migration.as_str();
    for name in snapshot::importable_names(&session, id).await? {
        if import_and_read(&session, &name, &source)
            .await
            .ok()
            .as_deref()
            != Some(text)
        {
            continue;
        }
        if holders.as_ref().is_some_and(SnapshotHolders::are_alive) {
            return Ok(true);
        }
        match SnapshotHolders::start(&source, id, &name).await {
            Ok(new) => {
                *holders = Some(new);
                return Ok(true);
            }
            Err(error) => {
                tracing::debug!(%error, "the snapshot could not be imported from a holder")
            }
        }
    }
    Ok(false)
}

/// Imports an exported snapshot in a short transaction, and returns its text.
async fn import_and_read(
    session: &Connected,
    exported: &str,
    source: &Shard,
) -> Result<String, StepError> {
    let what = format!("shard {}: importing the snapshot", source.name);
    let imported = snapshot::begin_with_snapshot(session, exported, "read only").await;
    let read = match imported {
        Ok(()) => {
            session
                .query_one("select pg_catalog.pg_current_snapshot()::text", &[])
                .await
        }
        Err(error) => Err(error),
    };
    epoch::rollback(session).await;
    Ok(read.at(&what)?.get(0))
}

/// Takes a new snapshot that dominates the slot's snapshot, commits a barrier, records the snapshot and starts its
/// holders. Returns its text. In a shared scan it uses the snapshot that another participant has taken, if this
/// dominates the slot's snapshot and `may_use_offer` is true.
async fn take_snapshot(
    context: &StepContext,
    target: &Connected,
    newest: &RecordedSnapshot,
    shared_scan: Option<&Arc<SharedScan>>,
    may_use_offer: bool,
) -> Result<String, StepError> {
    let shard = target.name();
    let source = context.source()?;
    let (id, number) = (context.dispatch.migration.as_str(), newest.number + 1);
    let first = slot_snapshot(context, target).await?;
    context.report_message("taking a new snapshot for the copy");
    let offer = match shared_scan {
        Some(scan) => {
            let mut shared = scan.shared_snapshot.lock().await;
            let known = shared.as_ref().filter(|_| may_use_offer);
            match known.filter(|offer| offer.is_usable_for(&first, &newest.text)) {
                Some(offer) => offer.clone(),
                None => shared
                    .insert(take_dominating_snapshot(&first, &source).await?)
                    .clone(),
            }
        }
        None => take_dominating_snapshot(&first, &source).await?,
    };
    // Each move commits its own barrier, also for a snapshot that another move has taken.
    let barrier = commit_barrier(context, &source).await?;
    // The snapshot is recorded before any row is copied with it: the stream reads the record, to skip what the copy
    // contains.
    let what = format!("shard {shard}: recording the snapshot");
    epoch::begin(target, &context.token()).await?;
    let migration = &context.dispatch.migration;
    insert_snapshot(target, migration, number, &offer.text, barrier)
        .await
        .at(&what)?;
    epoch::commit(target, &what).await?;
    let holders = SnapshotHolders::start(&source, id, &offer.exported).await?;
    *context.session.snapshot_holders.lock().await = Some(holders);
    tracing::info!(number, "the copy continues with a new snapshot");
    fail_point::hit("copy.snapshot_taken").await?;
    Ok(offer.text.clone())
}

/// G1: takes a snapshot that sees everything that the slot's snapshot saw. Its transaction stays open until the
/// returned value is dropped.
async fn take_dominating_snapshot(
    first: &TxSnapshot,
    source: &Shard,
) -> Result<Arc<SharedSnapshot>, StepError> {
    let session = source.session("snapshot").await?;
    let what = format!("shard {}: taking a snapshot", source.name);
    let deadline = Instant::now() + DOMINANCE_TIMEOUT;
    loop {
        session
            .batch_execute("begin isolation level repeatable read read only")
            .await
            .at(&what)?;
        let row = session
            .query_one(
                "select pg_catalog.pg_current_snapshot()::text, pg_catalog.pg_export_snapshot(),
                        pg_catalog.pg_is_in_recovery()",
                &[],
            )
            .await
            .at(&what)?;
        let (text, exported, standby): (String, String, bool) =
            (row.get(0), row.get(1), row.get(2));
        if standby {
            epoch::rollback(&session).await;
            return Err(StepError::refused(
                StepCode::CopyStandby,
                format!(
                    "{what}: the server is a standby, whose snapshots do not list running transactions"
                ),
                "point the shard's connection string at its primary",
            ));
        }
        let taken: TxSnapshot = text
            .parse()
            .map_err(|error| invalid_snapshot_error(&what, &error))?;
        if taken.dominates(first) {
            return Ok(Arc::new(SharedSnapshot {
                exported,
                text,
                session,
            }));
        }
        epoch::rollback(&session).await;
        if Instant::now() >= deadline {
            return Err(StepError::not_yet(
                StepCode::CopyGate,
                format!(
                    "{what}: a transaction that the slot counts as committed is not visible after {DOMINANCE_TIMEOUT:?}; it waits for a synchronous standby"
                ),
            ));
        }
        tokio::time::sleep(SNAPSHOT_RETRY_INTERVAL).await;
    }
}

/// Reads the slot's snapshot.
async fn slot_snapshot(context: &StepContext, target: &Connected) -> Result<TxSnapshot, StepError> {
    let shard = target.name();
    let what = format!("shard {shard}: reading the slot's snapshot");
    let row = target
        .query_one(
            "select snapshot from shardwright.snapshot where migration = $1 and number = 0",
            &[&context.dispatch.migration.0],
        )
        .await
        .at(&what)?;
    row.get::<_, String>(0)
        .parse()
        .map_err(|error| invalid_snapshot_error(&what, &error))
}

fn invalid_snapshot_error(
    what: &str,
    error: &crate::postgres::visibility::InvalidSnapshot,
) -> StepError {
    StepError::refused(
        StepCode::CopySnapshot,
        format!("{what}: {error}"),
        "`abort` the migration and plan it again",
    )
}

/// G2: commits a marker synchronously on the source, so that everything that was visible before is durable. Returns a
/// position after the commit.
async fn commit_barrier(context: &StepContext, source: &Shard) -> Result<Lsn, StepError> {
    let session = source.session("barrier").await?;
    let token = context.token();
    Marker::new(&token, AttemptNo(0), MarkerKind::Barrier)
        .emit(&session, &token)
        .await?;
    let row = session
        .query_one("select pg_catalog.pg_current_wal_lsn()", &[])
        .await
        .at(format_args!("shard {}: reading its position", source.name))?;
    Ok(row.get(0))
}

async fn insert_snapshot(
    client: &Connected,
    migration: &MigrationId,
    number: i32,
    text: &str,
    barrier: Lsn,
) -> Result<u64, tokio_postgres::Error> {
    client
        .execute(
            "insert into shardwright.snapshot (migration, number, snapshot, barrier) values ($1, $2, $3, $4)",
            &[&migration.0, &number, &text, &barrier],
        )
        .await
}
