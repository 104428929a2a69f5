//! Physical standbys of a shard. A standby that lacks the seal could be promoted and accept writes to the moved keys
//! (R6).
//!
//! A receiver that never reports its flush position counts as lagging, because its position is unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use connect::Connected;
use plans::sql::quote_literal;
use tokio::time::Instant;

use super::lsn::Lsn;
use crate::error::{StepError, WithIntent};

/// The interval at which the agent reads the positions of standbys while it waits for them.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Returns whether the operator uses synchronized slots: `synchronized_standby_slots` is not empty. The agent then also
/// creates failover slots, so that a stream never sends a change that a standby lacks.
pub(crate) async fn uses_synchronized_slots(client: &Connected) -> Result<bool, StepError> {
    let shard = client.name();
    let row = client
        .query_one(
            "select exists (select from pg_catalog.pg_settings
                            where name = 'synchronized_standby_slots' and setting <> '')",
            &[],
        )
        .await
        .at(format_args!(
            "shard {shard}: reading synchronized_standby_slots"
        ))?;
    Ok(row.get(0))
}

/// Returns the flush position of the shard's own log.
pub(crate) async fn flush_position(client: &Connected) -> Result<Lsn, StepError> {
    let shard = client.name();
    let rows = client
        .query_prepared("select pg_catalog.pg_current_wal_flush_lsn()", &[])
        .await
        .at(format_args!("shard {shard}: reading its log position"))?;
    Ok(rows[0].get(0))
}

/// Returns a sentence for each standby that has not flushed the log up to `flushed`, or up to the shard's current flush
/// position if it is None. The function ignores the standbys in `ignored`, which the request names.
pub(crate) async fn lagging_standbys(
    client: &Connected,
    flushed: Option<Lsn>,
    ignored: &[String],
) -> Result<Vec<String>, StepError> {
    let shard = client.name();
    let rows = client
        .query_prepared(
            "select r.application_name::text, r.state::text,
                    pg_catalog.pg_wal_lsn_diff(own.flushed, r.flush_lsn)::bigint
             from (select coalesce($1, pg_catalog.pg_current_wal_flush_lsn()) as flushed) own, pg_catalog.pg_stat_replication r
             where not exists (select from pg_catalog.pg_replication_slots s
                               where s.active_pid = r.pid and s.slot_type = 'logical')
               and r.state in ('streaming', 'catchup')
               and coalesce(r.flush_lsn < own.flushed, true)
               and r.application_name <> all ($2)
             order by 1",
            &[&flushed, &ignored],
        )
        .await
        .at(format_args!(
            "shard {shard}: reading the positions of its standbys"
        ))?;
    let sentence = |name: String, state: String, bytes: Option<i64>| {
        let name = quote_literal(&name);
        match bytes {
            Some(bytes) => format!("standby {name} is {bytes} bytes of log behind ({state})"),
            None => format!(
                "standby {name} never reports its flush position (pg_receivewal does with --synchronous); `ignore_standbys` leaves it out"
            ),
        }
    };
    Ok(rows
        .iter()
        .map(|row| sentence(row.get(0), row.get(1), row.get(2)))
        .collect())
}

/// The physical slots from which the agent has seen standbys stream. They outlive the session that has seen them.
#[derive(Debug, Clone, Default)]
pub(crate) struct StandbySlots(Arc<Mutex<BTreeSet<String>>>);

/// The standby of a shard that has flushed least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SlowestStandby {
    /// Its application name, or the name of its slot if it is not connected.
    pub(crate) name: String,
    pub(crate) flushed: Lsn,
}

/// Returns when the server was started, in microseconds. It distinguishes the servers of a shard before and after a
/// failover.
pub(crate) async fn server_start(client: &Connected) -> Result<i64, StepError> {
    let shard = client.name();
    let rows = client
        .query_prepared(
            "select (1000000 * extract(epoch from pg_catalog.pg_postmaster_start_time()))::bigint",
            &[],
        )
        .await
        .at(format_args!("shard {shard}: reading its start time"))?;
    Ok(rows[0].get(0))
}

