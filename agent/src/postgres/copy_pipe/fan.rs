//! Distributes the rows of one COPY to several receivers. Each receiver writes its rows in a session of its own.
//!
//! The reader sends to each receiver over a channel of capacity 1, so a slow receiver delays the reader. A receiver
//! that has ended, or that accepts nothing within [`MAX_SEND_WAIT`], gets no more rows, and the reader continues for the
//! others. A receiver has all its rows once it gets [`ReceiverInput::All`]. The reader sends it after it has checked
//! everything that the receivers rely on.

use std::future::poll_fn;
use std::time::Duration;

use connect::Connected;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::time::Instant;

use super::route::{RoutedRows, RowRouter, unexpected};
use super::{CopyOutput, MAX_MESSAGE_BYTES, MIN_MESSAGE_BYTES, PipeError, start_copy};

/// How long the reader waits for a receiver that accepts nothing.
const MAX_SEND_WAIT: Duration = Duration::from_secs(10);

/// A message from the reader to a receiver.
#[derive(Debug)]
pub(crate) enum ReceiverInput {
    Rows(RoutedRows),
    /// The receiver has got all its rows.
    All,
}

/// The receivers of one COPY, by their number; `None` for a receiver that gets no more rows.
#[derive(Debug)]
pub(crate) struct CopyReceivers {
    senders: Vec<Option<Sender<ReceiverInput>>>,
    max_send_wait: Duration,
}

impl CopyReceivers {
    pub(crate) fn new(all: impl IntoIterator<Item = Sender<ReceiverInput>>) -> Self {
        Self {
            senders: all.into_iter().map(Some).collect(),
            max_send_wait: MAX_SEND_WAIT,
        }
    }

    /// Sends [`ReceiverInput::All`] to the remaining receivers.
    pub(crate) async fn end(&mut self) {
        for number in 0..self.senders.len() {
            self.send(number, ReceiverInput::All).await;
        }
    }

    /// Sends to one receiver. If it has ended or is too slow, it gets nothing more.
    async fn send(&mut self, number: usize, input: ReceiverInput) {
        let to = &mut self.senders[number];
        if let Some(sender) = to
            && sender
                .send_timeout(input, self.max_send_wait)
                .await
                .is_err()
        {
            *to = None;
        }
    }

    /// Sends the pieces that have at least `least` bytes.
    async fn send_pieces(&mut self, pieces: &mut [RoutedRows], least: usize) {
        for (number, piece) in pieces.iter_mut().enumerate() {
            if piece.filled() >= least {
                self.send(number, ReceiverInput::Rows(std::mem::take(piece)))
                    .await;
            }
        }
    }
}

/// Reads the rows of the COPY statement `out` on `source` and sends each row to the receiver whose number is in its
/// first column.
pub(crate) async fn fan_out(
    source: &mut Connected,
    out: &str,
    to: &mut CopyReceivers,
) -> Result<(), PipeError> {
    let mut rows = CopyOutput::start(source, out).await?;
    let mut router = RowRouter::default();
    let mut pieces: Vec<RoutedRows> = to.senders.iter().map(|_| RoutedRows::default()).collect();
    let mut buffer = vec![0; MAX_MESSAGE_BYTES];
    while let Some(count) = rows.read(&mut buffer).await? {
        router.route(&buffer[..count], &mut pieces)?;
        to.send_pieces(&mut pieces, MIN_MESSAGE_BYTES).await;
    }
    if !router.is_complete() {
        return Err(unexpected().into());
    }
    to.send_pieces(&mut pieces, 1).await;
    rows.end();
    Ok(())
}

/// The result of writing the rows of one receiver.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReceiveOutcome {
    /// The receiver wrote all rows: the numbers of rows and bytes.
    All(u64, u64),
    /// The reader ended before it had sent all rows. The receiver's session is closed.
    Left,
    /// The reader ended before it had sent all rows, and it had waited for this receiver for at least [`MAX_SEND_WAIT`].
    TooSlow,
}

/// Writes the rows that the reader sends into `target` by the COPY statement `into`.
///
/// The function calls `came` for each message of the reader. It calls `moved` with the numbers of rows and bytes sent
/// so far and awaits its future.
pub(crate) async fn write_received<F: Future<Output = ()>>(
    (target, into): (&mut Connected, &str),
    mut from: Receiver<ReceiverInput>,
    (came, moved): (impl Fn(), impl Fn(u64, u64) -> F),
) -> Result<ReceiveOutcome, PipeError> {
    let (mut since, mut too_slow) = (Instant::now(), false);
    let mut to = start_copy(target, into).await?;
    to.wait_until_open().await?;
    let (mut rows, mut bytes) = (0, 0);
    loop {
        too_slow |= since.elapsed() >= MAX_SEND_WAIT;
        let input = poll_fn(|cx| {
            // Processes the messages of the target first, so that its error is not delayed.
            to.process_arrived(cx)?;
            from.poll_recv(cx).map(Ok::<_, PipeError>)
        });
        let input = input.await?;
        since = Instant::now();
        came();
        match input {
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

    /// Sends a piece to each receiver, `times` times.
    async fn send_times(to: &mut CopyReceivers, times: u64) {
        for rows in 1..=times {
            let mut pieces: Vec<RoutedRows> =
                to.senders.iter().map(|_| RoutedRows::default()).collect();
            for piece in &mut pieces {
                piece.bytes.push(0);
                piece.rows = rows;
            }
            to.send_pieces(&mut pieces, 1).await;
        }
        to.end().await;
    }

    /// Returns the number of pieces that arrive, and whether `All` follows them.
    async fn received(mut from: Receiver<ReceiverInput>) -> (u64, bool) {
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
    async fn a_slow_or_ended_receiver_gets_no_more_and_the_others_get_all() {
        // This receiver's channel has room for everything.
        let (quick, slow, ended) = (channel(6), channel(1), channel(1));
        drop(ended.1);
        let mut to = CopyReceivers::new([slow.0, ended.0, quick.0]);
        to.max_send_wait = Duration::ZERO;
        send_times(&mut to, 5).await;
        drop(to);
        assert_eq!(received(quick.1).await, (5, true));
        assert_eq!(received(slow.1).await, (1, false));
    }
}
