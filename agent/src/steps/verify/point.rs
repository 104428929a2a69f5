//! Both copies at one exact point.

use std::sync::Arc;
use std::time::Duration;

use connect::Connected;
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
use crate::stream::{HeldStream, ParkAt};

/// Creating a slot waits for every transaction that runs; one that never ends must not stop us for ever.
const SLOT_PATIENCE: Duration = Duration::from_secs(120);

/// Before any table was locked.
const SAVEPOINT: &str = "savepoint tables";

/// Both copies at one point.
pub(super) struct ComparisonPoint {
    /// What committed before it is seen on both sides, and nothing else.
    pub(super) at: Lsn,
    pub(super) origin: SnapshotSession,
    pub(super) destination: SnapshotSession,
}

/// A session in a transaction on a snapshot.
pub(super) struct SnapshotSession {
    session: Connected,
    prover: Arc<CodeProver>,
    shard: String,
}

impl SnapshotSession {
    pub(super) fn side(&self) -> &Connected {
        &self.session
    }

    /// Proves that reading these tables, and no others, runs no code that is not trusted, and keeps that so until others are
    /// proved: the locks of those before go.
    ///
    /// # Errors
    /// `code.untrusted`; what the server says.
    pub(super) async fn prove(&self, tables: &[MovingTable]) -> Result<(), StepError> {
        let before = "rollback to savepoint tables; ";
        self.prover.prove_after(&self.session, before, tables).await
    }

    /// Opens the transaction on a snapshot of its own.
    async fn open(&self) -> Result<(), StepError> {
        let begin = "begin isolation level repeatable read read only; select pg_catalog.pg_current_snapshot()";
        let sql = format!("{begin}; {SAVEPOINT}");
        self.session.batch_execute(&sql).await.at(format_args!(
            "shard {}: opening a snapshot to compare",
            self.shard
        ))
    }
}

/// Opens a snapshot on each side that sees exactly what committed before one point.
pub(super) async fn find(
    context: &StepContext,
    sides: &StreamShards,
) -> Result<ComparisonPoint, StepError> {
    if !context.is_online() {
        return at_rest(context, sides).await;
    }
    let stream = context.session.stream.lock().await;
    let stream = stream
        .as_ref()
        .ok_or_else(|| StepError::passing("stream.ended", "no change stream runs"))?;
    // Writers go on: without this the applier would be past the point before it is known.
    let held = stream.hold().await?;
    park(context, sides, &held).await
}

/// Offline neither side changes: any two snapshots are at the same point.
pub(super) async fn at_rest(
    context: &StepContext,
    sides: &StreamShards,
) -> Result<ComparisonPoint, StepError> {
    let origin = session(context, &sides.origin).await?;
    origin.open().await?;
    let destination = session(context, &sides.destination).await?;
    destination.open().await?;
    Ok(ComparisonPoint {
        at: Lsn::default(),
        origin,
        destination,
    })
}

/// As [`find`]; the applier stays at the point until `held` is dropped.
pub(super) async fn park(
    context: &StepContext,
    sides: &StreamShards,
    held: &HeldStream<'_>,
) -> Result<ComparisonPoint, StepError> {
    let what = format!("shard {}: making a snapshot to compare", sides.origin.name);
    let name = sides.origin.application_name("compare");
    let mut slot = ReplicationSession::open(&sides.origin.dsn, &name)
        .await
        .at(&what)?;
    let created = create_slot(context, &mut slot, &what).await?;
    let exported = created.snapshot.unwrap_or_default();
    let origin = session(context, &sides.origin).await?;
    snapshot::begin_with_snapshot(&origin.session, &exported, "read only")
        .await
        .at(&what)?;
    origin.session.batch_execute(SAVEPOINT).await.at(&what)?;
    let before = created.consistent_point;
    let at = ParkAt {
        before,
        snapshot: exported,
    };
    let destination = parked_snapshot(context, held, sides, at).await?;
    Ok(ComparisonPoint {
        at: before,
        origin,
        destination,
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
    let created = tokio::time::timeout(SLOT_PATIENCE, session.create_slot(&name, options)).await;
    let created = created.map_err(|_| {
        StepError::not_yet(
            "verify.waits",
            format!(
                "{what}: a transaction that was open before it has not ended for {SLOT_PATIENCE:?}"
            ),
        )
    })?;
    created.at(what)
}

/// The destination as it is when exactly what committed before the point is applied.
async fn parked_snapshot(
    context: &StepContext,
    held: &HeldStream<'_>,
    sides: &StreamShards,
    at: ParkAt,
) -> Result<SnapshotSession, StepError> {
    let destination = session(context, &sides.destination).await?;
    let parked = held.park(at);
    let marker = Marker::new(&sides.token, 0, MarkerKind::Park);
    let origin = sides.origin.session("marker").await?;
    // The marker commits after the point, so the stream is sure to reach it.
    let marked = marker.emit(&origin, &sides.token);
    tokio::try_join!(marked, parked)?;
    destination.open().await?;
    Ok(destination)
}

async fn session(context: &StepContext, shard: &Shard) -> Result<SnapshotSession, StepError> {
    let prover = context.session.code_prover(shard).await?;
    let session = shard.lookup_session("compare").await?;
    Ok(SnapshotSession {
        session,
        prover,
        shard: shard.name.clone(),
    })
}
