//! Rows that arrive without some of their values. There are two reasons:
//! - An UPDATE moved the row into the moving keys, or into a copy unit that lacks it. Large values that it did not
//!   change are not in the WAL.
//! - A value was too large for the stream to carry.
//!
//! The agent reads such a row whole on the upstream shard, by its key, with a snapshot in which its transaction is
//! visible. The row is then ahead of the stream: later changes of its key are not applied again if they are visible
//! in the snapshot. The batch stays open until the stream reaches the position at which the WAL ended when the
//! snapshot was taken. So a row that is ahead never becomes visible, and a crash undoes the row and the knowledge
//! about it together.

use std::collections::HashMap;
use std::time::Duration;

use connect::Connected;
use plans::failure::StepCode;
use plans::id::AttemptNo;
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

/// The maximum time for which a captured commit may stay invisible: it waits for a synchronous standby, which may be
/// this stream.
const VISIBILITY_TIMEOUT: Duration = Duration::from_secs(30);
/// The interval between two snapshots.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Rows up to this stored size are held in memory; larger ones go from shard to shard as bytes.
const MAX_HELD_BYTES: i32 = 128 << 10;

/// The result of reading a row again.
#[derive(Debug)]
pub(super) enum FoundRow {
    /// The row no longer exists, or has another key.
    Missing,
    /// The row's values as text, in the order of the table's written columns.
    Row(Vec<Option<String>>),
    /// The row exists and is too large for memory.
    TooLarge,
}

/// The rows that are ahead of the stream.
#[derive(Debug, Default)]
pub(super) struct RecopiedRows {
    /// The snapshots with which rows were read.
    snapshots: Vec<TxSnapshot>,
    /// The index of the snapshot with which a row was read, by table and key. A row that was not found has an entry
    /// as well.
    rows: HashMap<(usize, String), usize>,
    /// Every transaction that is visible in a snapshot commits before this position. `None` if no row is ahead.
    ahead_until: Option<Lsn>,
    sessions: Option<RecopySessions>,
    /// Whether the reader is in a transaction with the newest snapshot.
    reader_open: bool,
}

/// Sessions on the upstream shard, kept for the next incomplete row.
#[derive(Debug)]
struct RecopySessions {
    reader: Connected,
    barrier: Connected,
}

impl RecopiedRows {
    /// Whether a row is ahead of the stream, so that the batch must stay open.
    pub(super) fn has_row_ahead(&self) -> bool {
        self.ahead_until.is_some()
    }

    /// Whether the row that was read contains what transaction `xid` did to it. `None` if the row was not read.
    pub(super) fn contains_effect(&self, table: usize, key: &str, xid: u32) -> Option<bool> {
        if self.rows.is_empty() {
            return None;
        }
        let snapshot = self.rows.get(&(table, key.to_owned()))?;
        let snapshot = self.snapshots.get(*snapshot)?;
        Some(snapshot.sees(snapshot.widen(xid)))
    }

    /// Drops all rows if a transaction that commits at `commit` is beyond the snapshots: no row is ahead from there
    /// on.
    pub(super) async fn drop_rows_reached_by(&mut self, commit: Lsn) {
        if self.ahead_until.is_none_or(|until| commit < until) {
            return;
        }
        self.ahead_until = None;
        self.snapshots.clear();
        self.rows.clear();
        self.reader_open = false;
        if let Some(sessions) = &self.sessions {
            epoch::rollback(&sessions.reader).await;
        }
    }

    /// Reads the row of a table (an index among the move's tables) with this key, as of a time after transaction
    /// `xid`. A stream that is to park reads it as of the point at which it parks.
    ///
    /// # Errors
    /// `capture.unseen` if the transaction does not become visible in time.
    pub(super) async fn read_row(
        &mut self,
        spec: &StreamSpec,
        at: Option<&ParkAt>,
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
        if !self.reader_open || !self.snapshots.last().is_some_and(sees) {
            self.reader_open = false;
            let (snapshot, end) = take_snapshot(spec, at, sessions, xid).await?;
            self.snapshots.push(snapshot);
            self.ahead_until = Some(end);
            self.reader_open = true;
            write_barrier(spec, sessions).await?;
        }
        let found = find_row(&sessions.reader, &spec.tables[table], key).await?;
        let snapshot = self.snapshots.len().saturating_sub(1);
        self.rows.insert((table, key.to_owned()), snapshot);
        Ok(found)
    }

    /// Copies a row that is too large for memory into the open transaction of a session on the downstream shard.
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
        let Some(sessions) = self.sessions.as_mut().filter(|_| self.reader_open) else {
            return Err(row_vanished(spec, table));
        };
        let key = parse_key(key);
        let literals = key.iter().map(|value| quote_literal(value));
        let condition = key_condition(table, &literals.collect::<Vec<_>>());
        let no_report = |_, _| std::future::ready(());
        match copy_stream::copy_rows(&mut sessions.reader, target, table, &condition, no_report)
            .await?
        {
            (1, _) => Ok(()),
            _ => Err(row_vanished(spec, table)),
        }
    }
}

