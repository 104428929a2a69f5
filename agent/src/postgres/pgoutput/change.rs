//! The messages of pgoutput as values.

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
    /// The transaction was replayed on the source from the origin of this name.
    Origin {
        /// Commit position on the server where it came from.
        commit_lsn: Lsn,
        /// Name of the replication origin.
        name: String,
    },
    /// The shape of a table, valid until the next one with its id.
    Relation(Relation),
    /// A type that is not built in, named before the relation that uses it.
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
        /// What identifies the row, if it is not in `new`.
        old: OldRow,
        /// The row afterwards; values out of line that did not change are missing from it.
        new: Tuple,
    },
    /// A row was deleted.
    Delete {
        /// Id of the table.
        relation: u32,
        /// What identifies the row; never [`OldRow::Absent`].
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
    /// Written by `pg_logical_emit_message`.
    Message(LogicalMessage),
}

/// Start of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begin {
    /// Position of the commit record.
    pub final_lsn: Lsn,
    /// When it committed: microseconds since 2000-01-01 00:00:00 UTC.
    pub commit_time_us: i64,
    /// Its 32-bit transaction id.
    pub xid: u32,
}

impl Begin {
    /// How long ago it committed, if this clock is right by the origin's; zero where that is ahead.
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

/// From the Unix epoch to PostgreSQL's.
const EPOCH: Duration = Duration::from_secs(946_684_800);

/// End of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit {
    /// Unused by PostgreSQL: 0.
    pub flags: u8,
    /// Position of the commit record.
    pub commit_lsn: Lsn,
    /// Position after the commit record: what to confirm, and where to start again.
    pub end_lsn: Lsn,
    /// When it committed.
    pub commit_time_us: i64,
}

/// Shape of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// Its oid on the source.
    pub id: u32,
    /// Its schema; `pg_catalog` arrives as the empty string and stays so.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// `relreplident`: d(efault), n(othing), f(ull) or i(ndex).
    pub replica_identity: char,
    /// The published columns, in the order of every tuple.
    pub columns: Vec<RelationColumn>,
}

/// A published column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationColumn {
    /// True if it is part of the replica identity.
    pub key: bool,
    /// Its name.
    pub name: String,
    /// Oid of its type on the source.
    pub type_oid: u32,
    /// Its type modifier, -1 for none.
    pub typmod: i32,
}

/// Name of a type that is not built in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeName {
    /// Its oid on the source.
    pub id: u32,
    /// Its schema.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// A logical message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogicalMessage {
    /// True if it came with its transaction's commit, in order; false if it came at once.
    pub transactional: bool,
    /// Its position.
    pub lsn: Lsn,
    /// Says whom it is for.
    pub prefix: String,
    /// What it says.
    pub content: Bytes,
}

/// What an update or a delete tells about the row before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OldRow {
    /// Nothing: the identity did not change and is in the new row.
    Absent,
    /// The columns of the replica identity; the others are null here whatever they were.
    Key(Tuple),
    /// The whole row (replica identity full).
    Full(Tuple),
}

/// A row: one value for each column of its [`Relation`].
#[derive(Clone, PartialEq, Eq)]
pub struct Tuple(pub Vec<TupleValue>);

impl Tuple {
    /// Moves its bytes to memory of their own size: a slice keeps all that was read along with it, other rows' too.
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

/// A value; its bytes are slices of the message that was decoded.
#[derive(Clone, PartialEq, Eq)]
pub enum TupleValue {
    /// SQL null.
    Null,
    /// Stored out of line and not changed, so not sent.
    UnchangedToast,
    /// Too large to be carried: the row is to be read where it is.
    LeftOut,
    /// In the type's text form.
    Text(Bytes),
    /// In the type's binary form.
    Binary(Bytes),
}

impl TupleValue {
    /// What was sent, in either form.
    pub(crate) fn bytes(&self) -> Option<&Bytes> {
        match self {
            Self::Text(bytes) | Self::Binary(bytes) => Some(bytes),
            Self::Null | Self::UnchangedToast | Self::LeftOut => None,
        }
    }
}

/// Values are row data: only their kind and length are shown.
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
