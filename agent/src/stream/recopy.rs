//! Reads rows again that arrive without some of their values. There are two reasons:
//! - An UPDATE moved the row into the moving keys, or into a copy unit that lacks it. Large values that it did not
//!   change are not in the WAL.
//! - A value was too large for the stream to carry.
//!
//! The agent reads the complete row on the upstream shard, by its key, with a snapshot in which the transaction of the
//! change is visible. The row is then *ahead* of the stream, because the snapshot may also show later changes. The
//! stream does not apply a later change of this key if the snapshot shows it. The batch stays open until the stream
//! reaches the position at which the WAL ended when the snapshot was taken. So no client sees a row that is ahead.
//! After a crash both the row and the knowledge that it is ahead are gone.

use std::collections::HashMap;
use std::time::Duration;

use connect::Connected;
use plans::failure::StepCode;
use plans::id::AttemptNo;
use plans::key_set::KeySet;
use plans::sql::{quote_ident, quote_literal};
use plans::table::MovingTable;
use tokio::time::Instant;

use super::{ParkAt, StreamSpec};
use crate::compare::parse_key;
use crate::error::{StepError, WithIntent};
use crate::postgres::copy_stream;
use crate::postgres::lsn::Lsn;
use crate::postgres::visibility::TxSnapshot;
use crate::shard::epoch;
use crate::shard::marker::{Marker, MarkerKind};
use crate::shard::{snapshot, user_code};

/// The time limit for a captured commit to become visible on the upstream shard. It is not visible while it waits for a
/// synchronous standby, which may be this stream.
const VISIBILITY_TIMEOUT: Duration = Duration::from_secs(30);
/// The interval between two snapshots.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// The maximum stored size of a row that the agent reads into memory. It copies a larger row from shard to shard by
/// COPY.
const MAX_BYTES_IN_MEMORY: i32 = 128 << 10;

/// The result of reading a row again.
#[derive(Debug)]
pub(super) enum FoundRow {
    /// No row has this key any more.
    Missing,
    /// The row's values as text, in the order of the table's written columns.
    Row(Vec<Option<String>>),
    /// The row exists and is too large for memory.
    TooLarge,
}

/// The rows that were read again, while one of them is ahead of the stream.
#[derive(Debug, Default)]
pub(super) struct RecopiedRows {
    /// The snapshots with which rows were read.
    snapshots: Vec<TxSnapshot>,
    /// For each table and key: the index of the snapshot with which the row was read. This includes rows that did not
    /// exist any more.
    rows: HashMap<(usize, String), usize>,
    /// Every transaction that is visible in one of the snapshots has its commit before this position. `None` if no row
    /// is ahead.
    ahead_until: Option<Lsn>,
    sessions: Option<RecopySessions>,
    /// Whether the reader's session has an open transaction with the newest snapshot.
    is_reader_open: bool,
}

/// Sessions on the upstream shard. They stay open for further incomplete rows.
#[derive(Debug)]
struct RecopySessions {
    /// Reads rows in a transaction with a snapshot.
    reader: Connected,
    /// Writes barriers, and checks the code of the tables.
    barrier: Connected,
}

impl RecopiedRows {
    /// Returns whether a row is ahead of the stream, so that the batch must stay open.
    pub(super) fn has_row_ahead(&self) -> bool {
        self.ahead_until.is_some()
    }

    /// Returns whether the row, as it was read, contains what transaction `xid` did to it. `None` if it was not read
    /// again.
    pub(super) fn contains_effect(&self, table: usize, key: &str, xid: u32) -> Option<bool> {
        if self.rows.is_empty() {
            return None;
        }
        let snapshot = self.rows.get(&(table, key.to_owned()))?;
        let snapshot = self.snapshots.get(*snapshot)?;
        Some(snapshot.sees(snapshot.widen(xid)))
    }

    /// Forgets all rows if no snapshot can show a transaction whose commit is at the position `commit`: the stream has
    /// reached the rows, so none is ahead any more.
    pub(super) async fn forget_rows_if_reached(&mut self, commit: Lsn) {
        if self.ahead_until.is_none_or(|until| commit < until) {
            return;
        }
        self.ahead_until = None;
        self.snapshots.clear();
        self.rows.clear();
        self.is_reader_open = false;
        if let Some(sessions) = &self.sessions {
            epoch::rollback(&sessions.reader).await;
        }
    }

