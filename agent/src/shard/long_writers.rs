//! Finds what prevents the start of a cutover (C1): long write transactions on the moving tables, and prepared
//! transactions.
//!
//! The operator sees the statement of a writer without its values. The agent ends a writer only as the operator saw it:
//! the statement that ends it compares process id, start of the process and start of the transaction again.

use std::time::Duration;

use connect::Connected;
use plans::id::ShardName;
use plans::sql::quote_literal;
use plans::table::MovingTable;
use plans::wire::LongWriter;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::epoch::{self, EpochToken};
use crate::error::{StepError, WithIntent};
use crate::postgres::redacted::{printable, redact_literals};

/// An obstacle to the start of a cutover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WriteObstacle {
    /// A write transaction that is older than the budget.
    Writer {
        writer: LongWriter,
        /// How long the transaction has been open.
        open: Duration,
    },
    /// A prepared transaction. It belongs to no session, so it ends only if a user commits it or rolls it back.
    Prepared {
        gid: String,
        owner: String,
        open: Duration,
    },
}

impl WriteObstacle {
    /// Describes the obstacle to the operator, and how to end it.
    pub(crate) fn description(&self) -> String {
        match self {
            Self::Writer { writer, open } => format!(
                "a writer has been open for {} ms: pid {} of shard {}, {} as {}, {}",
                open.as_millis(),
                writer.pid,
                writer.shard,
                writer.application,
                writer.user,
                writer.query
            ),
            Self::Prepared { gid, owner, open } => {
                let gid = quote_literal(gid);
                format!(
                    "prepared transaction {gid} of {owner} has waited for its second phase for {} s; its coordinator must end it: commit prepared {gid}, or rollback prepared {gid}",
                    open.as_secs()
                )
            }
        }
    }
}

/// SQL for the exact start time of a server process.
const BACKEND_START: &str = "pg_catalog.to_char(a.backend_start, 'YYYY-MM-DD HH24:MI:SS.US')";
/// SQL for the exact start time of its transaction.
const XACT_START: &str = "pg_catalog.to_char(a.xact_start, 'YYYY-MM-DD HH24:MI:SS.US')";

/// Lock modes that a writer keeps until its transaction ends.
const WRITE_LOCK_MODES: &str =
    "('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')";

/// Returns the transactions that have written to the moving tables and are older than `budget_ms`, the oldest first,
/// and then the prepared transactions that have written to them.
pub(crate) async fn find_obstacles(
    client: &Connected,
    tables: &[MovingTable],
    budget_ms: u32,
) -> Result<Vec<WriteObstacle>, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: searching for long writers");
    let names: Vec<String> = tables.iter().map(|table| table.table.sql()).collect();
    let locks_a_table =
        "pg_catalog.unnest($1::text[]) name where pg_catalog.to_regclass(name) = l.relation";
    let writers = format!(
        "select a.pid, {BACKEND_START}, coalesce(a.usename::text, ''), coalesce(a.application_name, ''),
                {XACT_START}, coalesce(a.query, ''),
                (extract(epoch from pg_catalog.clock_timestamp() - a.xact_start) * 1000)::bigint
         from pg_catalog.pg_stat_activity a
         where a.xact_start < pg_catalog.clock_timestamp() - pg_catalog.make_interval(secs => $2::float8 / 1000)
           and a.datname = pg_catalog.current_database()
           and not (a.usename = session_user and a.application_name like 'shardwright/%')
           and exists (select from pg_catalog.pg_locks l
                       where l.pid = a.pid and l.locktype = 'relation' and l.granted
                         and l.mode in {WRITE_LOCK_MODES} and exists (select from {locks_a_table}))
         order by a.xact_start"
    );
    let rows = client
        .query(&writers, &[&names, &f64::from(budget_ms)])
        .await
        .at(&what)?;
    let mut all: Vec<WriteObstacle> = rows.iter().map(|row| writer_from_row(row, shard)).collect();
    // A prepared transaction has no process. The lock on its transaction id shows its virtual transaction.
    let prepared = format!(
        "select p.gid, p.owner::text,
                greatest(0, extract(epoch from pg_catalog.clock_timestamp() - p.prepared) * 1000)::bigint
         from pg_catalog.pg_prepared_xacts p
         where p.database = pg_catalog.current_database()
           and exists (select from pg_catalog.pg_locks x
                       join pg_catalog.pg_locks l on l.virtualtransaction = x.virtualtransaction
                       where x.locktype = 'transactionid' and x.transactionid = p.transaction and x.granted
                         and l.locktype = 'relation' and l.granted and l.mode in {WRITE_LOCK_MODES} and exists (select from {locks_a_table}))
         order by p.prepared"
    );
    let rows = client.query(&prepared, &[&names]).await.at(&what)?;
    all.extend(rows.iter().map(|row| WriteObstacle::Prepared {
        gid: row.get(0),
        owner: row.get(1),
        open: millis(row.get(2)),
    }));
    Ok(all)
}

fn writer_from_row(row: &Row, shard: &str) -> WriteObstacle {
    let query: String = row.get(5);
    WriteObstacle::Writer {
        writer: LongWriter {
            shard: ShardName::from(shard),
            pid: row.get(0),
            backend_start: row.get(1),
            user: row.get(2),
            application: printable(row.get(3)),
            since: row.get(4),
            query: redact_literals(&query),
        },
        open: millis(row.get(6)),
    }
}

fn millis(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

/// Ends exactly this writer, as the owner of the migration. It first cancels the statement. If the transaction is idle,
/// or continues after the cancellation, it terminates the session. Returns false if the writer had already ended,
/// perhaps because its session is in another transaction.
pub(crate) async fn end_writer(
    client: &Connected,
    token: &EpochToken,
    writer: &LongWriter,
    cancelled: bool,
) -> Result<bool, StepError> {
    let shard = writer.shard.as_str();
    let what = format!("shard {shard}: ending the writer with pid {}", writer.pid);
    epoch::begin(client, token).await?;
    let sql = format!(
        "select case when a.state = 'active' and not $3 then pg_catalog.pg_cancel_backend(a.pid)
                     else pg_catalog.pg_terminate_backend(a.pid) end
         from pg_catalog.pg_stat_activity a
         where a.pid = $1 and {BACKEND_START} = $2 and {XACT_START} = $4 and a.pid <> pg_catalog.pg_backend_pid()"
    );
    let parameters: [&(dyn ToSql + Sync); 4] = [
        &writer.pid,
        &writer.backend_start,
        &cancelled,
        &writer.since,
    ];
    let row = client.query_opt(&sql, &parameters).await;
    let row = match row {
        Ok(row) => row,
        Err(error) => {
            epoch::rollback(client).await;
            return Err(error).at(&what);
        }
    };
    epoch::commit(client, &what).await?;
    Ok(row.is_some())
}
