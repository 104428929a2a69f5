//! The format of a segment file: a head, then frames. Numbers are big-endian.
//!
//! - Head: the eight bytes `SWSPOOL1`, then the position (8 bytes) after which the segment begins.
//! - Frame: the length of the body and its CRC-32 (4 bytes each), then the body.
//! - Body: the kind (1 byte: `m`, `e` or `i`), the position (8 bytes), the message.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::postgres::lsn::Lsn;

/// The first bytes of every segment.
const MAGIC: &[u8; 8] = b"SWSPOOL1";
/// The size of a segment's head in bytes.
pub(super) const HEAD_BYTES: usize = 16;
/// The size of the length and the checksum before a frame's body, in bytes.
const PREFIX_BYTES: usize = 8;
/// The size of the kind and the position before a body's message, in bytes.
const BODY_HEAD_BYTES: usize = 9;

/// One entry of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SpoolFrame {
    /// A message of the stream, in the format of pgoutput. `ends_transaction` is set for the last message of a
    /// transaction; a segment may end only after such a message.
    Message {
        at: Lsn,
        ends_transaction: bool,
        message: Bytes,
    },
    /// Up to this position there is no further change for the stream.
    Idle { until: Lsn },
}

/// Encodes the head of a segment that begins after `from`.
pub(super) fn encode_head(from: Lsn) -> Bytes {
    let mut out = BytesMut::with_capacity(HEAD_BYTES);
    out.put_slice(MAGIC);
    out.put_u64(from.0);
    out.freeze()
}

/// Returns the position in a head. `None` if the bytes are no head.
pub(super) fn read_head(mut bytes: &[u8]) -> Option<Lsn> {
    if bytes.len() < HEAD_BYTES || &bytes[..MAGIC.len()] != MAGIC {
        return None;
    }
    bytes.advance(MAGIC.len());
    Some(Lsn(bytes.get_u64()))
}

/// Appends a frame to `out`.
pub(super) fn append_frame(out: &mut BytesMut, frame: &SpoolFrame) {
    let (kind, at, message): (u8, Lsn, &[u8]) = match frame {
        SpoolFrame::Message {
            at,
            ends_transaction,
            message,
        } => (if *ends_transaction { b'e' } else { b'm' }, *at, message),
        SpoolFrame::Idle { until } => (b'i', *until, &[]),
    };
    let mut body = crc32fast::Hasher::new();
    body.update(&[kind]);
    body.update(&at.0.to_be_bytes());
    body.update(message);
    out.reserve(PREFIX_BYTES + BODY_HEAD_BYTES + message.len());
    // A message of pgoutput is shorter than 1 GiB.
    out.put_u32(u32::try_from(BODY_HEAD_BYTES + message.len()).unwrap_or(u32::MAX));
    out.put_u32(body.finalize());
    out.put_u8(kind);
    out.put_u64(at.0);
    out.put_slice(message);
}

/// Removes the first frame from `bytes` and returns it. Returns `None` if the frame is incomplete.
///
/// # Errors
/// [`DamagedFrame`].
pub(super) fn take_frame(bytes: &mut BytesMut) -> Result<Option<SpoolFrame>, DamagedFrame> {
    if bytes.len() < PREFIX_BYTES {
        return Ok(None);
    }
    let mut prefix = &bytes[..PREFIX_BYTES];
    let (length, sum) = (prefix.get_u32() as usize, prefix.get_u32());
    if length < BODY_HEAD_BYTES {
        return Err(DamagedFrame);
    }
    if bytes.len() < PREFIX_BYTES + length {
        return Ok(None);
    }
    bytes.advance(PREFIX_BYTES);
    let mut body = bytes.split_to(length).freeze();
    if crc32fast::hash(&body) != sum {
        return Err(DamagedFrame);
    }
    let (kind, at) = (body.get_u8(), Lsn(body.get_u64()));
    match kind {
        b'm' | b'e' => Ok(Some(SpoolFrame::Message {
            at,
            ends_transaction: kind == b'e',
            message: body,
        })),
        b'i' => Ok(Some(SpoolFrame::Idle { until: at })),
        _ => Err(DamagedFrame),
    }
}

/// Returns the size of a frame in the file.
pub(super) fn frame_length(frame: &SpoolFrame) -> u64 {
    let message = match frame {
        SpoolFrame::Message { message, .. } => message.len(),
        SpoolFrame::Idle { .. } => 0,
    };
    (PREFIX_BYTES + BODY_HEAD_BYTES + message) as u64
}

/// The error for a frame whose length, kind or checksum is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DamagedFrame;

#[cfg(test)]
mod tests {
    use super::*;

    fn frames() -> [SpoolFrame; 3] {
        let message = |ends_transaction, text: &'static [u8]| SpoolFrame::Message {
            at: Lsn(11),
            ends_transaction,
            message: Bytes::from_static(text),
        };
        [
            message(false, b"abc"),
            message(true, b""),
            SpoolFrame::Idle { until: Lsn(99) },
        ]
    }

    #[test]
    fn frames_are_read_as_they_were_written_and_an_incomplete_one_is_not() {
        let mut bytes = BytesMut::new();
        for frame in &frames() {
            append_frame(&mut bytes, frame);
        }
        let total = frames().iter().map(frame_length).sum::<u64>();
        assert_eq!(bytes.len() as u64, total);
        let mut incomplete = BytesMut::from(&bytes[..bytes.len() - 1]);
        for frame in frames() {
            assert_eq!(take_frame(&mut bytes), Ok(Some(frame)));
        }
        assert_eq!(take_frame(&mut bytes), Ok(None));
        assert!(take_frame(&mut incomplete).is_ok_and(|frame| frame.is_some()));
        assert!(take_frame(&mut incomplete).is_ok_and(|frame| frame.is_some()));
        assert_eq!(take_frame(&mut incomplete), Ok(None));
    }

    #[test]
    fn a_changed_bit_is_detected() {
        let mut frame = BytesMut::new();
        append_frame(&mut frame, &frames()[0]);
        // The first four bytes are the length: with another length the frame can also be incomplete.
        for index in 4..frame.len() {
            let mut changed = frame.clone();
            changed[index] ^= 1;
            assert_eq!(take_frame(&mut changed), Err(DamagedFrame), "byte {index}");
        }
    }

    #[test]
    fn a_head_names_the_position() {
        assert_eq!(read_head(&encode_head(Lsn(5))), Some(Lsn(5)));
        assert_eq!(read_head(b"SWSPOOL1"), None);
        assert_eq!(read_head(b"some other content"), None);
    }
}
