//! Sends the output of COPY on one session to COPY on another session. The agent forwards bytes as they arrive and
//! never holds a complete row in memory.
//!
//! The agent starts COPY on both servers. It sends the data of the source to the target in CopyData messages of its
//! own. When the source has sent its last row, the agent sends CopyDone to the target, and the target returns the
//! number of rows. If a COPY does not reach its end, the agent closes both sessions with their transactions, so that
//! neither server continues.

mod fan;
mod route;
mod side;

use std::fmt::Display;
use std::future::poll_fn;
use std::io;

use connect::{Class, Connected, Lent, Refusal, classify, classify_io};
use plans::failure::Failure;
use tokio::io::{AsyncRead, AsyncWrite};

pub(crate) use fan::{CopyReceivers, ReceiveOutcome, ReceiverInput, fan_out, write_received};
use side::{CopyConnection, RowBytes};

use crate::error::{StepError, WithIntent, code_of_sqlstate, hint_of_sqlstate, retry_of};

/// Maximum size in bytes of one CopyData message to the target.
const MAX_MESSAGE_BYTES: usize = 256 << 10;
/// Minimum size in bytes of a CopyData message to the target, except the last one. The source sends pieces of 8 KiB.
const MIN_MESSAGE_BYTES: usize = 64 << 10;
/// Length of a message header: one byte for the type and four for the length.
const HEADER_BYTES: usize = 5;

/// The reason why a COPY failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PipeError {
    /// The server returned an error.
    #[error("{} (SQLSTATE {})", .0.message, .0.state)]
    Refused(Refusal),
    /// The connection failed, or the server violated the protocol.
    #[error("error communicating with the server: {0}")]
    Broken(#[from] io::Error),
    /// The session had ended before the COPY started.
    #[error(transparent)]
    Session(#[from] tokio_postgres::Error),
}

impl PipeError {
    /// Returns whether a retry can succeed.
    pub(crate) fn class(&self) -> Class {
        match self {
            Self::Refused(refusal) => refusal.class(),
            Self::Broken(error) => classify_io(error),
            Self::Session(error) => classify(error),
        }
    }
}

impl<T> WithIntent<T> for Result<T, PipeError> {
    fn at(self, what: impl Display) -> Result<T, StepError> {
        let error = match self {
            Ok(done) => return Ok(done),
            Err(PipeError::Session(error)) => return Err(error).at(what),
            Err(error) => error,
        };
        let (message, retry) = (format!("{what}: {error}"), retry_of(error.class()));
        let (state, hint) = match error {
            PipeError::Refused(refusal) => (Some(refusal.cause_state().to_owned()), refusal.hint),
            PipeError::Broken(_) | PipeError::Session(_) => (None, None),
        };
        Err(StepError::Failed(Failure {
            code: code_of_sqlstate(state.as_deref()),
            message,
            hint: state.and_then(|state| hint_of_sqlstate(&state, hint)),
            retry,
        }))
    }
}

/// The side on which a COPY failed.
#[derive(Debug)]
pub(crate) enum PipeFailure {
    Reading(PipeError),
    Writing(PipeError),
}

/// Copies the output of the statement `out` on `source` into the statement `into` on `target`. Returns the numbers of
/// rows and bytes.
///
/// The function calls `moved` with the numbers of rows and bytes sent so far and awaits its future, so that `moved` can
/// delay the copy.
pub(crate) async fn pipe<F: Future<Output = ()>>(
    (source, out): (&mut Connected, &str),
    (target, into): (&mut Connected, &str),
    moved: impl Fn(u64, u64) -> F,
) -> Result<(u64, u64), PipeFailure> {
    let (mut from, mut to) = tokio::try_join!(
        async { start_copy(source, out).await.map_err(PipeFailure::Reading) },
        async {
            let mut side = start_copy(target, into)
                .await
                .map_err(PipeFailure::Writing)?;
            side.wait_until_open().await.map_err(PipeFailure::Writing)?;
            Ok(side)
        }
    )?;
    let bytes = forward_rows(&mut from, &mut to, &moved).await?;
    let rows = to.finish().await.map_err(PipeFailure::Writing)?;
    from.into_link().give_back();
    to.into_link().give_back();
    moved(rows, bytes).await;
    Ok((rows, bytes))
}

/// The output of a COPY on one session, as bytes. If this value is dropped, the session is closed.
pub(crate) struct CopyOutput<'a>(CopyConnection<Lent<'a>>);

impl<'a> CopyOutput<'a> {
    /// Starts the COPY statement `sql` on `session`.
    pub(crate) async fn start(session: &'a mut Connected, sql: &str) -> Result<Self, PipeError> {
        start_copy(session, sql).await.map(Self)
    }

    /// Reads into `buffer` and returns the number of bytes read; `None` at the end of the COPY.
    pub(crate) async fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, PipeError> {
        while !self.0.has_sent_all()? {
            let read = poll_fn(|cx| self.0.poll_read_rows(cx, buffer)).await?;
            if read.bytes > 0 {
                return Ok(Some(read.bytes));
            }
        }
        Ok(None)
    }

    /// Returns the connection to its session. The caller must have read to the end.
    pub(crate) fn end(self) {
        self.0.into_link().give_back();
    }
}

async fn start_copy<'a>(
    session: &'a mut Connected,
    sql: &str,
) -> Result<CopyConnection<Lent<'a>>, PipeError> {
    let mut side = CopyConnection::new(session.lend().await?);
    side.start(sql).await?;
    Ok(side)
}

/// Forwards all rows of the source until the source is ready for the next query. Returns the number of bytes.
async fn forward_rows<S, T, F>(
    from: &mut CopyConnection<S>,
    to: &mut CopyConnection<T>,
    moved: impl Fn(u64, u64) -> F,
) -> Result<u64, PipeFailure>
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
    F: Future<Output = ()>,
{
    let mut buffer = vec![0; HEADER_BYTES + MAX_MESSAGE_BYTES];
    let (mut filled, mut rows, mut bytes) = (0, 0, 0);
    while !from.has_sent_all().map_err(PipeFailure::Reading)? {
        let read = read_source(from, to, &mut buffer[HEADER_BYTES + filled..]).await?;
        filled += read.bytes;
        rows += read.rows;
        bytes += read.bytes as u64;
        if filled >= MIN_MESSAGE_BYTES {
            let piece = &mut buffer[..HEADER_BYTES + filled];
            to.send(piece).await.map_err(PipeFailure::Writing)?;
            filled = 0;
            moved(rows, bytes).await;
        }
    }
    if filled > 0 {
        let piece = &mut buffer[..HEADER_BYTES + filled];
        to.send(piece).await.map_err(PipeFailure::Writing)?;
    }
    Ok(bytes)
}

/// Reads the next data of the source. It first processes the messages of the target, so that an error of the target
/// ends the copy.
async fn read_source<S, T>(
    from: &mut CopyConnection<S>,
    to: &mut CopyConnection<T>,
    buffer: &mut [u8],
) -> Result<RowBytes, PipeFailure>
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    poll_fn(|cx| {
        to.process_arrived(cx).map_err(PipeFailure::Writing)?;
        from.poll_read_rows(cx, buffer)
            .map_err(PipeFailure::Reading)
    })
    .await
}

#[cfg(test)]
mod tests;
