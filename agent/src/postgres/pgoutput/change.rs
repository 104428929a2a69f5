//! The messages of pgoutput as Rust types.

use std::time::{Duration, UNIX_EPOCH};

use bytes::{Bytes, BytesMut};

use super::Lsn;

/// One pgoutput message. Times are microseconds since 2000-01-01 00:00 UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A transaction starts.
    Begin(Begin),
    /// The transaction is complete.
    Commit(Commit),
    /// The transaction was replicated to the source from the replication origin of this name.
    Origin {
        /// The position of the commit on the server that the transaction came from.
        commit_lsn: Lsn,
        /// Name of the replication origin.
        name: String,
    },
    /// The definition of a table. It is valid until the next `Relation` with the same id.
    Relation(Relation),
    /// A type that is not built in. It precedes the relation that uses it.
    Type(TypeName),
    /// A row was inserted.
    Insert {
        /// Id of the table, see [`Relation::id`].
        relation: u32,
        /// The row.
        new: Tuple,
    },
    /// A row was changed.
    Update {
        /// Id of the table.
        relation: u32,
        /// The old identity of the row, if it differs from `new`.
        old: OldRow,
        /// The new row, without unchanged TOAST values.
        new: Tuple,
    },
    /// A row was deleted.
    Delete {
        /// Id of the table.
        relation: u32,
        /// The old row or its identity; never [`OldRow::Absent`].
        old: OldRow,
    },
    /// Tables were truncated.
    Truncate {
        /// True for `cascade`.
        cascade: bool,
        /// True for `restart identity`.
        restart_identity: bool,
        /// Ids of the tables.
        relations: Vec<u32>,
    },
    /// A message that `pg_logical_emit_message` wrote.
    Message(LogicalMessage),
}

impl Change {
    /// Returns the OID of the table whose row is inserted, updated or deleted.
    pub(crate) fn relation_of_row(&self) -> Option<u32> {
        match self {
            Self::Insert { relation, .. }
            | Self::Update { relation, .. }
            | Self::Delete { relation, .. } => Some(*relation),
            Self::Begin(_)
            | Self::Commit(_)
            | Self::Origin { .. }
            | Self::Relation(_)
            | Self::Type(_)
            | Self::Truncate { .. }
            | Self::Message(_) => None,
        }
    }
}

/// Start of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begin {
    /// Position of the commit record.
    pub final_lsn: Lsn,
    /// Time of the commit, in microseconds since 2000-01-01 00:00:00 UTC.
    pub commit_time_us: i64,
    /// The 32-bit transaction id.
    pub xid: u32,
}

impl Begin {
    /// Returns the time since the commit, by the clocks of both machines; zero if the server's clock is ahead.
    #[must_use]
    pub fn age(&self) -> Duration {
        let committed = u64::try_from(self.commit_time_us).unwrap_or(0);
        let committed = EPOCH + Duration::from_micros(committed);
        UNIX_EPOCH
            .elapsed()
            .unwrap_or_default()
            .saturating_sub(committed)
    }
}

/// Time from the Unix epoch to the epoch of PostgreSQL, 2000-01-01.
const EPOCH: Duration = Duration::from_secs(946_684_800);

/// End of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit {
    /// Unused by PostgreSQL: 0.
    pub flags: u8,
    /// Position of the commit record.
    pub commit_lsn: Lsn,
    /// Position after the commit record. The agent confirms this position, and a stream can start again there.
    pub end_lsn: Lsn,
    /// Time of the commit, in microseconds since 2000-01-01 00:00:00 UTC.
    pub commit_time_us: i64,
}

/// Definition of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// OID of the table on the source.
    pub id: u32,
    /// Schema of the table. PostgreSQL sends `pg_catalog` as an empty string.
    pub namespace: String,
    /// Name of the table.
    pub name: String,
    /// `relreplident`: d(efault), n(othing), f(ull) or i(ndex).
    pub replica_identity: char,
    /// The published columns, in the order of the values of every [`Tuple`].
    pub columns: Vec<RelationColumn>,
}

/// A published column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationColumn {
    /// True if the column is part of the replica identity.
    pub key: bool,
    /// Name of the column.
    pub name: String,
    /// OID of the column's type on the source.
    pub type_oid: u32,
    /// Type modifier of the column, -1 for none.
    pub typmod: i32,
}

/// Name of a type that is not built in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeName {
    /// OID of the type on the source.
    pub id: u32,
    /// Schema of the type.
    pub namespace: String,
    /// Name of the type.
    pub name: String,
}

/// A logical message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogicalMessage {
    /// True if the server sent the message with the commit of its transaction; false if it sent the message
    /// immediately.
    pub transactional: bool,
    /// Position of the message in the log.
    pub lsn: Lsn,
    /// Prefix that identifies the receiver of the message.
    pub prefix: String,
    /// Content of the message.
    pub content: Bytes,
}

/// The part of the old row that an update or a delete contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OldRow {
    /// No part: the values of the replica identity did not change and are in the new row.
    Absent,
    /// The columns of the replica identity. The other columns are null in this tuple, also if their values were not.
    Key(Tuple),
    /// The complete old row (REPLICA IDENTITY FULL).
    Full(Tuple),
}

/// A row: one value for each column of its [`Relation`].
#[derive(Clone, PartialEq, Eq)]
pub struct Tuple(pub Vec<TupleValue>);

impl Tuple {
    /// Copies the values to a buffer of their exact size. A slice would keep the complete network buffer in memory,
    /// with the data of other rows.
    pub(crate) fn detach(&mut self) {
        let size = self
            .0
            .iter()
            .filter_map(TupleValue::bytes)
            .map(Bytes::len)
            .sum();
        let mut row = BytesMut::with_capacity(size);
        for bytes in self.0.iter().filter_map(TupleValue::bytes) {
            row.extend_from_slice(bytes);
        }
        let mut row = row.freeze();
        for value in &mut self.0 {
            if let TupleValue::Text(bytes) | TupleValue::Binary(bytes) = value {
                *bytes = row.split_to(bytes.len());
            }
        }
    }
}

/// The value of a column. Its bytes are slices of the decoded message.
#[derive(Clone, PartialEq, Eq)]
pub enum TupleValue {
    /// SQL null.
    Null,
    /// The value is TOASTed and did not change, so the server does not send it.
    UnchangedToast,
    /// The agent dropped the value because it is too large for its memory. The row must be read from the source table.
    LeftOut,
    /// The value in the text format of its type.
    Text(Bytes),
    /// The value in the binary format of its type.
    Binary(Bytes),
}

impl TupleValue {
    /// Returns the bytes that the server sent, in either format.
    pub(crate) fn bytes(&self) -> Option<&Bytes> {
        match self {
            Self::Text(bytes) | Self::Binary(bytes) => Some(bytes),
            Self::Null | Self::UnchangedToast | Self::LeftOut => None,
        }
    }
}

/// Values are row data, so the output shows only their kind and length.
impl std::fmt::Debug for TupleValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Null => f.write_str("Null"),
            Self::UnchangedToast => f.write_str("UnchangedToast"),
            Self::LeftOut => f.write_str("LeftOut"),
            Self::Text(bytes) => write!(f, "Text({} bytes)", bytes.len()),
            Self::Binary(bytes) => write!(f, "Binary({} bytes)", bytes.len()),
        }
    }
}

impl std::fmt::Debug for Tuple {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.0).finish()
    }
}