/// Returns the standby that has flushed least of the shard's log; `None` if no standby counts. Ignores the standbys
/// in `ignored`.
///
/// These standbys count:
/// - A connected receiver that reports a flush position. A receiver that never does (`pg_receivewal` without
///   `--synchronous`, `pg_basebackup`) is not a server that can be promoted.
/// - A standby that is not connected, if `slots` contains its slot: its last known position is where the slot begins.
///
/// A receiver whose position the role may not read counts as one that has flushed nothing.
pub(crate) async fn slowest_standby(
    client: &Connected,
    ignored: &[String],
    slots: &StandbySlots,
) -> Result<Option<SlowestStandby>, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: reading the positions of its standbys");
    // The slots are read after the connections: a standby that disconnects in between is found by its slot.
    let connections = client
        .query_prepared(
            "select r.pid, r.application_name::text, r.flush_lsn, r.state is not null
             from pg_catalog.pg_stat_replication r
             where not exists (select from pg_catalog.pg_replication_slots s
                               where s.active_pid = r.pid and s.slot_type = 'logical')",
            &[],
        )
        .await
        .at(&what)?;
    let physical_slots = client
        .query_prepared(
            "select slot_name::text, active_pid, restart_lsn from pg_catalog.pg_replication_slots
             where slot_type = 'physical' and not temporary and restart_lsn is not null
               and wal_status is distinct from 'lost'",
            &[],
        )
        .await
        .at(&what)?;
    if connections.iter().any(|row| !row.get::<_, bool>(3)) {
        return Ok(Some(SlowestStandby {
            name: "unknown: the role lacks pg_read_all_stats".to_owned(),
            flushed: Lsn::ZERO,
        }));
    }
    let connected: BTreeMap<i32, (String, Option<Lsn>)> = connections
        .iter()
        .map(|row| (row.get(0), (row.get(1), row.get(2))))
        .collect();
    let mut standbys: Vec<SlowestStandby> = connected
        .values()
        .filter(|(name, _)| !ignored.contains(name))
        .filter_map(|(name, flushed)| {
            flushed.map(|flushed| SlowestStandby {
                name: name.clone(),
                flushed,
            })
        })
        .collect();
    let rows = physical_slots
        .iter()
        .map(|row| (row.get::<_, String>(0), row.get(1), row.get(2)));
    standbys.extend(slots.disconnected(rows, &connected, ignored));
    Ok(standbys.into_iter().min_by_key(|standby| standby.flushed))
}

/// Waits until the connected standbys have flushed what the shard has flushed now. Returns a sentence about one that has
/// not at `deadline`. See [`slowest_standby`] for the standbys that count.
pub(crate) async fn wait_until_flushed(
    client: &Connected,
    ignored: &[String],
    deadline: Instant,
) -> Result<Option<String>, StepError> {
    let flushed = flush_position(client).await?;
    loop {
        let slowest = slowest_standby(client, ignored, &StandbySlots::default()).await?;
        let Some(standby) = slowest.filter(|standby| standby.flushed < flushed) else {
            return Ok(None);
        };
        if Instant::now() >= deadline {
            let (name, bytes) = (quote_literal(&standby.name), flushed.0 - standby.flushed.0);
            return Ok(Some(format!(
                "standby {name} is {bytes} bytes of log behind (`ignore_standbys` leaves out receivers that are never promoted)"
            )));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

impl StandbySlots {
    /// Remembers the slots from which standbys stream, and returns the standbys of remembered slots that are not
    /// connected.
    fn disconnected(
        &self,
        rows: impl Iterator<Item = (String, Option<i32>, Lsn)>,
        connected: &BTreeMap<i32, (String, Option<Lsn>)>,
        ignored: &[String],
    ) -> Vec<SlowestStandby> {
        let Ok(mut known) = self.0.lock() else {
            return Vec::new();
        };
        let mut standbys = Vec::new();
        for (name, pid, flushed) in rows {
            match pid.and_then(|pid| connected.get(&pid)) {
                Some((standby, _)) if ignored.contains(standby) => {}
                Some(_) => {
                    known.insert(name);
                }
                None if known.contains(&name) && !ignored.contains(&name) => {
                    standbys.push(SlowestStandby { name, flushed });
                }
                None => {}
            }
        }
        standbys
    }
}
