//! Watches how much log the origin keeps for the stream's slot, and gives the slot up before that is too much.
//!
//! A stream that has a spool goes on with it at a quarter of the limit; at a half the log is warned about.

use std::time::Duration;

use connect::Connected;
use plans::failure::{Failure, RetryClass};
use plans::names::Direction;
use plans::sql::quote_literal;
use plans::wire::Retained;
use tokio::sync::watch;
use tokio_postgres::error::SqlState;

use super::{StreamObservation, StreamSpec};
use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;
use crate::shard::epoch;

/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// How often it is tried to drop a slot whose reader is ending.
const DROP_TRIES: u32 = 100;

/// What a slot costs its server.
struct SlotStatus {
    retained: Retained,
    /// How far the log reaches.
    written: Lsn,
}

/// Looks again and again, until the limit is reached; then says so. A look that fails is tried again: the
/// stream itself says why.
pub(super) async fn watch(spec: StreamSpec, publish: watch::Sender<StreamObservation>) -> Failure {
    loop {
        match watch_session(&spec, &publish).await {
            Ok(too_much) => return too_much,
            Err(error) => tracing::debug!(%error, "the slot could not be watched"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn watch_session(
    spec: &StreamSpec,
    publish: &watch::Sender<StreamObservation>,
) -> Result<Failure, StepError> {
    let session = spec.origin.session("watch").await?;
    let mut warned = false;
    loop {
        if let Some(seen) = look(spec, &session).await? {
            let bytes = u64::try_from(seen.retained.bytes).unwrap_or(0);
            let beyond = seen.retained.wal_status == "unreserved" || bytes > spec.log_limit / 2;
            if beyond && !warned {
                tracing::warn!(shard = %spec.origin.name, bytes, wal_status = %seen.retained.wal_status, "the log kept for the change stream grows");
            }
            warned = beyond;
            if bytes > spec.log_limit {
                return Ok(too_much(spec, bytes));
            }
            publish.send_modify(|status| {
                let peak = status.status.retained.peak_bytes.max(seen.retained.bytes);
                status.status.retained = Retained {
                    peak_bytes: peak,
                    ..seen.retained
                };
                status.wrote(seen.written);
            });
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn too_much(spec: &StreamSpec, bytes: u64) -> Failure {
    Failure {
        code: "log.limit".to_owned(),
        message: format!(
            "shard {}: {} MiB of log were kept for the {} stream, more than {} MiB; its slot was dropped",
            spec.origin.name,
            bytes >> 20,
            spec.direction,
            spec.log_limit >> 20
        ),
        hint: Some(match spec.direction {
            Direction::Forward => "find out what kept the stream back (a transaction that stays open, a full disk of the agent), then `resume`: the copy begins again; or raise wal_cap_mb".to_owned(),
            Direction::Reverse => "a roll back is not possible any more: `finish`".to_owned(),
        }),
        retry: RetryClass::None,
    }
}

/// Drops the stream's slot; its reader is gone or about to be.
pub(super) async fn drop_slot(spec: &StreamSpec) -> Result<(), StepError> {
    let slot = spec.token.migration.slot(spec.direction);
    let what = format!(
        "shard {}: dropping replication slot {slot}",
        spec.origin.name
    );
    let session = spec.origin.session("watch").await?;
    let drop = format!(
        "select pg_catalog.pg_drop_replication_slot(slot_name) from pg_catalog.pg_replication_slots where slot_name = {}",
        quote_literal(&slot)
    );
    for _ in 0..DROP_TRIES {
        match epoch::execute(&session, &spec.token, &drop).await {
            Err(error) if error.code() == Some(&SqlState::OBJECT_IN_USE) => {
                tokio::time::sleep(PAUSE / 10).await;
            }
            done => return done.at(&what),
        }
    }
    Err(StepError::passing(
        "slot.busy",
        format!("{what}: it stays in use"),
    ))
}

async fn look(spec: &StreamSpec, session: &Connected) -> Result<Option<SlotStatus>, StepError> {
    let slot = spec.token.migration.slot(spec.direction);
    let rows = session
        .query_prepared(
            "select coalesce(pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), restart_lsn), 0)::bigint,
                    coalesce(wal_status, ''), safe_wal_size, pg_catalog.pg_current_wal_lsn()
             from pg_catalog.pg_replication_slots where slot_name = $1",
            &[&slot],
        )
        .await
        .at(format_args!("shard {}: watching its log", spec.origin.name))?;
    Ok(rows.first().map(|row| SlotStatus {
        retained: Retained {
            bytes: row.get(0),
            peak_bytes: 0,
            wal_status: row.get(1),
            safe_bytes: row.get(2),
        },
        written: row.get(3),
    }))
}
