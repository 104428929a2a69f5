//! The form of a segment file: a head, then frames; each frame is checked by its sum.
//!
//! Head: eight bytes of magic, then the position that the segment goes on from.
//! Frame: length and CRC-32 of the body, then the body: kind, position, message.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::postgres::lsn::Lsn;

/// First bytes of every segment.
const MAGIC: &[u8; 8] = b"SWSPOOL1";
/// Bytes of a segment's head.
pub(super) const HEAD: usize = 16;
/// Bytes before a frame's body.
const PREFIX: usize = 8;
/// Bytes of a body before its message.
const BODY: usize = 9;

/// One entry of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SpoolFrame {
    /// A message of the stream, in pgoutput's form; a segment may end after the last of a transaction.
    Message { at: Lsn, ends: bool, message: Bytes },
    /// Nothing of interest lies before this position.
    Idle { until: Lsn },
}

/// The head of a segment that goes on from `from`.
pub(super) fn head(from: Lsn) -> Bytes {
    let mut out = BytesMut::with_capacity(HEAD);
    out.put_slice(MAGIC);
    out.put_u64(from.0);
    out.freeze()
}

/// The position in a head; `None` when it is not one.
pub(super) fn read_head(mut bytes: &[u8]) -> Option<Lsn> {
    if bytes.len() < HEAD || &bytes[..MAGIC.len()] != MAGIC {
        return None;
    }
    bytes.advance(MAGIC.len());
    Some(Lsn(bytes.get_u64()))
}

/// Appends a frame.
pub(super) fn put(out: &mut BytesMut, frame: &SpoolFrame) {
    let (kind, at, message): (u8, Lsn, &[u8]) = match frame {
        SpoolFrame::Message { at, ends, message } => {
            (if *ends { b'e' } else { b'm' }, *at, message)
        }
        SpoolFrame::Idle { until } => (b'i', *until, &[]),
    };
    let mut body = crc32fast::Hasher::new();
    body.update(&[kind]);
    body.update(&at.0.to_be_bytes());
    body.update(message);
    out.reserve(PREFIX + BODY + message.len());
    // A message of pgoutput is shorter than 1 GiB.
    out.put_u32(u32::try_from(BODY + message.len()).unwrap_or(u32::MAX));
    out.put_u32(body.finalize());
    out.put_u8(kind);
    out.put_u64(at.0);
    out.put_slice(message);
}

/// Takes the first frame from `bytes`, if it is whole; `Err` when it is damaged.
pub(super) fn take(bytes: &mut BytesMut) -> Result<Option<SpoolFrame>, DamagedFrame> {
    if bytes.len() < PREFIX {
        return Ok(None);
    }
    let mut prefix = &bytes[..PREFIX];
    let (length, sum) = (prefix.get_u32() as usize, prefix.get_u32());
    if length < BODY {
        return Err(DamagedFrame);
    }
    if bytes.len() < PREFIX + length {
        return Ok(None);
    }
    bytes.advance(PREFIX);
    let mut body = bytes.split_to(length).freeze();
    if crc32fast::hash(&body) != sum {
        return Err(DamagedFrame);
    }
    let (kind, at) = (body.get_u8(), Lsn(body.get_u64()));
    match kind {
        b'm' | b'e' => Ok(Some(SpoolFrame::Message {
            at,
            ends: kind == b'e',
            message: body,
        })),
        b'i' => Ok(Some(SpoolFrame::Idle { until: at })),
        _ => Err(DamagedFrame),
    }
}

/// Length of a frame as it stands in the file.
pub(super) fn length(frame: &SpoolFrame) -> u64 {
    let message = match frame {
        SpoolFrame::Message { message, .. } => message.len(),
        SpoolFrame::Idle { .. } => 0,
    };
    (PREFIX + BODY + message) as u64
}

/// A frame whose sum is not that of its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DamagedFrame;

#[cfg(test)]
mod tests {
    use super::*;

    fn frames() -> [SpoolFrame; 3] {
        let message = |ends, text: &'static [u8]| SpoolFrame::Message {
            at: Lsn(11),
            ends,
            message: Bytes::from_static(text),
        };
        [
            message(false, b"abc"),
            message(true, b""),
            SpoolFrame::Idle { until: Lsn(99) },
        ]
    }

    #[test]
    fn frames_are_read_as_they_were_written_and_a_torn_one_is_not() {
        let mut bytes = BytesMut::new();
        for frame in &frames() {
            put(&mut bytes, frame);
        }
        let whole = frames().iter().map(length).sum::<u64>();
        assert_eq!(bytes.len() as u64, whole);
        let mut torn = BytesMut::from(&bytes[..bytes.len() - 1]);
        for frame in frames() {
            assert_eq!(take(&mut bytes), Ok(Some(frame)));
        }
        assert_eq!(take(&mut bytes), Ok(None));
        assert!(take(&mut torn).is_ok_and(|frame| frame.is_some()));
        assert!(take(&mut torn).is_ok_and(|frame| frame.is_some()));
        assert_eq!(take(&mut torn), Ok(None));
    }

    #[test]
    fn a_changed_bit_is_noticed() {
        let mut whole = BytesMut::new();
        put(&mut whole, &frames()[0]);
        for at in 4..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert_eq!(take(&mut changed), Err(DamagedFrame), "byte {at}");
        }
    }

    #[test]
    fn a_head_names_the_position() {
        assert_eq!(read_head(&head(Lsn(5))), Some(Lsn(5)));
        assert_eq!(read_head(b"SWSPOOL1"), None);
        assert_eq!(read_head(b"another file it is"), None);
    }
}
