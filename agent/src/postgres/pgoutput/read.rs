//! Reads the fields of one message. Keeps the kind of the message and the offset for errors.

use bytes::{Buf, Bytes};

use super::trim::LEFT_OUT;
use super::{DecodeError, Lsn, Tuple, TupleValue};

pub(super) struct MessageReader {
    kind: &'static str,
    length: usize,
    rest: Bytes,
}

impl MessageReader {
    /// Starts after the first byte, which is the kind of the message.
    pub(super) fn after_kind(mut message: Bytes, kind: &'static str) -> Self {
        let length = message.len();
        message.advance(1);
        Self {
            kind,
            length,
            rest: message,
        }
    }

    pub(super) fn finish(self) -> Result<(), DecodeError> {
        match self.rest.len() {
            0 => Ok(()),
            excess => Err(DecodeError::Excess {
                kind: self.kind,
                excess,
                offset: self.offset(),
            }),
        }
    }

    pub(super) fn u8(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        self.fixed(field).map(u8::from_be_bytes)
    }

    pub(super) fn u16(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        self.fixed(field).map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        self.fixed(field).map(u32::from_be_bytes)
    }

    pub(super) fn i32(&mut self, field: &'static str) -> Result<i32, DecodeError> {
        self.fixed(field).map(i32::from_be_bytes)
    }

    pub(super) fn i64(&mut self, field: &'static str) -> Result<i64, DecodeError> {
        self.fixed(field).map(i64::from_be_bytes)
    }

    pub(super) fn lsn(&mut self, field: &'static str) -> Result<Lsn, DecodeError> {
        self.fixed(field).map(u64::from_be_bytes).map(Lsn)
    }

    /// Reads one byte that must satisfy `valid`.
    pub(super) fn one_of(
        &mut self,
        field: &'static str,
        valid: impl Fn(u8) -> bool,
    ) -> Result<u8, DecodeError> {
        let offset = self.offset();
        let byte = self.u8(field)?;
        if valid(byte) {
            Ok(byte)
        } else {
            Err(self.invalid(field, offset))
        }
    }

    /// Reads a zero-terminated UTF-8 text.
    pub(super) fn text(&mut self, field: &'static str) -> Result<String, DecodeError> {
        let offset = self.offset();
        let end = self.rest.iter().position(|byte| *byte == 0);
        let text = self
            .rest
            .split_to(end.ok_or_else(|| self.truncated(field))?);
        self.rest.advance(1);
        match str::from_utf8(&text) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(self.invalid(field, offset)),
        }
    }

    /// Reads a 32-bit length and that many bytes.
    pub(super) fn counted(&mut self, field: &'static str) -> Result<Bytes, DecodeError> {
        let offset = self.offset();
        let count = self.i32(field)?;
        let count = usize::try_from(count).map_err(|_| self.invalid(field, offset))?;
        if self.rest.len() < count {
            return Err(self.truncated(field));
        }
        Ok(self.rest.split_to(count))
    }

    pub(super) fn tuple(&mut self) -> Result<Tuple, DecodeError> {
        let count = self.u16("value count")?;
        (0..count)
            .map(|_| self.value())
            .collect::<Result<_, _>>()
            .map(Tuple)
    }

    fn value(&mut self) -> Result<TupleValue, DecodeError> {
        let offset = self.offset();
        match self.u8("value kind")? {
            b'n' => Ok(TupleValue::Null),
            b'u' => Ok(TupleValue::UnchangedToast),
            LEFT_OUT => Ok(TupleValue::LeftOut),
            b't' => self.counted("text value").map(TupleValue::Text),
            b'b' => self.counted("binary value").map(TupleValue::Binary),
            _ => Err(self.invalid("value kind", offset)),
        }
    }

    fn fixed<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], DecodeError> {
        let bytes = *self
            .rest
            .first_chunk()
            .ok_or_else(|| self.truncated(field))?;
        self.rest.advance(N);
        Ok(bytes)
    }

    fn offset(&self) -> usize {
        self.length - self.rest.len()
    }

    fn truncated(&self, field: &'static str) -> DecodeError {
        DecodeError::Truncated {
            kind: self.kind,
            field,
            offset: self.offset(),
        }
    }

    fn invalid(&self, field: &'static str, offset: usize) -> DecodeError {
        DecodeError::Invalid {
            kind: self.kind,
            field,
            offset,
        }
    }
}
