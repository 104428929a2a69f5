//! Reads a spool from its beginning, up to what its writer has made durable.

use std::io::ErrorKind::NotFound;
use std::sync::Arc;

use bytes::BytesMut;
use plans::failure::StepCode;
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::frame::{self, HEAD_BYTES, SpoolFrame};
use super::{DurablePosition, SharedSegments, SpoolSegment};
use crate::error::{StepError, WithIntent};
use crate::postgres::pgoutput::decode;
use crate::postgres::replication::StreamEvent;

/// The maximum number of events that the reader keeps in memory for the stream.
const READ_AHEAD_EVENTS: usize = 4096;
/// The maximum number of bytes in one read of a file.
const READ_BYTES: usize = 256 << 10;

/// The reader of a spool. When this value is dropped, the reading ends.
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
            let mut work = ReaderTask {
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

    /// Returns the next event; `None` when the writer has been dropped and everything is read. If the call is
    /// cancelled, no event is lost.
    pub(crate) async fn next(&mut self) -> Option<Result<StreamEvent, StepError>> {
        self.events.recv().await
    }
}

/// The result of a read whose [`SpoolReader`] has been dropped.
struct ReaderDropped;

/// The task that reads files and sends their events to the [`SpoolReader`].
struct ReaderTask {
    shared: Arc<SharedSegments>,
    durable: watch::Receiver<DurablePosition>,
    send: mpsc::Sender<Result<StreamEvent, StepError>>,
}

impl ReaderTask {
    async fn read_all(&mut self) -> Result<(), StepError> {
        let mut number = self.first_segment_number();
        while let Some(segment) = self.segment(number) {
            if self.read_segment(number, &segment).await?.is_err() {
                return Ok(());
            }
            // Segments that were removed meanwhile are skipped: all of their changes are applied.
            number = self.first_segment_number().max(number + 1);
        }
        Ok(())
    }

    fn first_segment_number(&self) -> usize {
        self.shared.removed.lock().map_or(0, |removed| *removed)
    }

    /// Returns the segment with this number, counted since the spool was opened. `None` if it was removed or does not
    /// exist yet.
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
    ) -> Result<Result<(), ReaderDropped>, StepError> {
        let what = format!("reading the spool {}", segment.path.display());
        let mut file = match File::open(&segment.path).await {
            Err(error) if error.kind() == NotFound && self.segment(number).is_none() => {
                return Ok(Ok(()));
            }
            opened => opened.at(&what)?,
        };
        let mut bytes = BytesMut::with_capacity(READ_BYTES * 2);
        let (mut bytes_read, mut is_head_skipped) = (0_u64, false);
        loop {
            let limit = match self.read_limit(number, segment) {
                ReadLimit::Complete(limit) if bytes_read >= limit => return Ok(Ok(())),
                ReadLimit::Complete(limit) => limit,
                ReadLimit::Removed => {
                    let length = file.metadata().await.at(&what)?.len();
                    if bytes_read >= length {
                        return Ok(Ok(()));
                    }
                    length
                }
                ReadLimit::Growing(limit) if bytes_read < limit => limit,
                ReadLimit::Growing(_) => {
                    let writer_ended = self.durable.changed().await.is_err();
                    if writer_ended && self.is_read_to_end(number, segment, bytes_read) {
                        return Ok(Ok(()));
                    }
                    continue;
                }
            };
            let length = usize::try_from(limit - bytes_read)
                .unwrap_or(READ_BYTES)
                .min(READ_BYTES);
            let mut part = vec![0; length];
            file.read_exact(&mut part).await.at(&what)?;
            bytes.extend_from_slice(&part);
            bytes_read += length as u64;
            if !is_head_skipped && bytes.len() >= HEAD_BYTES {
                let _ = bytes.split_to(HEAD_BYTES);
                is_head_skipped = true;
            }
            if is_head_skipped && self.send_events(&mut bytes, &what).await?.is_err() {
                return Ok(Err(ReaderDropped));
            }
        }
    }

    /// Sends the complete frames of `bytes` as events, and removes them from `bytes`.
    async fn send_events(
        &mut self,
        bytes: &mut BytesMut,
        what: &str,
    ) -> Result<Result<(), ReaderDropped>, StepError> {
        loop {
            let frame = match frame::take_frame(bytes) {
                Ok(Some(frame)) => frame,
                Ok(None) => return Ok(Ok(())),
                Err(frame::DamagedFrame) => {
                    return Err(StepError::passing(
                        StepCode::SlotGap,
                        format!("{what}: the file is damaged"),
                    ));
                }
            };
            let event = decode_event(frame, what)?;
            if self.send.send(Ok(event)).await.is_err() {
                return Ok(Err(ReaderDropped));
            }
        }
    }

    /// Returns up to which byte the segment may be read now. `opened` is the segment as it was when its file was
    /// opened.
    fn read_limit(&self, number: usize, opened: &SpoolSegment) -> ReadLimit {
        let Some(current) = self.segment(number) else {
            return opened
                .completed
                .map_or(ReadLimit::Removed, |(bytes, _)| ReadLimit::Complete(bytes));
        };
        if let Some((bytes, _)) = current.completed {
            return ReadLimit::Complete(bytes);
        }
        let durable = *self.durable.borrow();
        if durable.segment == number {
            ReadLimit::Growing(durable.bytes)
        } else {
            ReadLimit::Growing(0)
        }
    }

    /// Returns whether everything that the dropped writer has made durable in this segment is read.
    fn is_read_to_end(&self, number: usize, opened: &SpoolSegment, bytes_read: u64) -> bool {
        match self.read_limit(number, opened) {
            ReadLimit::Complete(_) | ReadLimit::Removed => false,
            ReadLimit::Growing(limit) => bytes_read >= limit,
        }
    }
}

/// The byte up to which a segment may be read.
enum ReadLimit {
    /// The segment is complete, and has this size.
    Complete(u64),
    /// The segment is being written, and is durable up to this byte.
    Growing(u64),
    /// The segment was completed and then removed, because all of it is applied. Its open file can still be read to the
    /// end: the completion has cut it to its valid bytes.
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
                    "`abort` the migration and plan it again",
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

    /// The number of transactions in a segment: more than the reader keeps in memory.
    const MANY: u64 = 3 * READ_AHEAD_EVENTS as u64;

    fn begin(id: u64) -> Bytes {
        let mut message = vec![b'B'];
        message.extend_from_slice(&id.to_be_bytes());
        message.extend_from_slice(&[0; 8]);
        message.extend_from_slice(&7_u32.to_be_bytes());
        Bytes::from(message)
    }

    /// Writes a segment with [`MANY`] transactions after the position `from`.
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
    async fn a_segment_that_is_removed_while_it_is_read_is_read_to_its_end() {
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
            next.expect("in time").expect("an event").expect("no error");
            read += 1;
            // The first two segments are removed, as if the stream had applied them.
            spool.remove_applied(Lsn(1000 + 2 * MANY));
            if read == 1 {
                // The reader has opened the first segment, so it reads it to its end. It skips the second one.
                read += MANY;
            }
        }
        drop(writer);
        assert!(reader.next().await.is_none());
        spool.remove().await.expect("removed");
    }
}
