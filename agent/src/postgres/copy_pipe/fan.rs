//! One COPY out of a session for several receivers, each of which has a session of its own to put its rows into.
//!
//! The reader knows receivers by a channel that holds one piece: whoever is slow holds it back, for a while; whoever
//! has gone, or takes nothing for longer, gets nothing more, and the others go on. A receiver has all of its rows when
//! it was told so, which the reader does once it has looked at everything that they rely on.

use std::future::poll_fn;
use std::time::Duration;

use connect::Connected;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::time::Instant;

use super::route::{RoutedRows, RowRouter, unexpected};
use super::{CopyOutput, LEAST, MOST, PipeError, ask};

/// How long the others wait for a receiver that takes nothing.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a receiver is given.
#[derive(Debug)]
pub(crate) enum ReceiverInput {
    Rows(RoutedRows),
    /// These were all.
    All,
}

/// Those that rows are read for, in the order of the numbers that name them; `None` where one has gone.
#[derive(Debug)]
pub(crate) struct CopyReceivers {
    senders: Vec<Option<Sender<ReceiverInput>>>,
    patience: Duration,
}

impl CopyReceivers {
    pub(crate) fn new(all: impl IntoIterator<Item = Sender<ReceiverInput>>) -> Self {
        Self {
            senders: all.into_iter().map(Some).collect(),
            patience: PATIENCE,
        }
    }

    /// Tells those that are left that they have all rows.
    pub(crate) async fn end(&mut self) {
        for number in 0..self.senders.len() {
            self.give(number, ReceiverInput::All).await;
        }
    }

    async fn give(&mut self, number: usize, given: ReceiverInput) {
        let to = &mut self.senders[number];
        if let Some(sender) = to
            && sender.send_timeout(given, self.patience).await.is_err()
        {
            *to = None;
        }
    }

    /// Gives what is at least `least` bytes.
    async fn give_pieces(&mut self, pieces: &mut [RoutedRows], least: usize) {
        for (number, piece) in pieces.iter_mut().enumerate() {
            if piece.filled() >= least {
                self.give(number, ReceiverInput::Rows(std::mem::take(piece)))
                    .await;
            }
        }
    }
}

/// Gives the rows that `out` names on `source` to their receivers: the number of one stands in front of each row.
pub(crate) async fn fan_out(
    source: &mut Connected,
    out: &str,
    to: &mut CopyReceivers,
) -> Result<(), PipeError> {
    let mut rows = CopyOutput::ask(source, out).await?;
    let mut router = RowRouter::default();
    let mut pieces: Vec<RoutedRows> = to.senders.iter().map(|_| RoutedRows::default()).collect();
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

/// What came of the rows that a receiver was given.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReceiveOutcome {
    /// All of them: rows, and bytes.
    All(u64, u64),
    /// The reader went away before it had given all: the session is over.
    Left,
    /// The same, because it was kept waiting for too long.
    TooSlow,
}

/// Puts the rows that are given into `target` by `into`.
///
/// `came` is told that a piece has come, `moved` of rows and bytes that have been sent on; it may take its time.
pub(crate) async fn take_in<F: Future<Output = ()>>(
    (target, into): (&mut Connected, &str),
    mut from: Receiver<ReceiverInput>,
    (came, moved): (impl Fn(), impl Fn(u64, u64) -> F),
) -> Result<ReceiveOutcome, PipeError> {
    let (mut since, mut too_slow) = (Instant::now(), false);
    let mut to = ask(target, into).await?;
    to.opened().await?;
    let (mut rows, mut bytes) = (0, 0);
    loop {
        too_slow |= since.elapsed() >= PATIENCE;
        let given = poll_fn(|cx| {
            // What the target has to say meanwhile is heard first.
            to.hear_all(cx)?;
            from.poll_recv(cx).map(Ok::<_, PipeError>)
        });
        let given = given.await?;
        since = Instant::now();
        came();
        match given {
            Some(ReceiverInput::Rows(mut piece)) => {
                rows += piece.rows;
                bytes += piece.filled() as u64;
                to.send(&mut piece.bytes).await?;
                moved(rows, bytes).await;
            }
            Some(ReceiverInput::All) => break,
            None if too_slow => return Ok(ReceiveOutcome::TooSlow),
            None => return Ok(ReceiveOutcome::Left),
        }
    }
    let rows = to.finish().await?;
    to.into_link().give_back();
    moved(rows, bytes).await;
    Ok(ReceiveOutcome::All(rows, bytes))
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::channel;

    use super::*;

    /// Gives all receivers a piece each, so many times.
    async fn give(to: &mut CopyReceivers, times: u64) {
        for rows in 1..=times {
            let mut pieces: Vec<RoutedRows> =
                to.senders.iter().map(|_| RoutedRows::default()).collect();
            for piece in &mut pieces {
                piece.bytes.push(0);
                piece.rows = rows;
            }
            to.give_pieces(&mut pieces, 1).await;
        }
        to.end().await;
    }

    /// How many pieces come, and whether these were all.
    async fn taken(mut from: Receiver<ReceiverInput>) -> (u64, bool) {
        let mut count = 0;
        loop {
            match from.recv().await {
                Some(ReceiverInput::Rows(piece)) => {
                    count += 1;
                    assert_eq!(piece.rows, count);
                }
                Some(ReceiverInput::All) => return (count, true),
                None => return (count, false),
            }
        }
    }

    #[tokio::test]
    async fn who_takes_nothing_or_has_gone_gets_no_more_and_the_others_get_all() {
        // One of them has room for everything.
        let (quick, slow, gone) = (channel(6), channel(1), channel(1));
        drop(gone.1);
        let mut to = CopyReceivers::new([slow.0, gone.0, quick.0]);
        to.patience = Duration::ZERO;
        give(&mut to, 5).await;
        drop(to);
        assert_eq!(taken(quick.1).await, (5, true));
        assert_eq!(taken(slow.1).await, (1, false));
    }
}
