//! The copy's snapshots: the slot's own first, later ones when it is lost or too old.
//!
//! A later snapshot must dominate the slot's (G1): then each transaction is in a copy made with it or in the
//! stream. A barrier is committed before anything is copied with it (G2): a crash of the source can then take
//! back nothing that the snapshot saw, nor give its transaction ids to others.
//! Holders keep the current one importable while agents come and go.

use std::sync::Arc;
use std::time::Duration;

use connect::Connected;
use plans::id::MigrationId;
use tokio::time::Instant;
use tokio_postgres::error::SqlState;

use super::units;
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::copy_stream::CopyExtent;
use crate::postgres::lsn::Lsn;
use crate::postgres::visibility::TxSnapshot;
use crate::shard::database::Shard;
use crate::shard::epoch;
use crate::shard::marker::{Marker, MarkerKind};
use crate::shard::snapshot::{self, SnapshotHolders};
use crate::shared_scan::participants::{SharedScan, SharedSnapshot};

/// How long chunks that are on their way may take to end.
const SETTLE_PATIENCE: Duration = Duration::from_secs(60);
/// How long a snapshot that dominates the slot's may be waited for.
const GATE_PATIENCE: Duration = Duration::from_secs(60);
/// Between two tries.
const GATE_PAUSE: Duration = Duration::from_millis(20);

/// The snapshot to copy with.
pub(super) struct CurrentSnapshot {
    pub(super) number: i32,
    /// How it prints.
    pub(super) text: String,
    /// No unit should begin with it after this moment.
    pub(super) until: Instant,
}

/// A snapshot as it is recorded on the target.
struct RecordedSnapshot {
    number: i32,
    text: String,
    age: Duration,
}

/// Records the slot's own snapshot, number 0, and forgets those of an earlier slot.
///
/// It is imported here and held; `exported` must stay importable until this returns.
pub(crate) async fn record_first(context: &StepContext, exported: &str) -> Result<(), StepError> {
    let source = context.source()?;
    let id = context.dispatch.migration.as_str();
    let session = source.session("snapshot").await?;
    let text = read_imported(&session, exported, &source).await?;
    let barrier = barrier(context, &source).await?;
    let holders = SnapshotHolders::start(&source, id, exported).await?;
    *context.session.snapshot_holders.lock().await = Some(holders);
    let target = context.target()?;
    let there = target.session("snapshot").await?;
    let what = format!("shard {}: recording the snapshot", target.name);
    epoch::begin(&there, &context.token_for_cleanup()).await?;
    for table in ["snapshot", "chunk"] {
        let sql = format!("delete from shardwright.{table} where migration = $1");
        there.execute(&sql, &[&id]).await.at(&what)?;
    }
    insert(&there, &context.dispatch.migration, 0, &text, barrier)
        .await
        .at(&what)?;
    epoch::commit(&there, &what).await
}

/// The snapshot to go on with: the newest one while it is held and young, else a new one.
///
/// `None` offline: the moving rows do not change. Units that had begun with a snapshot that is gone are
/// emptied: they begin again. In `company` the slot's own snapshot gives way, before anything is copied with it, to one
/// that all of them can copy with.
pub(super) async fn current(
    context: &StepContext,
    target: &Connected,
    company: Option<&Arc<SharedScan>>,
) -> Result<Option<CurrentSnapshot>, StepError> {
    if !context.is_online() {
        return Ok(None);
    }
    let newest = newest(context, target).await?;
    let limit = Duration::from_secs(context.dispatch.options.snapshot_age_s.into());
    let unfinished = !units::begun(context, target).await?.is_empty();
    let young = newest.age < limit;
    let own = company.is_some() && newest.number == 0 && !unfinished;
    if (young || unfinished) && !own && is_held(context, &newest.text).await? {
        return Ok(Some(CurrentSnapshot {
            number: newest.number,
            text: newest.text,
            until: Instant::now() + limit.saturating_sub(newest.age),
        }));
    }
    if units::left(context, target).await?.is_empty() {
        return Ok(None);
    }
    empty_unfinished(context, target).await?;
    let number = newest.number + 1;
    let text = take(context, target, &newest, company).await?;
    Ok(Some(CurrentSnapshot {
        number,
        text,
        until: Instant::now() + limit,
    }))
}

