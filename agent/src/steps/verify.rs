//! Compares both copies at one exact point of the source's log while writes go on.
//!
//! Order: the applier holds; a temporary slot gives a point and a snapshot that sees exactly what
//! committed before it; the applier goes on exactly to there; the target's snapshot is opened; then
//! both snapshots are compared at leisure. Keys that change afterwards are recorded as dirty.

use std::time::Duration;

use plans::failure::{Failure, RetryClass};
use plans::names::Direction;
use plans::step::verify::Verified;
use plans::table::MovingTable;
use plans::wire::TableProgress;
use tokio_postgres::Client;

use crate::error::{At, StepError};
use crate::owned::Context;
use crate::pg::epoch::Token;
use crate::pg::lsn::Lsn;
use crate::pg::marker::{Kind, Marker};
use crate::pg::replication::{ReplicationSession, SlotOptions};
use crate::pg::shard::Shard;
use crate::pg::{compare, epoch, snapshot};
use crate::stream::{Held, Stream};

/// Creating a slot waits for every transaction that runs; one that never ends must not stop us for ever.
const SLOT_PATIENCE: Duration = Duration::from_secs(120);

/// The two sides of a change stream: where changes are made, and where they are applied.
pub(super) struct Sides {
    pub(super) origin: Shard,
    pub(super) destination: Shard,
    pub(super) token: Token,
}

impl Sides {
    pub(super) fn of(context: &Context, direction: Direction) -> Result<Self, StepError> {
        Ok(match direction {
            Direction::Forward => Self {
                origin: context.source()?,
                destination: context.target()?,
                token: context.token(),
            },
            Direction::Reverse => Self {
                origin: context.target()?,
                destination: context.source()?,
                token: context.token_after_flip(),
            },
        })
    }
}

/// Both copies at one point.
struct Point {
    at: Lsn,
    origin: Snapshot,
    destination: Snapshot,
}

/// A session in a transaction on a snapshot.
struct Snapshot {
    session: connect::Connected,
    shard: String,
}

pub(super) async fn run(context: &Context) -> Result<Verified, StepError> {
    if !context.online() {
        return at_rest(context).await;
    }
    context.say("finding an exact point on both sides");
    if let Some(stream) = context.owned.stream.lock().await.as_ref() {
        stream.record_dirty();
    }
    let sides = Sides::of(context, Direction::Forward)?;
    let point = point(context, &sides).await?;
    let verified = compare_all(context, &point).await?;
    forget_dirty(&sides, point.at).await?;
    Ok(verified)
}

/// Offline neither side changes: any two snapshots are at the same point.
async fn at_rest(context: &Context) -> Result<Verified, StepError> {
    let sides = Sides::of(context, Direction::Forward)?;
    let point = Point {
        at: Lsn::default(),
        origin: resting(&sides.origin).await?,
        destination: resting(&sides.destination).await?,
    };
    compare_all(context, &point).await
}

async fn resting(shard: &Shard) -> Result<Snapshot, StepError> {
    let session = shard.session("compare").await?;
    open_snapshot(&session, &shard.name).await?;
    Ok(Snapshot {
        session,
        shard: shard.name.clone(),
    })
}

/// Compares every table.
async fn compare_all(context: &Context, point: &Point) -> Result<Verified, StepError> {
    let mut verified = Verified {
        at: point.at.to_string(),
        ..Verified::default()
    };
    let mut different = Vec::new();
    for (at, table) in context.dispatch.tables.iter().enumerate() {
        context.say(format!("comparing {}", table.table));
        let (rows, differences) = table_differences(context, point, table).await?;
        verified.rows_compared += rows;
        verified.different += differences;
        if differences > 0 {
            different.push(format!("{}: {differences} row(s)", table.table));
        }
        report(context, at, rows);
        fail_point::hit("verify.compared").await?;
    }
    if !different.is_empty() {
        return Err(differs(&different));
    }
    Ok(verified)
}

fn report(context: &Context, at: usize, rows: i64) {
    let done = TableProgress {
        table: context.dispatch.tables[at].table.to_string(),
        rows_done: rows,
        rows_total: rows,
        phase: "compared".to_owned(),
        ..TableProgress::default()
    };
    context.owned.update(|progress| {
        if at == 0 {
            progress.tables.clear();
        }
        progress.tables.push(done);
    });
}

fn differs(tables: &[String]) -> StepError {
    StepError::Failed(Failure {
        code: "verify.different".to_owned(),
        message: format!("the copies differ: {}", tables.join(", ")),
        hint: Some(
            "find out who wrote to the target; abort the migration and plan it again".to_owned(),
        ),
        retry: RetryClass::None,
    })
}

