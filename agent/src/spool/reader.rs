//! Reads a spool from its beginning, and follows its writer.

use std::io::ErrorKind::NotFound;
use std::sync::Arc;

use bytes::BytesMut;
use plans::failure::StepCode;
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::frame::{self, HEAD, SpoolFrame};
use super::{DurablePosition, SharedSegments, SpoolSegment};
use crate::error::{StepError, WithIntent};
use crate::postgres::pgoutput::decode;
use crate::postgres::replication::StreamEvent;

/// The number of events that are read ahead.
const READ_AHEAD_EVENTS: usize = 4096;
/// The number of bytes that are read at a time.
const READ_BYTES: usize = 256 << 10;

/// The reading end of a spool. Dropping it stops the reading.
#[derive(Debug)]
pub(crate) struct SpoolReader {
    events: mpsc::Receiver<Result<StreamEvent, StepError>>,
    task: JoinHandle<()>,
}

impl Drop for SpoolReader {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl SpoolReader {
    pub(super) fn start(
        shared: Arc<SharedSegments>,
        durable: watch::Receiver<DurablePosition>,
    ) -> Self {
        let (send, events) = mpsc::channel(READ_AHEAD_EVENTS);
        let task = tokio::spawn(async move {
            let mut work = ReadTask {
                shared,
                durable,
                send,
            };
            if let Err(error) = work.read_all().await {
                let _ = work.send.send(Err(error)).await;
            }
        });
        Self { events, task }
    }

    /// Returns the next event; `None` when the writer is dropped and everything is read. Cancelling the call loses no
    /// event.
    pub(crate) async fn next(&mut self) -> Option<Result<StreamEvent, StepError>> {
        self.events.recv().await
    }
}

/// The reader was dropped.
struct ReaderGone;

struct ReadTask {
    shared: Arc<SharedSegments>,
    durable: watch::Receiver<DurablePosition>,
    send: mpsc::Sender<Result<StreamEvent, StepError>>,
}

impl ReadTask {
    async fn read_all(&mut self) -> Result<(), StepError> {
        let mut number = self.first_segment();
        while let Some(segment) = self.segment(number) {
            if self.read_segment(number, &segment).await?.is_err() {
                return Ok(());
            }
            // Segments that were removed meanwhile are applied.
            number = self.first_segment().max(number + 1);
        }
        Ok(())
    }

    fn first_segment(&self) -> usize {
        self.shared.removed.lock().map_or(0, |removed| *removed)
    }

    /// Returns the segment with this number since the spool was opened; `None` if it was removed or does not exist
    /// yet.
    fn segment(&self, number: usize) -> Option<SpoolSegment> {
        let (segments, removed) = (
            self.shared.segments.lock().ok()?,
            self.shared.removed.lock().ok()?,
        );
        segments.get(number.checked_sub(*removed)?).cloned()
    }

    /// Reads one segment to its end.
    async fn read_segment(
        &mut self,
        number: usize,
        segment: &SpoolSegment,
    ) -> Result<Result<(), ReaderGone>, StepError> {
        let what = format!("reading the spool {}", segment.path.display());
        let mut file = match File::open(&segment.path).await {
            Err(error) if error.kind() == NotFound && self.segment(number).is_none() => {
                return Ok(Ok(()));
            }
            opened => opened.at(&what)?,
        };
        let mut bytes = BytesMut::with_capacity(READ_BYTES * 2);
        // The bytes that were read from the file, and those of the head that were skipped.
        let (mut read, mut head_skipped) = (0_u64, 0_u64);
        loop {
            let limit = match self.read_limit(number, segment) {
                ReadLimit::Whole(limit) if read >= limit => return Ok(Ok(())),
                ReadLimit::Whole(limit) => limit,
                ReadLimit::Removed => {
                    let length = file.metadata().await.at(&what)?.len();
                    if read >= length {
                        return Ok(Ok(()));
                    }
                    length
                }
                ReadLimit::Growing(limit) if read < limit => limit,
                ReadLimit::Growing(_) => {
                    let writer_ended = self.durable.changed().await.is_err();
                    if writer_ended && self.is_last(number, segment, read) {
                        return Ok(Ok(()));
                    }
                    continue;
                }
            };
            let room = usize::try_from(limit - read)
                .unwrap_or(READ_BYTES)
                .min(READ_BYTES);
            let mut part = vec![0; room];
            file.read_exact(&mut part).await.at(&what)?;
            bytes.extend_from_slice(&part);
            read += room as u64;
            if head_skipped == 0 && bytes.len() >= HEAD {
                let _ = bytes.split_to(HEAD);
                head_skipped = HEAD as u64;
            }
            if head_skipped > 0 && self.send_events(&mut bytes, &what).await?.is_err() {
                return Ok(Err(ReaderGone));
            }
        }
    }

