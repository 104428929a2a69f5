//! Rows that come without all of their values: an UPDATE moved them into the keys, or to a copy unit that lacks
//! them, and large values that it did not change are not in the log; or a value was too large to be carried.
//!
//! Such a row is read on the origin by its key, whole, with a snapshot that sees its transaction. It is then ahead
//! of the stream: of what follows for its key, that which the snapshot saw is not applied again. The batch stays
//! open until the stream has come to where the log ended when the snapshot was taken; so nobody ever sees a row that
//! is ahead, and a crash takes back the row together with what was to be known of it.

use std::collections::HashMap;
use std::time::Duration;

use connect::Connected;
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

/// How long a commit that the stream has sent may stay unseen: it waits for a standby, which may be us.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Rows up to this size, as they are stored, are held here; others go from shard to shard as bytes.
const HELD: i32 = 128 << 10;

/// What was found of a row.
#[derive(Debug)]
pub(super) enum FoundRow {
    /// It is gone since, or has another key.
    Nothing,
    /// Its values as text, in the order of the table's written columns.
    Row(Vec<Option<String>>),
    /// It is there, and too large to be held.
    Large,
}

/// Rows that are ahead of the stream.
#[derive(Debug, Default)]
pub(super) struct RecopiedRows {
    /// The snapshots that rows were read with.
    snapshots: Vec<TxSnapshot>,
    /// Which one a row was read with, by table and key; also where there was none.
    rows: HashMap<(usize, String), usize>,
    /// All that the snapshots saw committed before this position; `None`: no row is ahead.
    until: Option<Lsn>,
    sessions: Option<RecopySessions>,
    /// The reader is in a transaction that has the newest snapshot.
    open: bool,
}

/// Sessions on the origin, kept for the next row that comes without its values.
#[derive(Debug)]
struct RecopySessions {
    reader: Connected,
    barrier: Connected,
}

impl RecopiedRows {
    /// Whether the batch must stay open.
    pub(super) fn is_ahead(&self) -> bool {
        self.until.is_some()
    }

    /// Whether what transaction `xid` did to the row is in the row that was read; `None`: none was read.
    pub(super) fn holds(&self, table: usize, key: &str, xid: u32) -> Option<bool> {
        if self.rows.is_empty() {
            return None;
        }
        let snapshot = self.rows.get(&(table, key.to_owned()))?;
        let snapshot = self.snapshots.get(*snapshot)?;
        Some(snapshot.sees(snapshot.widen(xid)))
    }

    /// A transaction that commits at this position arrives: from where the snapshots end on no row is ahead any more.
    pub(super) async fn reach(&mut self, commit: Lsn) {
        if self.until.is_none_or(|until| commit < until) {
            return;
        }
        self.until = None;
        self.snapshots.clear();
        self.rows.clear();
        self.open = false;
        if let Some(sessions) = &self.sessions {
            epoch::rollback(&sessions.reader).await;
        }
    }

    /// Reads the row of a table (an index among the move's tables) with this key, after transaction `xid`. A stream that
    /// is to park reads as of there.
    ///
    /// # Errors
    /// `capture.unseen` when the transaction cannot be seen in time.
    pub(super) async fn read(
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
                reader: spec.origin.lookup_session("recopy").await?,
                barrier: spec.origin.session("barrier").await?,
            },
        };
        let sessions = self.sessions.insert(sessions);
        if !self.open || !self.snapshots.last().is_some_and(sees) {
            self.open = false;
            let (snapshot, end) = take_snapshot(spec, at, sessions, xid).await?;
            self.snapshots.push(snapshot);
            self.until = Some(end);
            self.open = true;
            barrier(spec, sessions).await?;
        }
        let found = row(&sessions.reader, &spec.tables[table], key).await?;
        let snapshot = self.snapshots.len().saturating_sub(1);
        self.rows.insert((table, key.to_owned()), snapshot);
        Ok(found)
    }

    /// Copies a row that was found to be too large to be held, into the transaction of a session on the destination.
    ///
    /// # Errors
    /// What the servers say.
    pub(super) async fn copy(
        &mut self,
        spec: &StreamSpec,
        table: usize,
        key: &str,
        target: &mut Connected,
    ) -> Result<(), StepError> {
        let table = &spec.tables[table];
        let Some(sessions) = self.sessions.as_mut().filter(|_| self.open) else {
            return Err(unread(spec, table));
        };
        let key = parse_key(key);
        let literals = key.iter().map(|value| quote_literal(value));
        let condition = same(table, &literals.collect::<Vec<_>>());
        let nobody = |_, _| std::future::ready(());
        match copy_stream::copy_rows(&mut sessions.reader, target, table, &condition, nobody)
            .await?
        {
            (1, _) => Ok(()),
            _ => Err(unread(spec, table)),
        }
    }
}

