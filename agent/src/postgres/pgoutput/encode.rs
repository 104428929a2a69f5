//! Encodes pgoutput messages again. The replication client returns some messages decoded, and the spool stores all
//! messages in their wire format.

use bytes::{BufMut, Bytes, BytesMut};

use super::{Begin, Commit, LogicalMessage};

/// Encodes a `Begin`.
pub(crate) fn begin(begin: &Begin) -> Bytes {
    let mut out = BytesMut::with_capacity(21);
    out.put_u8(b'B');
    out.put_u64(begin.final_lsn.0);
    out.put_i64(begin.commit_time_us);
    out.put_u32(begin.xid);
    out.freeze()
}

/// Encodes a `Commit`.
pub(crate) fn commit(commit: &Commit) -> Bytes {
    let mut out = BytesMut::with_capacity(26);
    out.put_u8(b'C');
    out.put_u8(commit.flags);
    out.put_u64(commit.commit_lsn.0);
    out.put_u64(commit.end_lsn.0);
    out.put_i64(commit.commit_time_us);
    out.freeze()
}

/// Encodes a `LogicalMessage`. The prefix contains no zero byte, because it was zero-terminated on the wire.
pub(crate) fn message(message: &LogicalMessage) -> Bytes {
    let mut out = BytesMut::with_capacity(16 + message.prefix.len() + message.content.len());
    out.put_u8(b'M');
    out.put_u8(u8::from(message.transactional));
    out.put_u64(message.lsn.0);
    out.put_slice(message.prefix.as_bytes());
    out.put_u8(0);
    // The length had 32 bits on the wire, so the conversion cannot fail.
    out.put_u32(u32::try_from(message.content.len()).unwrap_or(u32::MAX));
    out.put_slice(&message.content);
    out.freeze()
}

#[cfg(test)]
mod tests {
    use super::super::{Change, Lsn, decode};
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded_to_the_same() {
        let first = Begin {
            final_lsn: Lsn(7),
            commit_time_us: -3,
            xid: u32::MAX,
        };
        assert_eq!(decode(begin(&first)), Ok(Change::Begin(first)));
        let last = Commit {
            flags: 0,
            commit_lsn: Lsn(7),
            end_lsn: Lsn(9),
            commit_time_us: 5,
        };
        assert_eq!(decode(commit(&last)), Ok(Change::Commit(last)));
        let said = LogicalMessage {
            transactional: true,
            lsn: Lsn(8),
            prefix: "shardwright".to_owned(),
            content: Bytes::from_static(b"{}\0x"),
        };
        assert_eq!(decode(message(&said)), Ok(Change::Message(said)));
    }
}
