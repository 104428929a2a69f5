//! Physical standbys of a shard. A standby that lacks the seal could be promoted and accept writes to the moved keys
//! (R6).
//!
//! A receiver that never reports its flush position counts as lagging, because its position is unknown. Since
//! PostgreSQL 17, standbys can synchronize slots. This does not change the effect of a promotion (I10).

use connect::Connected;
use plans::sql::quote_literal;

use super::lsn::Lsn;
use crate::error::{StepError, WithIntent};

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
