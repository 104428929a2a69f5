//! Snapshots of both shards at one exact position.

use std::sync::Arc;
use std::time::Duration;

use connect::Connected;
use plans::failure::StepCode;
use plans::id::AttemptNo;
use plans::names::REPLICATION_PREFIX;
use plans::table::MovingTable;

use super::StreamShards;
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::lsn::Lsn;
use crate::postgres::replication::{CreatedSlot, ReplicationSession, SlotOptions};
use crate::shard::database::Shard;
use crate::shard::marker::{Marker, MarkerKind};
use crate::shard::snapshot;
use crate::shard::user_code::CodeProver;
use crate::stream::{ParkAt, PausedStream};

/// Time limit for the creation of a slot, which waits until every running transaction has ended.
const SLOT_TIMEOUT: Duration = Duration::from_secs(120);

/// The savepoint before the table locks. A rollback to it releases the locks, and keeps the snapshot.
const SAVEPOINT: &str = "savepoint tables";

/// Snapshots of both shards at one position.
pub(crate) struct ComparisonPoint {
    /// Both snapshots see exactly the transactions that committed before this position.
    pub(super) at: Lsn,
    pub(crate) upstream: SnapshotSession,
    pub(super) downstream: SnapshotSession,
}

/// A session with an open transaction, in which all queries see one snapshot.
pub(crate) struct SnapshotSession {
    session: Connected,
    prover: Arc<CodeProver>,
    shard: String,
}

impl SnapshotSession {
    pub(super) fn connection(&self) -> &Connected {
        &self.session
    }

    /// Locks these tables, and proves that reading them runs no untrusted code (ADR 49). Releases the locks of the
    /// tables that were proved before.
    ///
    /// # Errors
    /// `code.untrusted`; `schema.changed` if a command has rewritten one of the tables since the snapshot, which then does
    /// not see its rows; the errors of the server.
    pub(crate) async fn lock_and_prove_tables(
        &self,
        tables: &[MovingTable],
    ) -> Result<(), StepError> {
        let before = "rollback to savepoint tables; ";
        self.prover
            .prove_after(&self.session, before, tables)
            .await?;
        for table in tables {
            let (present, visible) = snapshot::file_nodes(&self.session, &table.table).await?;
            if present != visible {
                return Err(StepError::not_yet(
                    StepCode::SchemaChanged,
                    format!(
                        "shard {}: a command has rewritten table {} since the snapshot of the comparison; the comparison continues with another one",
                        self.shard, table.table
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Opens the transaction, and takes its snapshot.
    async fn open_snapshot(&self) -> Result<(), StepError> {
        let begin = "begin isolation level repeatable read read only; select pg_catalog.pg_current_snapshot()";
        let sql = format!("{begin}; {SAVEPOINT}");
        self.session.batch_execute(&sql).await.at(format_args!(
            "shard {}: opening a snapshot for the comparison",
            self.shard
        ))
    }
}

/// Opens a snapshot on each shard, so that both see exactly the commits before one position of the upstream WAL.
pub(super) async fn open_point(
    context: &StepContext,
    shards: &StreamShards,
) -> Result<ComparisonPoint, StepError> {
    if !context.is_online() {
        return open_offline_point(context, shards).await;
    }
    let stream = context.session.stream.lock().await;
    let stream = stream
        .as_ref()
        .ok_or_else(|| StepError::passing(StepCode::StreamEnded, "no change stream runs"))?;
    // Writes continue: if the stream were not paused, it could apply later changes before the position is known.
    let paused_stream = stream.pause().await?;
    open_point_of_paused_stream(context, shards, &paused_stream).await
}

/// Opens two snapshots in an offline move. The moving rows do not change on either shard, so any snapshots can be
/// compared.
pub(crate) async fn open_offline_point(
    context: &StepContext,
    shards: &StreamShards,
) -> Result<ComparisonPoint, StepError> {
    let upstream = open_session(context, &shards.upstream).await?;
    upstream.open_snapshot().await?;
    let downstream = open_session(context, &shards.downstream).await?;
    downstream.open_snapshot().await?;
    Ok(ComparisonPoint {
        at: Lsn::default(),
        upstream,
        downstream,
    })
}

/// Does the same as [`open_point`], with a stream that the caller has paused. The stream stays at the position until
/// `paused_stream` is dropped.
pub(super) async fn open_point_of_paused_stream(
    context: &StepContext,
    shards: &StreamShards,
    paused_stream: &PausedStream<'_>,
) -> Result<ComparisonPoint, StepError> {
    let what = format!(
        "shard {}: taking a snapshot for the comparison",
        shards.upstream.name
    );
    let name = shards.upstream.application_name("compare");
    // The slot and its exported snapshot exist until this session is dropped.
    let mut slot_session = ReplicationSession::open(&shards.upstream.dsn, &name)
        .await
        .at(&what)?;
    let created = create_slot(context, &mut slot_session, &what).await?;
    let exported = created.snapshot.unwrap_or_default();
    let upstream = open_session(context, &shards.upstream).await?;
    snapshot::begin_with_snapshot(&upstream.session, &exported, "read only")
        .await
        .at(&what)?;
    upstream.session.batch_execute(SAVEPOINT).await.at(&what)?;
    let before = created.consistent_point;
    let at = ParkAt {
        before,
        snapshot: exported,
    };
    let downstream = open_downstream_snapshot(context, paused_stream, shards, at).await?;
    Ok(ComparisonPoint {
        at: before,
        upstream,
        downstream,
    })
}

async fn create_slot(
    context: &StepContext,
    session: &mut ReplicationSession,
    what: &str,
) -> Result<CreatedSlot, StepError> {
    let options = SlotOptions {
        temporary: true,
        export: true,
        failover: false,
    };
    let unique = uuid::Uuid::new_v4().simple().to_string();
    let name = format!(
        "{REPLICATION_PREFIX}{}_cmp_{}",
        context.dispatch.migration,
        &unique[..8]
    );
    let created = tokio::time::timeout(SLOT_TIMEOUT, session.create_slot(&name, options)).await;
    let created = created.map_err(|_| {
        StepError::not_yet(
            StepCode::VerifyWaits,
            format!(
                "{what}: the creation of a slot has waited for {SLOT_TIMEOUT:?} for a transaction that was already open"
            ),
        )
    })?;
    created.at(what)
}

/// Makes the stream apply exactly the commits before the position `at`. Then opens a snapshot on the downstream shard.
async fn open_downstream_snapshot(
    context: &StepContext,
    paused_stream: &PausedStream<'_>,
    shards: &StreamShards,
    at: ParkAt,
) -> Result<SnapshotSession, StepError> {
    let downstream = open_session(context, &shards.downstream).await?;
    let parked = paused_stream.park(at);
    let marker = Marker::new(&shards.token, AttemptNo(0), MarkerKind::Park);
    let upstream = shards.upstream.session("marker").await?;
    // The stream notices that it has reached the position only when a later transaction arrives. This marker is one.
    let marked = marker.emit(&upstream, &shards.token);
    tokio::try_join!(marked, parked)?;
    downstream.open_snapshot().await?;
    Ok(downstream)
}

async fn open_session(context: &StepContext, shard: &Shard) -> Result<SnapshotSession, StepError> {
    let prover = context.session.code_prover(shard).await?;
    let session = shard.lookup_session("compare").await?;
    Ok(SnapshotSession {
        session,
        prover,
        shard: shard.name.clone(),
    })
}
