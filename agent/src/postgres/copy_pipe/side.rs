//! One side of a COPY: a connection that starts COPY by the simple query protocol.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use connect::{Frames, MessagePart, Refusal};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};

use super::{HEADER_BYTES, PipeError};

/// The type of a CopyData message.
const COPY_DATA: u8 = b'd';
/// Buffer size for messages other than CopyData.
const OTHER_MESSAGE_BUFFER: usize = 4 << 10;
/// Maximum length of a message other than CopyData.
const MAX_OTHER_MESSAGE: usize = 1 << 20;

/// A connection, and the state of its COPY.
pub(super) struct CopyConnection<L> {
    link: L,
    frames: Frames,
    /// The incomplete message, other than CopyData, that is being read.
    other_message: BytesMut,
    /// True once the server has answered that it accepts rows (COPY FROM) or sends rows (COPY TO).
    is_open: bool,
    /// The number of rows of the COPY, once it is complete.
    row_count: Option<u64>,
    /// True once the server is ready for the next query.
    is_ready: bool,
}

/// The row data that one read returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowBytes {
    /// The number of bytes of row data. They are at the start of the buffer.
    pub(super) bytes: usize,
    /// The number of rows that end in this data.
    pub(super) rows: u64,
}

impl<L: AsyncRead + AsyncWrite + Unpin> CopyConnection<L> {
    pub(super) fn new(link: L) -> Self {
        Self {
            link,
            frames: Frames::default(),
            other_message: BytesMut::new(),
            is_open: false,
            row_count: None,
            is_ready: false,
        }
    }

    /// Returns the connection itself.
    pub(super) fn into_link(self) -> L {
        self.link
    }

    /// Sends the COPY statement.
    pub(super) async fn start(&mut self, sql: &str) -> Result<(), PipeError> {
        let mut message = BytesMut::new();
        frontend::query(sql, &mut message)?;
        self.link.write_all(&message).await?;
        Ok(self.link.flush().await?)
    }

    /// Waits until the server accepts rows.
    pub(super) async fn wait_until_open(&mut self) -> Result<(), PipeError> {
        self.process_until(|side| side.is_open || side.is_ready)
            .await
    }

    /// Returns true if the server has sent all rows and is ready for the next query.
    pub(super) fn has_sent_all(&self) -> Result<bool, PipeError> {
        match (self.is_ready, self.row_count) {
            (true, None) => Err(unexpected().into()),
            (ready, _) => Ok(ready),
        }
    }

    /// Sends CopyDone and returns the number of rows that the server copied.
    pub(super) async fn finish(&mut self) -> Result<u64, PipeError> {
        let mut message = BytesMut::new();
        frontend::copy_done(&mut message);
        self.write(&message).await?;
        self.process_until(|side| side.is_ready).await?;
        Ok(self.row_count.ok_or_else(unexpected)?)
    }

    /// Sends row data. The first [`HEADER_BYTES`] bytes of `piece` are free; the function writes the message header there.
    pub(super) async fn send(&mut self, piece: &mut [u8]) -> Result<(), PipeError> {
        // The length includes itself, but not the type byte.
        let length = i32::try_from(piece.len() - 1).map_err(|_| unexpected())?;
        let (header, _) = piece.split_at_mut(HEADER_BYTES);
        header[0] = COPY_DATA;
        header[1..].copy_from_slice(&length.to_be_bytes());
        self.write(piece).await
    }

    /// Writes `bytes`, and processes messages of the server at the same time. Otherwise both sides could wait: the
    /// server stops reading while it cannot send.
    async fn write(&mut self, bytes: &[u8]) -> Result<(), PipeError> {
        let mut written = 0;
        poll_fn(|cx| {
            loop {
                self.process_arrived(cx)?;
                let link = Pin::new(&mut self.link);
                let done = match &bytes[written..] {
                    [] => return link.poll_flush(cx).map_err(PipeError::from),
                    rest => ready!(link.poll_write(cx, rest)),
                };
                match done {
                    Ok(0) => return Poll::Ready(Err(connection_closed().into())),
                    Ok(count) => written += count,
                    Err(error) => return Poll::Ready(Err(self.server_error_or(cx, error))),
                }
            }
        })
        .await
    }

