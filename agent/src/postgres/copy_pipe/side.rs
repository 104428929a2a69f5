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

use super::{HEADER, PipeError};

/// The type of a CopyData message.
const COPY_DATA: u8 = b'd';
/// Buffer size for messages other than CopyData.
const WORDS: usize = 4 << 10;
/// Maximum length of a message other than CopyData.
const LONGEST: usize = 1 << 20;

/// A connection, and the state of its COPY.
pub(super) struct CopyConnection<L> {
    link: L,
    frames: Frames,
    /// The incomplete message, other than CopyData, that is being read.
    aside: BytesMut,
    /// The server has answered that it accepts rows (COPY FROM) or sends rows (COPY TO).
    open: bool,
    /// The number of rows of the COPY, once it is complete.
    copied: Option<u64>,
    /// The server is ready for the next query.
    ready: bool,
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
            aside: BytesMut::new(),
            open: false,
            copied: None,
            ready: false,
        }
    }

    pub(super) fn into_link(self) -> L {
        self.link
    }

    pub(super) async fn start(&mut self, sql: &str) -> Result<(), PipeError> {
        let mut message = BytesMut::new();
        frontend::query(sql, &mut message)?;
        self.link.write_all(&message).await?;
        Ok(self.link.flush().await?)
    }

    /// Waits until the server accepts rows.
    pub(super) async fn opened(&mut self) -> Result<(), PipeError> {
        self.hear_until(|side| side.open || side.ready).await
    }

    /// Returns true if the server has sent all rows and is ready for the next query.
    pub(super) fn copied_out(&self) -> Result<bool, PipeError> {
        match (self.ready, self.copied) {
            (true, None) => Err(unexpected().into()),
            (ready, _) => Ok(ready),
        }
    }

    /// Sends CopyDone and returns the number of rows that the server copied.
    pub(super) async fn finish(&mut self) -> Result<u64, PipeError> {
        let mut message = BytesMut::new();
        frontend::copy_done(&mut message);
        self.write(&message).await?;
        self.hear_until(|side| side.ready).await?;
        Ok(self.copied.ok_or_else(unexpected)?)
    }

    /// Sends row data. The first [`HEADER`] bytes of `piece` are free; the function writes the message header there.
    pub(super) async fn send(&mut self, piece: &mut [u8]) -> Result<(), PipeError> {
        // The length includes itself, but not the type byte.
        let length = i32::try_from(piece.len() - 1).map_err(|_| unexpected())?;
        let (header, _) = piece.split_at_mut(HEADER);
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
                self.hear_all(cx)?;
                let link = Pin::new(&mut self.link);
                let done = match &bytes[written..] {
                    [] => return link.poll_flush(cx).map_err(PipeError::from),
                    rest => ready!(link.poll_write(cx, rest)),
                };
                match done {
                    Ok(0) => return Poll::Ready(Err(over().into())),
                    Ok(count) => written += count,
                    Err(error) => return Poll::Ready(Err(self.last_words(cx, error))),
                }
            }
        })
        .await
    }

    /// Returns the error that the server sent before the connection broke, otherwise `error`.
    fn last_words(&mut self, cx: &mut Context<'_>, error: io::Error) -> PipeError {
        match self.hear_all(cx) {
            Err(refused @ PipeError::Refused(_)) => refused,
            Ok(()) | Err(_) => error.into(),
        }
    }

    async fn hear_until(&mut self, heard: impl Fn(&Self) -> bool) -> Result<(), PipeError> {
        poll_fn(|cx| {
            while !heard(self) {
                ready!(self.poll_hear(cx))?;
            }
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// Processes the messages that have arrived. Registers the task of `cx` to be woken when more arrive.
    pub(super) fn hear_all(&mut self, cx: &mut Context<'_>) -> Result<(), PipeError> {
        while let Poll::Ready(heard) = self.poll_hear(cx) {
            heard?;
        }
        Ok(())
    }

    /// Processes the next message other than CopyData. An ErrorResponse becomes an error.
    fn poll_hear(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), PipeError>> {
        let mut words = [0; WORDS];
        ready!(self.poll_take(cx, &mut words))?;
        Poll::Ready(Ok(()))
    }

    /// Reads into `buffer` and leaves only row data in it. Processes the other messages.
    pub(super) fn poll_take(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<Result<RowBytes, PipeError>> {
        let mut room = ReadBuf::new(buffer);
        ready!(Pin::new(&mut self.link).poll_read(cx, &mut room))?;
        match room.filled().len() {
            0 => Poll::Ready(Err(over().into())),
            count => Poll::Ready(self.sort(&mut buffer[..count])),
        }
    }

    /// Moves the row data to the start of `bytes`, and processes the other messages.
    fn sort(&mut self, bytes: &mut [u8]) -> Result<RowBytes, PipeError> {
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
                self.aside.extend_from_slice(&bytes[at..end]);
                self.hear()?;
            }
            at = end;
        }
        Ok(RowBytes { bytes: kept, rows })
    }

    /// Processes a message other than CopyData once it is complete.
    fn hear(&mut self) -> Result<(), PipeError> {
        if self.aside.len() > LONGEST {
            return Err(unexpected().into());
        }
        if !self.frames.between() {
            return Ok(());
        }
        match Message::parse(&mut self.aside)? {
            Some(Message::ErrorResponse(body)) => {
                return Err(PipeError::Refused(Refusal::read(&body)));
            }
            Some(Message::CopyInResponse(_) | Message::CopyOutResponse(_)) => self.open = true,
            Some(Message::CommandComplete(body)) => self.copied = rows(body.tag()?),
            Some(Message::ReadyForQuery(_)) => self.ready = true,
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

fn over() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "connection closed")
}

fn unexpected() -> io::Error {
    let what = "a message came that does not belong to a COPY";
    io::Error::new(io::ErrorKind::InvalidData, what)
}