/// The snapshot in which a row was found no longer shows it.
fn unread(spec: &StreamSpec, table: &MovingTable) -> StepError {
    let message = format!(
        "shard {}: a row of {} was there and is not",
        spec.origin.name, table.table
    );
    StepError::passing("capture.unread", message)
}

/// Opens a transaction that sees `xid`; with it where the log ended right behind the snapshot.
///
/// Rows that come in between need a snapshot of their own, so that both are asked for in one statement.
async fn take_snapshot(
    spec: &StreamSpec,
    at: Option<&ParkAt>,
    sessions: &RecopySessions,
    xid: u32,
) -> Result<(TxSnapshot, Lsn), StepError> {
    let what = format!("shard {}: reading rows again", spec.origin.name);
    let reader = &sessions.reader;
    epoch::rollback(reader).await;
    let deadline = Instant::now() + PATIENCE;
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
                "capture.snapshot",
                format!("{what}: {error}"),
                "`abort` it and plan it again",
            )
        })?;
        if snapshot.sees(snapshot.widen(xid)) {
            let lock = user_code::lock_sql(spec.tables.iter());
            reader.batch_execute(&lock).await.at(&what)?;
            // The reader's own catalog is as old as its snapshot.
            user_code::check(&sessions.barrier, &spec.tables).await?;
            return Ok((snapshot, at.map_or_else(|| row.get(1), |at| at.before)));
        }
        epoch::rollback(reader).await;
        if Instant::now() >= deadline {
            return Err(StepError::passing(
                "capture.unseen",
                format!(
                    "{what}: a commit that was captured is not visible for {PATIENCE:?}; it waits for a synchronous standby"
                ),
            ));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Commits something behind the snapshot, so that the stream gets there when nobody else writes. It does not wait
/// for standbys, of which we may be one.
async fn barrier(spec: &StreamSpec, sessions: &RecopySessions) -> Result<(), StepError> {
    let (session, shard) = (&sessions.barrier, spec.origin.name.as_str());
    epoch::begin(session, &spec.token).await?;
    session
        .batch_execute("set local synchronous_commit = local")
        .await
        .at(format_args!("shard {shard}: reading rows again"))?;
    Marker::new(&spec.token, 0, MarkerKind::Barrier)
        .write_and_commit(session)
        .await
}

/// What is found of the row of a table with this key, a JSON array of text.
async fn row(reader: &Connected, table: &MovingTable, key: &str) -> Result<FoundRow, StepError> {
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
        "select case when {} <= {HELD} then array[{}]::text[] end from only {} t where {}",
        sizes.join(" + "),
        columns.join(", "),
        table.table.sql(),
        same(table, &places),
    );
    let row = reader.query_opt(&sql, &[&key]).await.at(&what)?;
    Ok(match row.map(|row| row.get(0)) {
        None => FoundRow::Nothing,
        Some(None) => FoundRow::Large,
        Some(Some(values)) => FoundRow::Row(values),
    })
}

/// The condition that a row of `t` has these texts for what it is found by; the session is one for lookups.
fn same(table: &MovingTable, texts: &[String]) -> String {
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
    // Equal values may have several texts: a row with another text has another key in the stream.
    let texts = identity
        .map(|(name, text)| format!("({}) collate pg_catalog.\"C\" = {text}", text_of(name)));
    format!(
        "t.ctid = (select shardwright_row.ctid from only {} shardwright_row {}) and {}",
        table.table.sql(),
        table.lookup("shardwright_row", &values),
        texts.collect::<Vec<_>>().join(" and ")
    )
}

/// A column as text as the stream has it; a composite of nothing but NULLs is not NULL.
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
        assert!(!ahead.is_ahead());
        ahead.snapshots = ["10:20:15", "30:30:"]
            .map(|text| text.parse().expect("a snapshot"))
            .to_vec();
        ahead.rows = HashMap::from([
            ((0, "[\"1\"]".to_owned()), 0),
            ((0, "[\"2\"]".to_owned()), 1),
        ]);
        ahead.until = Some(Lsn(200));
        for (key, xid, held) in [
            ("[\"1\"]", 14, Some(true)),
            ("[\"1\"]", 15, Some(false)),
            ("[\"2\"]", 25, Some(true)),
            ("[\"3\"]", 14, None),
        ] {
            assert_eq!(ahead.holds(0, key, xid), held, "{key} {xid}");
        }
        assert_eq!(ahead.holds(1, "[\"1\"]", 14), None);
        ahead.reach(Lsn(199)).await;
        assert!(ahead.is_ahead() && ahead.holds(0, "[\"1\"]", 14).is_some());
        ahead.reach(Lsn(200)).await;
        assert!(!ahead.is_ahead() && ahead.holds(0, "[\"1\"]", 14).is_none());
    }
}