    /// Returns the error that the server sent before the connection broke, otherwise `error`.
    fn server_error_or(&mut self, cx: &mut Context<'_>, error: io::Error) -> PipeError {
        match self.process_arrived(cx) {
            Err(refused @ PipeError::Refused(_)) => refused,
            Ok(()) | Err(_) => error.into(),
        }
    }

    /// Processes messages until `is_done` is true.
    async fn process_until(&mut self, is_done: impl Fn(&Self) -> bool) -> Result<(), PipeError> {
        poll_fn(|cx| {
            while !is_done(self) {
                ready!(self.poll_process(cx))?;
            }
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// Processes the messages that have arrived. Registers the task of `cx` to be woken when more arrive.
    pub(super) fn process_arrived(&mut self, cx: &mut Context<'_>) -> Result<(), PipeError> {
        while let Poll::Ready(processed) = self.poll_process(cx) {
            processed?;
        }
        Ok(())
    }

    /// Processes the next message other than CopyData. An ErrorResponse becomes an error.
    fn poll_process(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), PipeError>> {
        let mut buffer = [0; OTHER_MESSAGE_BUFFER];
        ready!(self.poll_read_rows(cx, &mut buffer))?;
        Poll::Ready(Ok(()))
    }

    /// Reads into `buffer` and leaves only row data in it. Processes the other messages.
    pub(super) fn poll_read_rows(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<Result<RowBytes, PipeError>> {
        let mut read = ReadBuf::new(buffer);
        ready!(Pin::new(&mut self.link).poll_read(cx, &mut read))?;
        match read.filled().len() {
            0 => Poll::Ready(Err(connection_closed().into())),
            count => Poll::Ready(self.split_messages(&mut buffer[..count])),
        }
    }

    /// Moves the row data to the start of `bytes`, and processes the other messages.
    fn split_messages(&mut self, bytes: &mut [u8]) -> Result<RowBytes, PipeError> {
        let (mut at, mut kept, mut rows) = (0, 0, 0);
        while at < bytes.len() {
            let (count, part) = self.frames.step(&bytes[at..])?;
            let end = at + count;
            if self.frames.kind() == COPY_DATA {
                if part == MessagePart::Body {
                    bytes.copy_within(at..end, kept);
                    kept += count;
                }
                rows += u64::from(self.frames.between());
            } else {
                self.other_message.extend_from_slice(&bytes[at..end]);
                self.process_other_message()?;
            }
            at = end;
        }
        Ok(RowBytes { bytes: kept, rows })
    }

    /// Processes a message other than CopyData once it is complete.
    fn process_other_message(&mut self) -> Result<(), PipeError> {
        if self.other_message.len() > MAX_OTHER_MESSAGE {
            return Err(unexpected().into());
        }
        if !self.frames.between() {
            return Ok(());
        }
        match Message::parse(&mut self.other_message)? {
            Some(Message::ErrorResponse(body)) => {
                return Err(PipeError::Refused(Refusal::read(&body)));
            }
            Some(Message::CopyInResponse(_) | Message::CopyOutResponse(_)) => self.is_open = true,
            Some(Message::CommandComplete(body)) => self.row_count = rows(body.tag()?),
            Some(Message::ReadyForQuery(_)) => self.is_ready = true,
            Some(
                Message::CopyDone
                | Message::NoticeResponse(_)
                | Message::NotificationResponse(_)
                | Message::ParameterStatus(_),
            ) => {}
            _ => return Err(unexpected().into()),
        }
        Ok(())
    }
}

/// Returns the number of rows from a command tag such as `COPY 12`.
fn rows(tag: &str) -> Option<u64> {
    tag.strip_prefix("COPY ")?.parse().ok()
}

fn connection_closed() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "connection closed")
}

fn unexpected() -> io::Error {
    let what = "a message arrived that does not belong to a COPY";
    io::Error::new(io::ErrorKind::InvalidData, what)
}
