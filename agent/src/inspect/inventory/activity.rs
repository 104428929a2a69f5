//! Reads what a server does at the moment: connections, counters, standbys, slots and the largest tables.
//!
//! It reads catalogs and statistics only. Each query is one round trip.

use connect::Connected;
use plans::inspection::inventory::{
    ActiveSlot, ActiveStandby, ActivityPart, MAX_MEASURED_TABLES, MeasuredTable, ServerActivity,
    UnreadablePart,
};
use tokio_postgres::{Error, Row};

pub(super) async fn read(client: &Connected) -> Result<ServerActivity, Error> {
    let mut activity = counters(client).await?;
    let mut unreadable = Vec::new();
    activity.standbys = readable(
        ActivityPart::Standbys,
        standbys(client).await,
        &mut unreadable,
    )?;
    activity.slots = readable(ActivityPart::Slots, slots(client).await, &mut unreadable)?;
    activity.tables = readable(
        ActivityPart::Tables,
        largest_tables(client).await,
        &mut unreadable,
    )?;
    activity.unreadable = unreadable;
    Ok(activity)
}

/// Returns what was read. If the server refused to let the role read it, notes that, and returns an empty list.
fn readable<T>(
    part: ActivityPart,
    read: Result<Vec<T>, Error>,
    unreadable: &mut Vec<UnreadablePart>,
) -> Result<Vec<T>, Error> {
    let error = match read {
        Ok(read) => return Ok(read),
        Err(error) => error,
    };
    let Some(refusal) = error.as_db_error() else {
        return Err(error);
    };
    unreadable.push(UnreadablePart {
        part,
        reason: refusal.message().to_owned(),
    });
    Ok(Vec::new())
}

async fn counters(client: &Connected) -> Result<ServerActivity, Error> {
    let sql = "select (extract(epoch from pg_catalog.clock_timestamp()) * 1000)::bigint,
                      (select coalesce(sum(numbackends), 0)::bigint from pg_catalog.pg_stat_database),
                      pg_catalog.current_setting('max_connections')::bigint,
                      d.tup_inserted + d.tup_updated + d.tup_deleted, d.xact_commit, d.tup_returned,
                      t.tables, case when t.tables = 0 then 0 else t.rows end,
                      d.datname::text
               from pg_catalog.pg_stat_database d,
                    (select count(*) filter (where not c.relispartition) as tables,
                            (sum(c.reltuples::float8) filter (where c.relkind <> 'p' and c.reltuples >= 0))::bigint as rows
                     from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                     where c.relkind in ('r', 'p', 'm')
                       and n.nspname not in ('information_schema', 'shardwright') and n.nspname !~ '^pg_') t
               where d.datname = pg_catalog.current_database()";
    let row = client.query_one(sql, &[]).await?;
    Ok(ServerActivity {
        at_ms: row.get(0),
        connections: u32::try_from(row.get::<_, i64>(1)).unwrap_or(u32::MAX),
        max_connections: u32::try_from(row.get::<_, i64>(2)).unwrap_or(u32::MAX),
        written_rows: unsigned(&row, 3).unwrap_or_default(),
        commits: unsigned(&row, 4).unwrap_or_default(),
        read_rows: unsigned(&row, 5),
        table_count: unsigned(&row, 6).unwrap_or_default(),
        row_count: unsigned(&row, 7),
        database: row.get(8),
        ..ServerActivity::default()
    })
}

/// Returns the physical standbys. A role without `pg_read_all_stats` gets their names only.
async fn standbys(client: &Connected) -> Result<Vec<ActiveStandby>, Error> {
    let sql = "select coalesce(r.application_name, ''), r.state, coalesce(r.sync_state, '') in ('sync', 'quorum'),
                      case when not pg_catalog.pg_is_in_recovery()
                           then (pg_catalog.pg_current_wal_lsn() - r.replay_lsn)::bigint end,
                      (extract(epoch from r.replay_lag) * 1000)::bigint
               from pg_catalog.pg_stat_replication r
               where not exists (select from pg_catalog.pg_replication_slots s
                                 where s.active_pid = r.pid and s.slot_type = 'logical')
                 and coalesce(r.application_name, '') <> 'pg_basebackup'
               order by 1";
    let rows = client.query(sql, &[]).await?;
    let standby = |row: &Row| ActiveStandby {
        name: row.get(0),
        state: row.get(1),
        synchronous: row.get(2),
        lag_bytes: unsigned(row, 3),
        lag_ms: unsigned(row, 4),
    };
    Ok(rows.iter().map(standby).collect())
}

async fn slots(client: &Connected) -> Result<Vec<ActiveSlot>, Error> {
    let sql = "select slot_name::text, slot_type = 'logical', active,
                      ((case when pg_catalog.pg_is_in_recovery() then pg_catalog.pg_last_wal_replay_lsn()
                             else pg_catalog.pg_current_wal_lsn() end) - restart_lsn)::bigint,
                      database::text
               from pg_catalog.pg_replication_slots order by 1";
    let rows = client.query(sql, &[]).await?;
    let slot = |row: &Row| ActiveSlot {
        name: row.get(0),
        logical: row.get(1),
        active: row.get(2),
        retained_bytes: unsigned(row, 3),
        database: row.get(4),
    };
    Ok(rows.iter().map(slot).collect())
}

/// Returns the largest tables. Only these are measured: the catalog orders them by the pages that it knows.
async fn largest_tables(client: &Connected) -> Result<Vec<MeasuredTable>, Error> {
    let sql = "select t.name, t.bytes, t.rows from (
                   select pg_catalog.format('%s.%s', n.nspname, c.relname) as name,
                          pg_catalog.pg_total_relation_size(c.oid) as bytes,
                          case when c.reltuples >= 0 then c.reltuples::bigint end as rows
                   from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                   where c.relkind in ('r', 'm') and n.nspname not in ('information_schema', 'shardwright') and n.nspname !~ '^pg_'
                   order by c.relpages desc, c.oid limit $1) t
               order by t.bytes desc nulls last, t.name";
    let limit = i64::try_from(MAX_MEASURED_TABLES).unwrap_or(i64::MAX);
    let rows = client.query(sql, &[&limit]).await?;
    let table = |row: &Row| {
        // A table that was dropped meanwhile has no size.
        Some(MeasuredTable {
            name: row.get(0),
            bytes: unsigned(row, 1)?,
            rows: unsigned(row, 2),
        })
    };
    Ok(rows.iter().filter_map(table).collect())
}

/// Returns a number that is not negative.
fn unsigned(row: &Row, index: usize) -> Option<u64> {
    let number: Option<i64> = row.get(index);
    number.and_then(|number| u64::try_from(number).ok())
}