/// After a take-over: the snapshot of a copy that is under way goes on being held, if it still can be.
pub(crate) async fn keep(context: &StepContext) -> Result<(), StepError> {
    let target = context.target()?;
    let session = target.session("snapshot").await?;
    let newest = newest(context, &session).await?;
    is_held(context, &newest.text).await.map(|_| ())
}

async fn newest(context: &StepContext, target: &Connected) -> Result<RecordedSnapshot, StepError> {
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
            "copy.snapshot",
            format!("shard {shard}: no snapshot of the copy is recorded"),
            "`abort` it and plan it again",
        )
    })?;
    Ok(RecordedSnapshot {
        number: row.get(0),
        text: row.get(1),
        age: Duration::from_secs_f64(row.get::<_, f64>(2).max(0.0)),
    })
}

/// Whether the snapshot that prints as `text` is held by us; takes it over from an owner before us.
async fn is_held(context: &StepContext, text: &str) -> Result<bool, StepError> {
    let mut holders = context.session.snapshot_holders.lock().await;
    let source = context.source()?;
    let session = source.session("snapshot").await?;
    let id = context.dispatch.migration.as_str();
    for name in snapshot::importable_names(&session, id).await? {
        if read_imported(&session, &name, &source)
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
            Err(error) => tracing::debug!(%error, "a holder of the snapshot is gone"),
        }
    }
    Ok(false)
}

/// How an exported snapshot prints; it is imported for a moment.
async fn read_imported(
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

/// Takes a new snapshot behind `newest` that dominates the slot's, behind a barrier, and holds it; how it prints. In
/// company it is one that a sibling has taken, if that one dominates it.
async fn take(
    context: &StepContext,
    target: &Connected,
    newest: &RecordedSnapshot,
    company: Option<&Arc<SharedScan>>,
) -> Result<String, StepError> {
    let shard = target.name();
    let source = context.source()?;
    let (id, number) = (context.dispatch.migration.as_str(), newest.number + 1);
    let first = first(context, target).await?;
    context.report_message("taking a new snapshot to copy with");
    let offer = match company {
        Some(scan) => {
            let mut offered = scan.offer.lock().await;
            let known = offered.as_ref();
            match known.filter(|offer| offer.serves(&first, &newest.text)) {
                Some(offer) => offer.clone(),
                None => offered.insert(dominating(&first, &source).await?).clone(),
            }
        }
        None => dominating(&first, &source).await?,
    };
    // Each move has a barrier of its own, also behind a snapshot that another one has taken.
    let barrier = barrier(context, &source).await?;
    // Recorded before anything is copied with it, so that the stream's filter knows it.
    let what = format!("shard {shard}: recording the snapshot");
    epoch::begin(target, &context.token()).await?;
    let migration = &context.dispatch.migration;
    insert(target, migration, number, &offer.text, barrier)
        .await
        .at(&what)?;
    epoch::commit(target, &what).await?;
    let holders = SnapshotHolders::start(&source, id, &offer.exported).await?;
    *context.session.snapshot_holders.lock().await = Some(holders);
    tracing::info!(number, "the copy goes on with a new snapshot");
    fail_point::hit("copy.snapshot_taken").await?;
    Ok(offer.text.clone())
}

/// Gate G1: a snapshot, exported by a transaction that is open, that sees all that the slot's saw.
async fn dominating(first: &TxSnapshot, source: &Shard) -> Result<Arc<SharedSnapshot>, StepError> {
    let session = source.session("snapshot").await?;
    let what = format!("shard {}: taking a snapshot", source.name);
    let deadline = Instant::now() + GATE_PATIENCE;
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
                "copy.standby",
                format!("{what}: it is a standby, whose snapshots do not tell what runs"),
                "point the shard's connection string at its primary",
            ));
        }
        let taken: TxSnapshot = text.parse().map_err(|error| unreadable(&what, &error))?;
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
                "copy.gate",
                format!(
                    "{what}: a transaction that the slot counts as committed is not visible for {GATE_PATIENCE:?}; it waits for a synchronous standby"
                ),
            ));
        }
        tokio::time::sleep(GATE_PAUSE).await;
    }
}

