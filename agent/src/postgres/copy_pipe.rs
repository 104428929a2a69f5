//! COPY out of one session into another: bytes are passed on as they come, and no row is ever whole in memory.
//!
//! Order: both servers are asked; pieces of what the source sends go to the target, in frames of their own; when the
//! source has said that it was all, the target is told so, and says how many rows it has. A session that was not
//! brought to its end is closed with what it had under way, so that neither server goes on by itself.

mod fan;
mod route;
mod side;

use std::fmt::Display;
use std::future::poll_fn;
use std::io;

use connect::{Class, Connected, Lent, Refusal, classify, classify_io, classify_server};
use plans::failure::Failure;
use tokio::io::{AsyncRead, AsyncWrite};

pub(crate) use fan::{CopyReceivers, ReceiveOutcome, ReceiverInput, fan_out, take_in};
use side::{CopyConnection, RowBytes};

use crate::error::{StepError, WithIntent, code_of_sqlstate, hint_of_sqlstate, retry_of};

/// What is taken from the source at most before it is sent on.
const MOST: usize = 256 << 10;
/// What is gathered at least: it comes in pieces of 8 KiB.
const LEAST: usize = 64 << 10;
/// A kind and a length stand before each piece.
const HEADER: usize = 5;

/// Why a COPY did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PipeError {
    /// The server refused.
    #[error("{} (SQLSTATE {})", .0.message, .0.state)]
    Refused(Refusal),
    /// The connection broke, or what came is not the protocol.
    #[error("error communicating with the server: {0}")]
    Broken(#[from] io::Error),
    /// The session was over before.
    #[error(transparent)]
    Session(#[from] tokio_postgres::Error),
}

impl PipeError {
    /// What a retry is worth.
    pub(crate) fn class(&self) -> Class {
        match self {
            Self::Refused(refusal) => classify_server(&refusal.state, &refusal.message),
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
            PipeError::Refused(refusal) => (Some(refusal.state), refusal.hint),
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

/// The side on which it failed.
#[derive(Debug)]
pub(crate) enum PipeFailure {
    Reading(PipeError),
    Writing(PipeError),
}

/// Copies what `out` gives on `source` into what `into` takes on `target`. How many rows, and bytes.
///
/// `moved` is told of rows and bytes that have been sent on, and may take its time.
pub(crate) async fn pipe<F: Future<Output = ()>>(
    (source, out): (&mut Connected, &str),
    (target, into): (&mut Connected, &str),
    moved: impl Fn(u64, u64) -> F,
) -> Result<(u64, u64), PipeFailure> {
    let (mut from, mut to) = tokio::try_join!(
        async { ask(source, out).await.map_err(PipeFailure::Reading) },
        async {
            let mut side = ask(target, into).await.map_err(PipeFailure::Writing)?;
            side.opened().await.map_err(PipeFailure::Writing)?;
            Ok(side)
        }
    )?;
    let bytes = pass_on(&mut from, &mut to, &moved).await?;
    let rows = to.finish().await.map_err(PipeFailure::Writing)?;
    from.into_link().give_back();
    to.into_link().give_back();
    moved(rows, bytes).await;
    Ok((rows, bytes))
}

/// What one session gives by COPY, read as bytes. Dropping it closes the session.
pub(crate) struct CopyOutput<'a>(CopyConnection<Lent<'a>>);

impl<'a> CopyOutput<'a> {
    /// Asks for it.
    pub(crate) async fn ask(session: &'a mut Connected, sql: &str) -> Result<Self, PipeError> {
        ask(session, sql).await.map(Self)
    }

    /// How many more bytes stand at the front of `buffer`; `None` when that was all.
    pub(crate) async fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, PipeError> {
        while !self.0.copied_out()? {
            let taken = poll_fn(|cx| self.0.poll_take(cx, buffer)).await?;
            if taken.bytes > 0 {
                return Ok(Some(taken.bytes));
            }
        }
        Ok(None)
    }

    /// Gives the session back, once that was all.
    pub(crate) fn end(self) {
        self.0.into_link().give_back();
    }
}

async fn ask<'a>(
    session: &'a mut Connected,
    sql: &str,
) -> Result<CopyConnection<Lent<'a>>, PipeError> {
    let mut side = CopyConnection::new(session.lend().await?);
    side.ask(sql).await?;
    Ok(side)
}

/// Passes on all that the source has, until it is ready for something else. How many bytes.
async fn pass_on<S, T, F>(
    from: &mut CopyConnection<S>,
    to: &mut CopyConnection<T>,
    moved: impl Fn(u64, u64) -> F,
) -> Result<u64, PipeFailure>
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
    F: Future<Output = ()>,
{
    let mut buffer = vec![0; HEADER + MOST];
    let (mut filled, mut rows, mut bytes) = (0, 0, 0);
    while !from.copied_out().map_err(PipeFailure::Reading)? {
        let taken = take(from, to, &mut buffer[HEADER + filled..]).await?;
        filled += taken.bytes;
        rows += taken.rows;
        bytes += taken.bytes as u64;
        if filled >= LEAST {
            let piece = &mut buffer[..HEADER + filled];
            to.send(piece).await.map_err(PipeFailure::Writing)?;
            filled = 0;
            moved(rows, bytes).await;
        }
    }
    if filled > 0 {
        let piece = &mut buffer[..HEADER + filled];
        to.send(piece).await.map_err(PipeFailure::Writing)?;
    }
    Ok(bytes)
}

/// What the source sends next; what the target has to say meanwhile is heard first.
async fn take<S, T>(
    from: &mut CopyConnection<S>,
    to: &mut CopyConnection<T>,
    buffer: &mut [u8],
) -> Result<RowBytes, PipeFailure>
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    poll_fn(|cx| {
        to.hear_all(cx).map_err(PipeFailure::Writing)?;
        from.poll_take(cx, buffer).map_err(PipeFailure::Reading)
    })
    .await
}

#[cfg(test)]
mod tests;