/// Opens a snapshot on each side that sees exactly what committed before one point.
async fn point(context: &Context, sides: &Sides) -> Result<Point, StepError> {
    let stream = context.owned.stream.lock().await;
    let stream = stream
        .as_ref()
        .ok_or_else(|| StepError::passing("stream.ended", "no change stream runs"))?;
    // Writers go on: without this the applier would be past the point before it is known.
    let held = stream.hold();
    let what = format!("shard {}: making a snapshot to compare", sides.origin.name);
    let name = sides.origin.application_name("compare");
    let mut slot = ReplicationSession::open(&sides.origin.dsn, &name)
        .await
        .at(&what)?;
    let options = SlotOptions {
        temporary: true,
        export: true,
    };
    let unique = uuid::Uuid::new_v4().simple().to_string();
    let slot_name = format!(
        "{}{}_cmp_{}",
        plans::names::REPLICATION_PREFIX,
        context.dispatch.migration,
        &unique[..8]
    );
    let created = tokio::time::timeout(SLOT_PATIENCE, slot.create_slot(&slot_name, options)).await;
    let created = created
        .map_err(|_| {
            StepError::not_yet(
                "verify.waits",
                format!("{what}: a transaction that was open before it has not ended for {SLOT_PATIENCE:?}"),
            )
        })?
        .at(&what)?;
    let exported = created.snapshot.unwrap_or_default();
    let origin = sides.origin.session("compare").await?;
    snapshot::begin_with(&origin, &exported, "read only")
        .await
        .at(&what)?;
    let destination = parked_snapshot(&held, sides, created.consistent_point).await?;
    Ok(Point {
        at: created.consistent_point,
        origin: Snapshot {
            session: origin,
            shard: sides.origin.name.clone(),
        },
        destination: Snapshot {
            session: destination,
            shard: sides.destination.name.clone(),
        },
    })
}

/// The destination as it is when exactly what committed before `before` is applied.
async fn parked_snapshot(
    held: &Held<'_>,
    sides: &Sides,
    before: Lsn,
) -> Result<connect::Connected, StepError> {
    let session = sides.destination.session("compare").await?;
    let parked = held.park(before);
    let marker = Marker::new(&sides.token, 0, Kind::Park);
    let origin = sides.origin.session("marker").await?;
    // The marker commits after the point, so the stream is sure to reach it.
    let marked = marker.emit(&origin, &sides.token, &sides.origin.name);
    tokio::try_join!(marked, parked)?;
    open_snapshot(&session, &sides.destination.name).await?;
    Ok(session)
}

async fn open_snapshot(session: &Client, shard: &str) -> Result<(), StepError> {
    session
        .batch_execute("begin isolation level repeatable read read only; select pg_catalog.pg_current_snapshot()")
        .await
        .at(format_args!("shard {shard}: opening a snapshot to compare"))
}

/// Rows of the table on the origin, and how many differ or are missing on one side.
async fn table_differences(
    context: &Context,
    point: &Point,
    table: &MovingTable,
) -> Result<(i64, i64), StepError> {
    let predicate = table.predicate(&context.dispatch.keys, "t");
    let (here, there) = tokio::try_join!(
        compare::digests(
            &point.origin.session,
            table,
            &predicate,
            &point.origin.shard
        ),
        compare::digests(
            &point.destination.session,
            table,
            &predicate,
            &point.destination.shard
        ),
    )?;
    let buckets = compare::differing(&here, &there);
    let rows = compare::rows(&here);
    if buckets.is_empty() {
        return Ok((rows, 0));
    }
    let (origin, destination) = (&point.origin, &point.destination);
    let (here, there) = tokio::try_join!(
        compare::bucket_rows(&origin.session, table, &predicate, &buckets, &origin.shard),
        compare::bucket_rows(
            &destination.session,
            table,
            &predicate,
            &buckets,
            &destination.shard
        ),
    )?;
    Ok((rows, compare::count_differences(&here, &there)))
}

/// Keys whose last change committed before `before` have been compared.
async fn forget_dirty(sides: &Sides, before: Lsn) -> Result<(), StepError> {
    let shard = sides.destination.name.as_str();
    let session = sides.destination.session("dirty").await?;
    let what = format!("shard {shard}: forgetting compared keys");
    epoch::begin(&session, &sides.token, shard).await?;
    session
        .execute(
            "delete from shardwright.dirty where migration = $1 and lsn < $2",
            &[&sides.token.migration.0, &before],
        )
        .await
        .at(&what)?;
    epoch::commit(&session, &what).await
}

/// The stream of the context, for those that only watch it.
pub(super) async fn watch(
    context: &Context,
) -> Result<tokio::sync::watch::Receiver<crate::stream::Seen>, StepError> {
    let slot = context.owned.stream.lock().await;
    slot.as_ref()
        .map(Stream::watch)
        .ok_or_else(|| StepError::passing("stream.ended", "no change stream runs"))
}
