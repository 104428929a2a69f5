//! Decodes messages of pgoutput, protocol version 1.
//!
//! The server sends `Begin`, an `Origin` if the transaction was replicated from another server, the changes, and
//! `Commit`. A `Relation` precedes the first change of a table, and the first one after its definition changed.
//! Messages that are not transactional can arrive outside of a transaction.
//!
//! The decoder is strict: a byte too many or too few is an error that names the message and the offset. It does not
//! support streamed and two-phase transactions (later protocol versions), and does not interpret values.

mod change;
mod read;
#[cfg(test)]
mod tests;
mod trim;

use bytes::Bytes;

use super::lsn::Lsn;
pub use change::{
    Begin, Change, Commit, LogicalMessage, OldRow, Relation, RelationColumn, Tuple, TupleValue,
    TypeName,
};
use read::MessageReader;
pub(crate) use trim::{MessageTrimmer, WHOLE};

/// The reason why a message could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The message has no bytes.
    #[error("pgoutput message is empty")]
    Empty,
    /// Protocol version 1 has no message of this kind.
    #[error("pgoutput message has the unknown kind 0x{kind:02x}")]
    UnknownKind {
        /// The first byte of the message.
        kind: u8,
    },
    /// The message ends within a field.
    #[error("pgoutput {kind} message ends within {field} at offset {offset}")]
    Truncated {
        /// The kind of the message.
        kind: &'static str,
        /// The name of the field.
        field: &'static str,
        /// The offset at which the field starts.
        offset: usize,
    },
    /// A field has an invalid value.
    #[error("pgoutput {kind} message has an invalid {field} at offset {offset}")]
    Invalid {
        /// The kind of the message.
        kind: &'static str,
        /// The name of the field.
        field: &'static str,
        /// The offset at which the field starts.
        offset: usize,
    },
    /// The message has bytes after its last field.
    #[error("pgoutput {kind} message has {excess} excess bytes at offset {offset}")]
    Excess {
        /// The kind of the message.
        kind: &'static str,
        /// The number of excess bytes.
        excess: usize,
        /// The offset at which they start.
        offset: usize,
    },
}

type BodyDecoder = fn(&mut MessageReader) -> Result<Change, DecodeError>;

/// Decodes one pgoutput message. The values are slices of `message`, not copies.
///
/// # Errors
/// Returns [`DecodeError`] if `message` is not exactly one message of protocol version 1.
pub fn decode(message: Bytes) -> Result<Change, DecodeError> {
    let kind = *message.first().ok_or(DecodeError::Empty)?;
    let (name, body): (_, BodyDecoder) = match kind {
        b'B' => ("begin", begin),
        b'C' => ("commit", commit),
        b'O' => ("origin", origin),
        b'R' => ("relation", relation),
        b'Y' => ("type", type_name),
        b'I' => ("insert", insert),
        b'U' => ("update", update),
        b'D' => ("delete", delete),
        b'T' => ("truncate", truncate),
        b'M' => ("logical", logical),
        kind => return Err(DecodeError::UnknownKind { kind }),
    };
    let mut reader = MessageReader::after_kind(message, name);
    let change = body(&mut reader)?;
    reader.finish()?;
    Ok(change)
}

/// Returns the position of the commit record, if `message` is a `Begin`.
pub(crate) fn begins(message: &[u8]) -> Option<Lsn> {
    let commit = message.get(1..9)?.try_into().ok()?;
    (message[0] == b'B').then(|| Lsn(u64::from_be_bytes(commit)))
}

/// Returns the position after the transaction, if `message` is a `Commit`.
pub(crate) fn ends(message: &[u8]) -> Option<Lsn> {
    // The kind, the flags and the position of the commit record precede it.
    let end = message.get(10..18)?.try_into().ok()?;
    (message[0] == b'C').then(|| Lsn(u64::from_be_bytes(end)))
}