/// The slot's own snapshot.
async fn first(context: &StepContext, target: &Connected) -> Result<TxSnapshot, StepError> {
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
        .map_err(|error| unreadable(&what, &error))
}

fn unreadable(what: &str, error: &crate::postgres::visibility::InvalidSnapshot) -> StepError {
    StepError::refused(
        "copy.snapshot",
        format!("{what}: {error}"),
        "`abort` it and plan it again",
    )
}

/// Gate G2: commits synchronously on the source, which makes everything durable that was visible before;
/// a position that lies behind it.
async fn barrier(context: &StepContext, source: &Shard) -> Result<Lsn, StepError> {
    let session = source.session("barrier").await?;
    let token = context.token();
    Marker::new(&token, 0, MarkerKind::Barrier)
        .emit(&session, &token)
        .await?;
    let row = session
        .query_one("select pg_catalog.pg_current_wal_lsn()", &[])
        .await
        .at(format_args!("shard {}: reading its position", source.name))?;
    Ok(row.get(0))
}

async fn insert(
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

/// Takes back what was copied of units that are not done: their snapshot is gone.
pub(crate) async fn empty_unfinished(
    context: &StepContext,
    target: &Connected,
) -> Result<(), StepError> {
    let shard = target.name();
    settle(context, target).await?;
    let begun = units::begun(context, target).await?;
    if begun.is_empty() {
        return Ok(());
    }
    let left = units::left(context, target).await?;
    let prover = context.session.code_prover(&context.target()?).await?;
    let into = context.target()?.replica_session("copy").await?;
    for unit in begun {
        let Some(chunk) = left.iter().find(|chunk| chunk.unit == unit) else {
            continue;
        };
        let table = &context.dispatch.tables[chunk.table];
        context.report_message(format!("copying {} again with a new snapshot", table.table));
        let what = format!("shard {shard}: taking back a part of {}", table.table);
        let rows = match &chunk.extent {
            CopyExtent::Blocks(_) => context.predicate(table, ""),
            CopyExtent::Keys(range) => {
                format!("{} and {}", range.condition(), context.predicate(table, ""))
            }
        };
        epoch::begin(&into, &context.token()).await?;
        prover.prove(&into, std::slice::from_ref(table)).await?;
        let sql = format!("delete from only {} where {rows}", table.table.sql());
        into.execute(&sql, &[]).await.at(&what)?;
        into.execute(
            "update shardwright.chunk set done = false, rows = 0, bytes = 0, snapshot = null
             where migration = $1 and unit = $2",
            &[&context.dispatch.migration.0, &unit],
        )
        .await
        .at(&what)?;
        epoch::commit(&into, &what).await?;
    }
    Ok(())
}

/// Waits until nothing that was copied before is on its way: a commit whose client is gone may still wait for a
/// standby of the target, seen by nobody and with its locks, the migration's among them.
async fn settle(context: &StepContext, target: &Connected) -> Result<(), StepError> {
    let shard = target.name();
    let key = epoch::lock_key(&context.dispatch.migration);
    let wait = format!(
        "begin; set local lock_timeout = '500ms'; select pg_catalog.pg_advisory_xact_lock({key}); commit"
    );
    let deadline = Instant::now() + SETTLE_PATIENCE;
    while let Err(error) = target.batch_execute(&wait).await {
        epoch::rollback(target).await;
        if context.cancel.is_cancelled() {
            return Err(StepError::Interrupted);
        }
        let waits = error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE);
        if !waits || Instant::now() >= deadline {
            return Err(error).at(format_args!(
                "shard {shard}: waiting for chunks that are on their way"
            ));
        }
    }
    Ok(())
}