    async fn send_events(
        &mut self,
        bytes: &mut BytesMut,
        what: &str,
    ) -> Result<Result<(), ReaderGone>, StepError> {
        loop {
            let frame = match frame::take_frame(bytes) {
                Ok(Some(frame)) => frame,
                Ok(None) => return Ok(Ok(())),
                Err(frame::DamagedFrame) => {
                    return Err(StepError::passing(
                        StepCode::SlotGap,
                        format!("{what}: the segment is damaged"),
                    ));
                }
            };
            let event = decode_event(frame, what)?;
            if self.send.send(Ok(event)).await.is_err() {
                return Ok(Err(ReaderGone));
            }
        }
    }

    fn read_limit(&self, number: usize, opened: &SpoolSegment) -> ReadLimit {
        let Some(now) = self.segment(number) else {
            return opened
                .completed
                .map_or(ReadLimit::Removed, |(bytes, _)| ReadLimit::Whole(bytes));
        };
        if let Some((bytes, _)) = now.completed {
            return ReadLimit::Whole(bytes);
        }
        let durable = *self.durable.borrow();
        if durable.segment == number {
            ReadLimit::Growing(durable.bytes)
        } else {
            ReadLimit::Growing(0)
        }
    }

    /// Whether everything that the dropped writer made durable is read.
    fn is_last(&self, number: usize, opened: &SpoolSegment, read: u64) -> bool {
        match self.read_limit(number, opened) {
            ReadLimit::Whole(_) | ReadLimit::Removed => false,
            ReadLimit::Growing(limit) => read >= limit,
        }
    }
}

/// The limit up to which a segment may be read.
enum ReadLimit {
    /// The segment is complete.
    Whole(u64),
    /// The segment is being written.
    Growing(u64),
    /// The segment was completed, which cut its file to its valid bytes, and then removed, since all of it is
    /// applied.
    Removed,
}

fn decode_event(frame: SpoolFrame, what: &str) -> Result<StreamEvent, StepError> {
    match frame {
        SpoolFrame::Idle { until } => Ok(StreamEvent::KeepAlive { wal_end: until }),
        SpoolFrame::Message { at, message, .. } => {
            let change = decode(message).map_err(|error| {
                StepError::refused(
                    StepCode::SpoolMessage,
                    format!("{what}: {error}"),
                    "`abort` it and plan it again",
                )
            })?;
            Ok(StreamEvent::Change {
                wal_start: at,
                wal_end: at,
                change,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use plans::id::{Epoch, MigrationId};
    use plans::names::Direction;

    use super::super::{Spool, SpoolLocation};
    use super::*;
    use crate::postgres::lsn::Lsn;

    /// More transactions than are read ahead.
    const MANY: u64 = 3 * READ_AHEAD_EVENTS as u64;

    fn begin(id: u64) -> Bytes {
        let mut message = vec![b'B'];
        message.extend_from_slice(&id.to_be_bytes());
        message.extend_from_slice(&[0; 8]);
        message.extend_from_slice(&7_u32.to_be_bytes());
        Bytes::from(message)
    }

    /// Transactions that begin at `from`, in a segment of their own.
    async fn write(location: &SpoolLocation, from: u64) {
        let spool = Spool::open(location.clone()).await.expect("open");
        let mut writer = spool.writer(Lsn(from)).await.expect("a writer");
        for at in from + 1..=from + MANY {
            let end = Lsn(at);
            writer
                .append_message(begin(at), end, Some(end))
                .await
                .expect("written");
        }
        writer.sync().await.expect("durable");
    }

    #[tokio::test]
    async fn segments_that_go_while_they_are_read_are_read_to_their_end() {
        let id = MigrationId(format!("removed-{}", std::process::id()));
        let location = SpoolLocation::new(&std::env::temp_dir(), &id, Direction::Forward, Epoch(1));
        for segment in 0..3 {
            write(&location, 1000 + segment * MANY).await;
        }
        let spool = Spool::open(location).await.expect("open");
        let writer = spool.writer(Lsn(1000 + 3 * MANY)).await.expect("a writer");
        let mut reader = spool.reader(writer.durable());
        let mut read = 0;
        while read < 3 * MANY {
            let next = tokio::time::timeout(Duration::from_secs(20), reader.next()).await;
            next.expect("in time").expect("an event").expect("whole");
            read += 1;
            // An earlier run of the stream has applied the first two segments.
            spool.remove_applied(Lsn(1000 + 2 * MANY));
            if read == 1 {
                // The first segment is being read, so it is read to its end; the second is not read at all.
                read += MANY;
            }
        }
        drop(writer);
        assert!(reader.next().await.is_none());
        spool.remove().await.expect("removed");
    }
}