fn begin(r: &mut MessageReader) -> Result<Change, DecodeError> {
    Ok(Change::Begin(Begin {
        final_lsn: r.lsn("final lsn")?,
        commit_time_us: r.i64("commit time")?,
        xid: r.u32("xid")?,
    }))
}

fn commit(r: &mut MessageReader) -> Result<Change, DecodeError> {
    Ok(Change::Commit(Commit {
        flags: r.u8("flags")?,
        commit_lsn: r.lsn("commit lsn")?,
        end_lsn: r.lsn("end lsn")?,
        commit_time_us: r.i64("commit time")?,
    }))
}

fn origin(r: &mut MessageReader) -> Result<Change, DecodeError> {
    Ok(Change::Origin {
        commit_lsn: r.lsn("commit lsn")?,
        name: r.text("name")?,
    })
}

fn relation(r: &mut MessageReader) -> Result<Change, DecodeError> {
    let id = r.u32("id")?;
    let namespace = r.text("namespace")?;
    let name = r.text("name")?;
    let replica_identity =
        char::from(r.one_of("replica identity", |byte| b"dnfi".contains(&byte))?);
    let columns = (0..r.u16("column count")?)
        .map(|_| column(r))
        .collect::<Result<_, _>>()?;
    Ok(Change::Relation(Relation {
        id,
        namespace,
        name,
        replica_identity,
        columns,
    }))
}

fn column(r: &mut MessageReader) -> Result<RelationColumn, DecodeError> {
    Ok(RelationColumn {
        key: r.one_of("column flags", |byte| byte <= 1)? == 1,
        name: r.text("column name")?,
        type_oid: r.u32("column type")?,
        typmod: r.i32("column typmod")?,
    })
}

fn type_name(r: &mut MessageReader) -> Result<Change, DecodeError> {
    Ok(Change::Type(TypeName {
        id: r.u32("id")?,
        namespace: r.text("namespace")?,
        name: r.text("name")?,
    }))
}

fn insert(r: &mut MessageReader) -> Result<Change, DecodeError> {
    let relation = r.u32("relation")?;
    r.one_of("new row mark", |byte| byte == b'N')?;
    Ok(Change::Insert {
        relation,
        new: r.tuple()?,
    })
}

fn update(r: &mut MessageReader) -> Result<Change, DecodeError> {
    let relation = r.u32("relation")?;
    let old = match r.one_of("row mark", |byte| b"KON".contains(&byte))? {
        b'N' => {
            return Ok(Change::Update {
                relation,
                old: OldRow::Absent,
                new: r.tuple()?,
            });
        }
        mark => old_row(mark, r.tuple()?),
    };
    r.one_of("new row mark", |byte| byte == b'N')?;
    Ok(Change::Update {
        relation,
        old,
        new: r.tuple()?,
    })
}

fn delete(r: &mut MessageReader) -> Result<Change, DecodeError> {
    let relation = r.u32("relation")?;
    let mark = r.one_of("old row mark", |byte| b"KO".contains(&byte))?;
    Ok(Change::Delete {
        relation,
        old: old_row(mark, r.tuple()?),
    })
}

fn old_row(mark: u8, tuple: Tuple) -> OldRow {
    if mark == b'K' {
        OldRow::Key(tuple)
    } else {
        OldRow::Full(tuple)
    }
}

fn truncate(r: &mut MessageReader) -> Result<Change, DecodeError> {
    let count = r.u32("relation count")?;
    let options = r.one_of("options", |byte| byte <= 3)?;
    let relations = (0..count)
        .map(|_| r.u32("relation"))
        .collect::<Result<_, _>>()?;
    Ok(Change::Truncate {
        cascade: options & 1 != 0,
        restart_identity: options & 2 != 0,
        relations,
    })
}

fn logical(r: &mut MessageReader) -> Result<Change, DecodeError> {
    Ok(Change::Message(LogicalMessage {
        transactional: r.one_of("flags", |byte| byte <= 1)? == 1,
        lsn: r.lsn("lsn")?,
        prefix: r.text("prefix")?,
        content: r.counted("content")?,
    }))
}
