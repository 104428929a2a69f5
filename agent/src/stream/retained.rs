//! Watches how much log the origin keeps for the stream's slot.

use std::time::Duration;

use plans::wire::Retained;
use tokio::sync::watch;
use tokio_postgres::Client;

use super::{Seen, StreamSpec};
use crate::error::{At, StepError};
use crate::pg::lsn::Lsn;

/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);

/// What a slot costs its server.
struct Look {
    retained: Retained,
    /// How far the log reaches.
    written: Lsn,
}

/// Looks again and again; never returns. A look that fails is tried again: the stream itself says why.
pub(super) async fn watch(spec: StreamSpec, publish: watch::Sender<Seen>) {
    loop {
        if let Err(error) = watch_session(&spec, &publish).await {
            tracing::debug!(%error, "the slot could not be watched");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn watch_session(spec: &StreamSpec, publish: &watch::Sender<Seen>) -> Result<(), StepError> {
    let session = spec.origin.session("watch").await?;
    loop {
        if let Some(seen) = look(spec, &session).await? {
            publish.send_modify(|status| {
                let peak = status.status.retained.peak_bytes.max(seen.retained.bytes);
                status.status.retained = Retained {
                    peak_bytes: peak,
                    ..seen.retained
                };
                status.written = status.written.max(seen.written);
            });
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn look(spec: &StreamSpec, session: &Client) -> Result<Option<Look>, StepError> {
    let slot = spec.token.migration.slot(spec.direction);
    let row = session
        .query_opt(
            "select coalesce(pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), restart_lsn), 0)::bigint,
                    coalesce(wal_status, ''), safe_wal_size, pg_catalog.pg_current_wal_lsn()
             from pg_catalog.pg_replication_slots where slot_name = $1",
            &[&slot],
        )
        .await
        .at(format_args!("shard {}: watching its log", spec.origin.name))?;
    Ok(row.map(|row| Look {
        retained: Retained {
            bytes: row.get(0),
            peak_bytes: 0,
            wal_status: row.get(1),
            safe_bytes: row.get(2),
        },
        written: row.get(3),
    }))
}
