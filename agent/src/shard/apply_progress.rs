//! The durable progress of a change stream. It commits in the transaction of the data that it describes (I3).

use std::task::Poll;

use connect::Connected;
use futures::future::{Either, ready};
use plans::names::Direction;
use plans::sql::quote_literal;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::epoch::{self, EpochProof, EpochToken};
use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;

/// Returns the statement that writes `values` as the progress row.
fn write_sql(values: &str) -> String {
    format!(
        "insert into shardwright.progress as p (migration, direction, lsn, opened, transactions, changes)
         values ({values})
         on conflict (migration, direction) do update
         set lsn = excluded.lsn, opened = excluded.opened,
             transactions = excluded.transactions, changes = excluded.changes"
    )
}

/// The values of the prepared statement.
const PARAMETERS: &str = "$1, $2, $3, $4, $5, $6";

/// The largest number of keys in an entry. An index of single keys would cost more than the changes themselves.
const KEYS_PER_ENTRY: usize = 1000;
/// Inserts an entry. The agent forms the entries, not the server, because the apply waits for this session.
const INSERT_DIRTY: &str = "
    insert into shardwright.dirty (migration, relation, lsn, size, keys)
    values ($1, $2, $3, pg_catalog.cardinality($4::text[]), $4)";

/// The progress of a stream on its downstream shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ApplyProgress {
    /// The end of the last applied transaction.
    pub(crate) lsn: Lsn,
    /// True if the changes that arrive are the application's own: the marker `opened` has arrived, or the stream does
    /// not wait for it.
    pub(crate) opened: bool,
    pub(crate) transactions: i64,
    pub(crate) changes: i64,
}

/// Reads the progress row, if it exists.
pub(crate) async fn read(
    client: &Connected,
    token: &EpochToken,
    direction: Direction,
) -> Result<Option<ApplyProgress>, StepError> {
    let shard = client.name();
    let row = client
        .query_opt(
            "select lsn, opened, transactions, changes from shardwright.progress
             where migration = $1 and direction = $2",
            &[&token.migration.0, &direction.to_string()],
        )
        .await
        .at(format_args!("shard {shard}: reading progress"))?;
    Ok(row.map(|row| ApplyProgress {
        lsn: row.get(0),
        opened: row.get(1),
        transactions: row.get(2),
        changes: row.get(3),
    }))
}

/// Reads the position of the progress row, if it exists, with a prepared statement.
pub(crate) async fn read_position(
    client: &Connected,
    token: &EpochToken,
    direction: Direction,
) -> Result<Option<Lsn>, StepError> {
    let shard = client.name();
    let rows = client
        .query_prepared(
            "select lsn from shardwright.progress where migration = $1 and direction = $2",
            &[&token.migration.0, &direction.to_string()],
        )
        .await
        .at(format_args!("shard {shard}: reading progress"))?;
    Ok(rows.first().map(|row| row.get(0)))
}

/// As [`read`], after every transaction that writes the row has ended. If the session of an earlier run broke, its
/// commit may still be in progress on the server and wait for a standby.
///
/// # Errors
/// A transient one if such a transaction does not end in time. The session then keeps the lock timeout that this function set.
pub(crate) async fn read_settled(
    client: &Connected,
    token: &EpochToken,
    direction: Direction,
) -> Result<Option<ApplyProgress>, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: waiting for an earlier commit of the agent");
    let sql =
        "select 1 from shardwright.progress where migration = $1 and direction = $2 for update";
    query_settled(
        client,
        sql,
        &[&token.migration.0, &direction.to_string()],
        &what,
    )
    .await?;
    read(client, token, direction).await
}

/// Returns the rows that `sql` locks, after every transaction that writes them has ended. The rows have the values of
/// that time.
///
/// # Errors
/// As [`read_settled`].
pub(crate) async fn query_settled(
    client: &Connected,
    sql: &str,
    parameters: &[&(dyn ToSql + Sync)],
    what: &str,
) -> Result<Vec<Row>, StepError> {
    client
        .batch_execute("set lock_timeout = '2s'")
        .await
        .at(what)?;
    let rows = client.query(sql, parameters).await.at(what)?;
    client
        .batch_execute("set lock_timeout = 0")
        .await
        .at(what)?;
    Ok(rows)
}