/// The error if the snapshot in which a row was found no longer shows it.
fn row_vanished(spec: &StreamSpec, table: &MovingTable) -> StepError {
    let message = format!(
        "shard {}: a row of {} that was found is no longer visible in the same snapshot",
        spec.upstream.name, table.table
    );
    StepError::passing(StepCode::CaptureUnread, message)
}

/// Opens a transaction in which `xid` is visible. Returns its snapshot, and the end of the WAL right after the
/// snapshot was taken.
///
/// One statement reads both, because rows that are written in between need a snapshot of their own.
async fn take_snapshot(
    spec: &StreamSpec,
    at: Option<&ParkAt>,
    sessions: &RecopySessions,
    xid: u32,
) -> Result<(TxSnapshot, Lsn), StepError> {
    let what = format!("shard {}: reading rows again", spec.upstream.name);
    let reader = &sessions.reader;
    epoch::rollback(reader).await;
    let deadline = Instant::now() + VISIBILITY_TIMEOUT;
    loop {
        match at {
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
                "`abort` it and plan it again",
            )
        })?;
        if snapshot.sees(snapshot.widen(xid)) {
            let lock = user_code::lock_sql(spec.tables.iter());
            reader.batch_execute(&lock).await.at(&what)?;
            // The reader's view of the catalog is as old as its snapshot, so another session checks the code.
            user_code::check(&sessions.barrier, &spec.tables).await?;
            return Ok((snapshot, at.map_or_else(|| row.get(1), |at| at.before)));
        }
        epoch::rollback(reader).await;
        if Instant::now() >= deadline {
            return Err(StepError::passing(
                StepCode::CaptureUnseen,
                format!(
                    "{what}: a captured commit has not been visible for {VISIBILITY_TIMEOUT:?}; it waits for a synchronous standby"
                ),
            ));
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

/// Commits a marker after the snapshot, so that the stream reaches that position even if no other session writes. The
/// commit does not wait for standbys, because this stream may be one of them.
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

/// Reads the row of a table with this key, a JSON array of text.
async fn find_row(
    reader: &Connected,
    table: &MovingTable,
    key: &str,
) -> Result<FoundRow, StepError> {
    let shard = reader.name();
    let what = format!("shard {shard}: reading a row of {} again", table.table);
    let key = parse_key(key);
    let columns: Vec<String> = table
        .written_columns()
        .map(|column| text_of(&column.name))
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
    let places: Vec<String> = (1..=key.len())
        .map(|nth| format!("($1::text[])[{nth}]"))
        .collect();
    let sql = format!(
        "select case when {} <= {MAX_HELD_BYTES} then array[{}]::text[] end from only {} t where {}",
        sizes.join(" + "),
        columns.join(", "),
        table.table.sql(),
        key_condition(table, &places),
    );
    let row = reader.query_opt(&sql, &[&key]).await.at(&what)?;
    Ok(match row.map(|row| row.get(0)) {
        None => FoundRow::Missing,
        Some(None) => FoundRow::TooLarge,
        Some(Some(values)) => FoundRow::Row(values),
    })
}

/// Returns the condition that a row of `t` has these texts as its identity. The session must be one for lookups.
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
    // Equal values can have several texts. In the stream, a row with another text has another key.
    let texts = identity
        .map(|(name, text)| format!("({}) collate pg_catalog.\"C\" = {text}", text_of(name)));
    format!(
        "t.ctid = (select shardwright_row.ctid from only {} shardwright_row {}) and {}",
        table.table.sql(),
        table.lookup("shardwright_row", &values),
        texts.collect::<Vec<_>>().join(" and ")
    )
}

/// Returns the text of a column as the stream carries it. A composite value of only NULLs is not NULL.
fn text_of(column: &str) -> String {
    let column = quote_ident(column);
    format!(
        "case when pg_catalog.num_nonnulls(t.{column}) = 1 then pg_catalog.format('%s', t.{column}) end"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_the_snapshot_of_a_row_saw_is_held_until_the_stream_has_come_so_far() {
        let mut ahead = RecopiedRows::default();
        assert!(!ahead.has_row_ahead());
        ahead.snapshots = ["10:20:15", "30:30:"]
            .map(|text| text.parse().expect("a snapshot"))
            .to_vec();
        ahead.rows = HashMap::from([
            ((0, "[\"1\"]".to_owned()), 0),
            ((0, "[\"2\"]".to_owned()), 1),
        ]);
        ahead.ahead_until = Some(Lsn(200));
        for (key, xid, held) in [
            ("[\"1\"]", 14, Some(true)),
            ("[\"1\"]", 15, Some(false)),
            ("[\"2\"]", 25, Some(true)),
            ("[\"3\"]", 14, None),
        ] {
            assert_eq!(ahead.contains_effect(0, key, xid), held, "{key} {xid}");
        }
        assert_eq!(ahead.contains_effect(1, "[\"1\"]", 14), None);
        ahead.drop_rows_reached_by(Lsn(199)).await;
        assert!(ahead.has_row_ahead() && ahead.contains_effect(0, "[\"1\"]", 14).is_some());
        ahead.drop_rows_reached_by(Lsn(200)).await;
        assert!(!ahead.has_row_ahead() && ahead.contains_effect(0, "[\"1\"]", 14).is_none());
    }
}
