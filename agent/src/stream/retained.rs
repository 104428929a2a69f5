//! Watches how much WAL the upstream shard retains for the stream's slot, and drops the slot when this exceeds the
//! limit.
//!
//! A stream with a spool begins to spool at a quarter of the limit. At half of the limit the agent logs a warning.

use std::time::Duration;

use connect::Connected;
use plans::failure::{Failure, RetryClass, StepCode};
use plans::names::Direction;
use plans::sql::quote_literal;
use plans::wire::Retained;
use tokio::sync::watch;
use tokio_postgres::error::SqlState;

use super::{StreamObservation, StreamSpec};
use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;
use crate::shard::epoch;

/// The interval between two probes of the slot.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The number of attempts to drop a slot whose walsender is ending.
const DROP_ATTEMPTS: u32 = 100;

/// The WAL that a slot retains.
struct SlotStatus {
    retained: Retained,
    /// The end of the upstream WAL.
    wal_end: Lsn,
}

/// Probes the slot at each interval, and returns a failure when the retained WAL exceeds the limit. An error of a probe
/// is only logged, because the stream itself reports why the shard is unavailable.
pub(super) async fn watch_slot(
    spec: StreamSpec,
    publish: watch::Sender<StreamObservation>,
) -> Failure {
    loop {
        match watch_on_one_session(&spec, &publish).await {
            Ok(limit_failure) => return limit_failure,
            Err(error) => {
                tracing::debug!(%error, "the agent could not read the slot of the change stream")
            }
        }
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

/// Does the same as [`watch_slot`], and returns the first error of a probe.
async fn watch_on_one_session(
    spec: &StreamSpec,
    publish: &watch::Sender<StreamObservation>,
) -> Result<Failure, StepError> {
    let session = spec.upstream.session("watch").await?;
    let mut warned = false;
    loop {
        if let Some(slot) = probe_slot(spec, &session).await? {
            let bytes = u64::try_from(slot.retained.bytes).unwrap_or(0);
            let is_high =
                slot.retained.wal_status == "unreserved" || bytes > spec.max_retained_bytes / 2;
            if is_high && !warned {
                tracing::warn!(shard = %spec.upstream.name, bytes, wal_status = %slot.retained.wal_status, "the shard retains much WAL for the change stream");
            }
            warned = is_high;
            if bytes > spec.max_retained_bytes {
                return Ok(limit_failure(spec, bytes));
            }
            publish.send_modify(|observation| {
                let peak = observation
                    .status
                    .retained
                    .peak_bytes
                    .max(slot.retained.bytes);
                observation.status.retained = Retained {
                    peak_bytes: peak,
                    ..slot.retained
                };
                observation.advance_wal_end(slot.wal_end);
            });
        }
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

fn limit_failure(spec: &StreamSpec, bytes: u64) -> Failure {
    Failure {
        code: StepCode::LogLimit.into(),
        message: format!(
            "shard {}: the server retained {} MiB of WAL for the {} stream, more than {} MiB; the agent dropped the slot of the stream",
            spec.upstream.name,
            bytes >> 20,
            spec.direction,
            spec.max_retained_bytes >> 20
        ),
        hint: Some(match spec.direction {
            Direction::Forward => "find out why the stream lagged (a transaction that stays open, a full disk of the agent), or raise wal_cap_mb, then `resume`: the agent captures again, compares the copied rows with the source, and copies those that differ".to_owned(),
            Direction::Reverse => "a rollback is no longer possible: `finish`".to_owned(),
        }),
        retry: RetryClass::None,
    }
}

/// Drops the stream's slot. The caller has stopped the stream; its walsender may still use the slot for a moment.
pub(super) async fn drop_slot(spec: &StreamSpec) -> Result<(), StepError> {
    let slot = spec.token.migration.slot(spec.direction);
    let what = format!(
        "shard {}: dropping replication slot {slot}",
        spec.upstream.name
    );
    let session = spec.upstream.session("watch").await?;
    let drop = format!(
        "select pg_catalog.pg_drop_replication_slot(slot_name) from pg_catalog.pg_replication_slots where slot_name = {}",
        quote_literal(&slot)
    );
    for _ in 0..DROP_ATTEMPTS {
        match epoch::execute(&session, &spec.token, &drop).await {
            Err(error) if error.code() == Some(&SqlState::OBJECT_IN_USE) => {
                tokio::time::sleep(CHECK_INTERVAL / 10).await;
            }
            result => return result.at(&what),
        }
    }
    Err(StepError::passing(
        StepCode::SlotBusy,
        format!("{what}: a session still uses the slot"),
    ))
}

async fn probe_slot(
    spec: &StreamSpec,
    session: &Connected,
) -> Result<Option<SlotStatus>, StepError> {
    let slot = spec.token.migration.slot(spec.direction);
    let rows = session
        .query_prepared(
            "select coalesce(pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), restart_lsn), 0)::bigint,
                    coalesce(wal_status, ''), safe_wal_size, pg_catalog.pg_current_wal_lsn()
             from pg_catalog.pg_replication_slots where slot_name = $1",
            &[&slot],
        )
        .await
        .at(format_args!(
            "shard {}: reading how much WAL slot {slot} retains",
            spec.upstream.name
        ))?;
    Ok(rows.first().map(|row| SlotStatus {
        retained: Retained {
            bytes: row.get(0),
            peak_bytes: 0,
            wal_status: row.get(1),
            safe_bytes: row.get(2),
        },
        wal_end: row.get(3),
    }))
}