    /// Reads a row with a snapshot in which transaction `xid` is visible. `table` is the index among the move's tables.
    /// A stream that is going to park reads the row with the snapshot of that point, `park_at`.
    ///
    /// # Errors
    /// `capture.unseen` if the transaction does not become visible within [`VISIBILITY_TIMEOUT`].
    pub(super) async fn read_row(
        &mut self,
        spec: &StreamSpec,
        park_at: Option<&ParkAt>,
        table: usize,
        key: &str,
        xid: u32,
    ) -> Result<FoundRow, StepError> {
        let sees = |snapshot: &TxSnapshot| snapshot.sees(snapshot.widen(xid));
        let sessions = match self.sessions.take() {
            Some(sessions) => sessions,
            None => RecopySessions {
                reader: spec.upstream.lookup_session("recopy").await?,
                barrier: spec.upstream.session("barrier").await?,
            },
        };
        let sessions = self.sessions.insert(sessions);
        if !self.is_reader_open || !self.snapshots.last().is_some_and(sees) {
            self.is_reader_open = false;
            let (snapshot, end) = take_snapshot(spec, park_at, sessions, xid).await?;
            self.snapshots.push(snapshot);
            self.ahead_until = Some(end);
            self.is_reader_open = true;
            write_barrier(spec, sessions).await?;
        }
        let found = query_row(&sessions.reader, &spec.tables[table], &spec.keys, key).await?;
        let snapshot = self.snapshots.len().saturating_sub(1);
        self.rows.insert((table, key.to_owned()), snapshot);
        Ok(found)
    }

    /// Copies a row that is too large for memory to the downstream shard, in the open transaction of `target`.
    ///
    /// # Errors
    /// `capture.unread` if the snapshot no longer shows the row; an error of a server.
    pub(super) async fn copy_row(
        &mut self,
        spec: &StreamSpec,
        table: usize,
        key: &str,
        target: &mut Connected,
    ) -> Result<(), StepError> {
        let table = &spec.tables[table];
        let Some(sessions) = self.sessions.as_mut().filter(|_| self.is_reader_open) else {
            return Err(vanished_row_error(spec, table));
        };
        let key = parse_key(key);
        let literals = key.iter().map(|value| quote_literal(value));
        let condition = key_condition(table, &literals.collect::<Vec<_>>());
        let no_report = |_, _| std::future::ready(());
        match copy_stream::copy_rows(&mut sessions.reader, target, table, &condition, no_report)
            .await?
        {
            (1, _) => Ok(()),
            _ => Err(vanished_row_error(spec, table)),
        }
    }
}

/// Returns the error for a row that was found with a snapshot, and is not found again with the same snapshot.
fn vanished_row_error(spec: &StreamSpec, table: &MovingTable) -> StepError {
    let message = format!(
        "shard {}: a row of {} was found with a snapshot, and is not found again with the same snapshot",
        spec.upstream.name, table.table
    );
    StepError::passing(StepCode::CaptureUnread, message)
}

