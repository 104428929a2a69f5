//! One COPY out of a session for several receivers, each of which has a session of its own to put its rows into.
//!
//! The reader knows receivers by a channel that holds one piece: whoever is slow holds it back, for a while; whoever
//! has gone, or takes nothing for longer, gets nothing more, and the others go on. A receiver has all of its rows when
//! it was told so, which the reader does once it has looked at everything that they rely on.

use std::future::poll_fn;
use std::time::Duration;

use connect::Connected;
use tokio::sync::mpsc::{Receiver, Sender};

use super::route::{Piece, Router, unexpected};
use super::{LEAST, MOST, Out, PipeError, ask};

/// How long the others wait for a receiver that takes nothing.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a receiver is given.
#[derive(Debug)]
pub(crate) enum Given {
    Rows(Piece),
    /// These were all.
    All,
}

/// Those that rows are read for, in the order of the numbers that name them; `None` where one has gone.
#[derive(Debug)]
pub(crate) struct Receivers(Vec<Option<Sender<Given>>>);

impl Receivers {
    pub(crate) fn new(all: impl IntoIterator<Item = Sender<Given>>) -> Self {
        Self(all.into_iter().map(Some).collect())
    }

    /// Tells those that are left that they have all rows.
    pub(crate) async fn end(&mut self) {
        for number in 0..self.0.len() {
            self.give(number, Given::All).await;
        }
    }

    async fn give(&mut self, number: usize, given: Given) {
        let to = &mut self.0[number];
        if let Some(sender) = to
            && sender.send_timeout(given, PATIENCE).await.is_err()
        {
            *to = None;
        }
    }

    /// Gives what is at least `least` bytes.
    async fn give_pieces(&mut self, pieces: &mut [Piece], least: usize) {
        for (number, piece) in pieces.iter_mut().enumerate() {
            if piece.filled() >= least {
                self.give(number, Given::Rows(std::mem::take(piece))).await;
            }
        }
    }
}

/// Gives the rows that `out` names on `source` to their receivers: the number of one stands in front of each row.
pub(crate) async fn fan_out(
    (source, out): (&mut Connected, &str),
    to: &mut Receivers,
) -> Result<(), PipeError> {
    let mut rows = Out::ask(source, out).await?;
    let mut router = Router::default();
    let mut pieces: Vec<Piece> = to.0.iter().map(|_| Piece::default()).collect();
    let mut buffer = vec![0; MOST];
    while let Some(count) = rows.read(&mut buffer).await? {
        router.route(&buffer[..count], &mut pieces)?;
        to.give_pieces(&mut pieces, LEAST).await;
    }
    if !router.is_over() {
        return Err(unexpected().into());
    }
    to.give_pieces(&mut pieces, 1).await;
    rows.end();
    Ok(())
}

/// Puts the rows that are given into `target` by `into`. How many rows, and bytes; `None` when the reader went away
/// before it had given all: then the session is over.
///
/// `moved` is told of rows and bytes that have been sent on, and may take its time.
pub(crate) async fn take_in<F: Future<Output = ()>>(
    (target, into): (&mut Connected, &str),
    mut from: Receiver<Given>,
    moved: impl Fn(u64, u64) -> F,
) -> Result<Option<(u64, u64)>, PipeError> {
    let mut to = ask(target, into).await?;
    to.opened().await?;
    let (mut rows, mut bytes) = (0, 0);
    loop {
        let given = poll_fn(|cx| {
            // What the target has to say meanwhile is heard first.
            to.hear_all(cx)?;
            from.poll_recv(cx).map(Ok::<_, PipeError>)
        });
        match given.await? {
            Some(Given::Rows(mut piece)) => {
                rows += piece.rows;
                bytes += piece.filled() as u64;
                to.send(&mut piece.bytes).await?;
                moved(rows, bytes).await;
            }
            Some(Given::All) => break,
            None => return Ok(None),
        }
    }
    let rows = to.finish().await?;
    to.into_link().give_back();
    moved(rows, bytes).await;
    Ok(Some((rows, bytes)))
}
