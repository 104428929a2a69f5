//! Decodes pgoutput, protocol version 1: what a publication's changes look like on the wire.
//!
//! Order on the wire: `Begin`, then an `Origin` if the transaction came from elsewhere, then the
//! changes (a `Relation` before the first change to a table and after each change of it), then
//! `Commit`. Messages that are not transactional come outside of that.
//! Strict: a byte too many or too few is an error that names the message and the offset.
//! Absent: streamed and two-phase transactions (later protocol versions), knowledge of types.

mod change;
pub(crate) mod encode;
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

/// Why a message could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// No byte at all.
    #[error("pgoutput message is empty")]
    Empty,
    /// A message of a kind that protocol version 1 does not have.
    #[error("pgoutput message has the unknown kind 0x{kind:02x}")]
    UnknownKind {
        /// First byte.
        kind: u8,
    },
    /// The message ends within a field.
    #[error("pgoutput {kind} message ends within {field} at offset {offset}")]
    Truncated {
        /// Which message.
        kind: &'static str,
        /// Which field.
        field: &'static str,
        /// Where the field starts.
        offset: usize,
    },
    /// A field has a value that it must not have.
    #[error("pgoutput {kind} message has an invalid {field} at offset {offset}")]
    Invalid {
        /// Which message.
        kind: &'static str,
        /// Which field.
        field: &'static str,
        /// Where the field starts.
        offset: usize,
    },
    /// Bytes are left after the last field.
    #[error("pgoutput {kind} message has {excess} excess bytes at offset {offset}")]
    Excess {
        /// Which message.
        kind: &'static str,
        /// How many.
        excess: usize,
        /// Where they start.
        offset: usize,
    },
}

type BodyDecoder = fn(&mut MessageReader) -> Result<Change, DecodeError>;

/// Decodes one pgoutput message; values are slices of it, nothing of a row is copied.
///
/// # Errors
/// [`DecodeError`] if it is not exactly one message of protocol version 1.
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

/// The position of a transaction's commit, if `message` is what begins one.
pub(crate) fn begins(message: &[u8]) -> Option<Lsn> {
    let commit = message.get(1..9)?.try_into().ok()?;
    (message[0] == b'B').then(|| Lsn(u64::from_be_bytes(commit)))
}

/// The position after a transaction, if `message` is what completes one.
pub(crate) fn ends(message: &[u8]) -> Option<Lsn> {
    // Its kind, flags and the position of the commit stand before it.
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