/// Prepares the statements of [`write`] and [`mark_dirty`] in the session, so that their first poll sends them.
pub(crate) async fn prepare(client: &Connected) -> Result<(), StepError> {
    let shard = client.name();
    for statement in [&write_sql(PARAMETERS), INSERT_DIRTY] {
        let prepared = client.prepared(statement).await;
        prepared.at(format_args!("shard {shard}: preparing to write progress"))?;
    }
    Ok(())
}

/// Writes the progress row in the caller's transaction, which has proved its epoch.
pub(crate) async fn write(
    client: &Connected,
    token: &EpochToken,
    direction: Direction,
    progress: ApplyProgress,
) -> Result<(), StepError> {
    write_as(client, token, &direction.to_string(), progress).await
}

/// As [`write`], under a name other than that of a direction.
pub(crate) async fn write_as(
    client: &Connected,
    token: &EpochToken,
    name: &str,
    progress: ApplyProgress,
) -> Result<(), StepError> {
    let shard = client.name();
    client
        .query_prepared(
            &write_sql(PARAMETERS),
            &[
                &token.migration.0,
                &name,
                &progress.lsn,
                &progress.opened,
                &progress.transactions,
                &progress.changes,
            ],
        )
        .await
        .at(format_args!("shard {shard}: writing progress"))?;
    Ok(())
}

/// As [`write`], in a separate transaction that proves its epoch, in one round trip.
pub(crate) async fn commit(
    client: &Connected,
    token: &EpochToken,
    direction: Direction,
    progress: ApplyProgress,
) -> Result<(), StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: committing progress");
    let ApplyProgress {
        lsn,
        opened,
        transactions,
        changes,
    } = progress;
    let values = format!(
        "{}, '{direction}', '{lsn}', {opened}, {transactions}, {changes}",
        quote_literal(token.migration.as_str())
    );
    epoch::transact(client, token, EpochProof::Work, &write_sql(&values), &what)
        .await
        .map(|_| ())
}

/// Records keys as changed at `lsn`, in the caller's transaction. Keys that are sorted by table need the fewest
/// entries.
pub(crate) async fn mark_dirty(
    client: &Connected,
    token: &EpochToken,
    keys: &[(impl AsRef<str>, String)],
    lsn: Lsn,
) -> Result<(), StepError> {
    let shard = client.name();
    let of_one_table = |(one, _): &(_, String), (other, _): &(_, String)| {
        let (one, other): (&str, &str) = (AsRef::as_ref(one), AsRef::as_ref(other));
        one == other
    };
    let entries = keys
        .chunk_by(of_one_table)
        .flat_map(|keys| keys.chunks(KEYS_PER_ENTRY));
    let mut inserts = Vec::new();
    for keys in entries {
        let mut insert = Box::pin(insert_dirty(client, token, keys, lsn));
        // The first poll hands the statement to the connection, so all of them are sent before any later statement.
        inserts.push(match futures::poll!(insert.as_mut()) {
            Poll::Ready(done) => Either::Left(ready(done)),
            Poll::Pending => Either::Right(insert),
        });
    }
    for insert in inserts {
        let inserted = insert.await;
        inserted.at(format_args!("shard {shard}: recording changed keys"))?;
    }
    Ok(())
}

/// Inserts one entry, with keys of one relation.
async fn insert_dirty(
    client: &Connected,
    token: &EpochToken,
    keys: &[(impl AsRef<str>, String)],
    lsn: Lsn,
) -> Result<(), tokio_postgres::Error> {
    let relation = keys.first().map_or("", |(relation, _)| relation.as_ref());
    let texts: Vec<&str> = keys.iter().map(|(_, key)| key.as_str()).collect();
    let parameters: [&(dyn ToSql + Sync); 4] = [&token.migration.0, &relation, &lsn, &texts];
    client
        .query_prepared(INSERT_DIRTY, &parameters)
        .await
        .map(drop)
}