/// Opens a transaction in which `xid` is visible. Returns its snapshot, and a position: every transaction that the
/// snapshot shows has its commit before it. The position is the end of the WAL, read in the statement that takes the
/// snapshot, or the point of `park_at`.
async fn take_snapshot(
    spec: &StreamSpec,
    park_at: Option<&ParkAt>,
    sessions: &RecopySessions,
    xid: u32,
) -> Result<(TxSnapshot, Lsn), StepError> {
    let what = format!("shard {}: reading rows again", spec.upstream.name);
    let reader = &sessions.reader;
    epoch::rollback(reader).await;
    let deadline = Instant::now() + VISIBILITY_TIMEOUT;
    loop {
        match park_at {
            Some(at) => snapshot::begin_with_snapshot(reader, &at.snapshot, "read only").await,
            None => {
                let begin = "begin isolation level repeatable read read only";
                reader.batch_execute(begin).await
            }
        }
        .at(&what)?;
        let read =
            "select pg_catalog.pg_current_snapshot()::text, pg_catalog.pg_current_wal_insert_lsn()";
        let row = reader.query_one(read, &[]).await.at(&what)?;
        let snapshot: TxSnapshot = row.get::<_, String>(0).parse().map_err(|error| {
            StepError::refused(
                StepCode::CaptureSnapshot,
                format!("{what}: {error}"),
                "`abort` the migration and plan it again",
            )
        })?;
        if snapshot.sees(snapshot.widen(xid)) {
            let lock = user_code::lock_sql(spec.tables.iter());
            reader.batch_execute(&lock).await.at(&what)?;
            // The reader would read the catalog as of its snapshot, so another session checks the tables for untrusted
            // code.
            user_code::check(&sessions.barrier, &spec.tables).await?;
            let end = park_at.map_or_else(|| row.get(1), |at| at.before);
            return Ok((snapshot, end));
        }
        epoch::rollback(reader).await;
        if Instant::now() >= deadline {
            return Err(StepError::passing(
                StepCode::CaptureUnseen,
                format!(
                    "{what}: a commit that the stream has received is not visible after {VISIBILITY_TIMEOUT:?}; the commit waits for a synchronous standby"
                ),
            ));
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

/// Commits a marker after the snapshot was taken. So the stream reaches the position of the snapshot even if no other
/// session writes. The commit does not wait for standbys, because this stream may be one of them.
async fn write_barrier(spec: &StreamSpec, sessions: &RecopySessions) -> Result<(), StepError> {
    let (session, shard) = (&sessions.barrier, spec.upstream.name.as_str());
    epoch::begin(session, &spec.token).await?;
    session
        .batch_execute("set local synchronous_commit = local")
        .await
        .at(format_args!("shard {shard}: reading rows again"))?;
    Marker::new(&spec.token, AttemptNo(0), MarkerKind::Barrier)
        .write_and_commit(session)
        .await
}

/// Reads the row of a table with this key, a JSON array of text. A row that does not move in this snapshot counts as
/// missing.
async fn query_row(
    reader: &Connected,
    table: &MovingTable,
    keys: &KeySet,
    key: &str,
) -> Result<FoundRow, StepError> {
    let shard = reader.name();
    let what = format!("shard {shard}: reading a row of {} again", table.table);
    let key = parse_key(key);
    let columns: Vec<String> = table
        .written_columns()
        .map(|column| text_expression(&column.name))
        .collect();
    let sizes: Vec<String> = table
        .written_columns()
        .map(|column| {
            format!(
                "coalesce(pg_catalog.pg_column_size(t.{}), 0)",
                quote_ident(&column.name)
            )
        })
        .collect();
    let parameters: Vec<String> = (1..=key.len())
        .map(|nth| format!("($1::text[])[{nth}]"))
        .collect();
    let moves = table.predicate(keys, "t");
    let sql = format!(
        "select case when {} <= {MAX_BYTES_IN_MEMORY} then array[{}]::text[] end from only {} t where {} and {moves}",
        sizes.join(" + "),
        columns.join(", "),
        table.table.sql(),
        key_condition(table, &parameters),
    );
    let row = reader.query_opt(&sql, &[&key]).await.at(&what)?;
    Ok(match row.map(|row| row.get(0)) {
        None => FoundRow::Missing,
        Some(None) => FoundRow::TooLarge,
        Some(Some(values)) => FoundRow::Row(values),
    })
}

/// Returns the condition that a row of `t` has an identity with these texts, which are SQL expressions. The session
/// must be one for lookups.
fn key_condition(table: &MovingTable, texts: &[String]) -> String {
    let identity = table.identity.iter().zip(texts);
    let values: Vec<String> = identity
        .clone()
        .map(|(name, text)| {
            let mut columns = table.columns.iter();
            let data_type = columns.find(|column| &column.name == name);
            let data_type = data_type.map_or("text", |column| column.data_type.as_str());
            format!("({text})::{data_type}")
        })
        .collect();
    // Equal values can have several texts, for example 1.0 and 1.00. The stream treats another text as another key.
    let texts = identity.map(|(name, text)| {
        format!(
            "({}) collate pg_catalog.\"C\" = {text}",
            text_expression(name)
        )
    });
    format!(
        "t.ctid = (select shardwright_row.ctid from only {} shardwright_row {}) and {}",
        table.table.sql(),
        table.lookup("shardwright_row", &values),
        texts.collect::<Vec<_>>().join(" and ")
    )
}

/// Returns the SQL expression for the text of a column, as the stream sends it. `num_nonnulls` is used because `is
/// null` is also true for a composite value whose fields are all NULL.
fn text_expression(column: &str) -> String {
    let column = quote_ident(column);
    format!(
        "case when pg_catalog.num_nonnulls(t.{column}) = 1 then pg_catalog.format('%s', t.{column}) end"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_row_is_ahead_until_the_stream_reaches_its_snapshot() {
        let mut rows = RecopiedRows::default();
        assert!(!rows.has_row_ahead());
        rows.snapshots = ["10:20:15", "30:30:"]
            .map(|text| text.parse().expect("a snapshot"))
            .to_vec();
        rows.rows = HashMap::from([
            ((0, "[\"1\"]".to_owned()), 0),
            ((0, "[\"2\"]".to_owned()), 1),
        ]);
        rows.ahead_until = Some(Lsn(200));
        for (key, xid, is_contained) in [
            ("[\"1\"]", 14, Some(true)),
            ("[\"1\"]", 15, Some(false)),
            ("[\"2\"]", 25, Some(true)),
            ("[\"3\"]", 14, None),
        ] {
            assert_eq!(
                rows.contains_effect(0, key, xid),
                is_contained,
                "{key} {xid}"
            );
        }
        assert_eq!(rows.contains_effect(1, "[\"1\"]", 14), None);
        rows.forget_rows_if_reached(Lsn(199)).await;
        assert!(rows.has_row_ahead() && rows.contains_effect(0, "[\"1\"]", 14).is_some());
        rows.forget_rows_if_reached(Lsn(200)).await;
        assert!(!rows.has_row_ahead() && rows.contains_effect(0, "[\"1\"]", 14).is_none());
    }
}
