//! Appends captured messages; what it has announced is on disk.

use std::collections::BTreeMap;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::fs::File;
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;

use super::frame::{self, HEAD, SpoolFrame};
use super::{DurablePosition, SharedSegments, SpoolLocation, SpoolSegment};
use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;

/// A segment is closed at the first end of a transaction beyond this size.
const SEGMENT: u64 = 64 << 20;
/// So much is made durable without waiting for more.
const HEAVY: u64 = 8 << 20;
/// What is gathered is handed to the file at this size.
const GATHER: usize = 1 << 20;

/// The writing end of a spool.
#[derive(Debug)]
pub(crate) struct SpoolWriter {
    place: SpoolLocation,
    shared: Arc<SharedSegments>,
    file: File,
    number: u64,
    gathered: BytesMut,
    /// Bytes of the segment, gathered ones included.
    bytes: u64,
    /// The same, up to the end of the last whole transaction, and its position.
    whole: (u64, Lsn),
    /// Shapes of tables and types, which each segment begins with.
    shapes: BTreeMap<(u8, u32), Bytes>,
    durable: watch::Sender<DurablePosition>,
    /// A write failed: nobody knows which of the gathered bytes are in the file.
    broken: bool,
}

impl SpoolWriter {
    /// Opens a segment that goes on from `from`.
    pub(super) async fn begin(
        place: &SpoolLocation,
        shared: Arc<SharedSegments>,
        from: Lsn,
    ) -> Result<Self, StepError> {
        let what = place.what("opening");
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&place.folder)
            .at(&what)?;
        let mut number = 0;
        while place.segment(number).exists() {
            number += 1;
        }
        let file = create(place, number)?;
        let durable = DurablePosition {
            bytes: HEAD as u64,
            segment: 0,
            end: from,
        };
        let (durable, _) = watch::channel(durable);
        let mut writer = Self {
            place: place.clone(),
            shared,
            file,
            number,
            gathered: BytesMut::with_capacity(GATHER * 2),
            bytes: 0,
            whole: (HEAD as u64, from),
            shapes: BTreeMap::new(),
            durable,
            broken: false,
        };
        writer.head(from).await?;
        Ok(writer)
    }

    /// Tells readers how far the spool is durable.
    pub(crate) fn durable(&self) -> watch::Receiver<DurablePosition> {
        self.durable.subscribe()
    }

    /// Position after the last transaction that is durable.
    pub(crate) fn end(&self) -> Lsn {
        self.durable.borrow().end
    }

    /// A write has failed: this writer announces nothing more. What is on disk is found by opening the spool again.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Whether whole transactions wait to be made durable.
    pub(crate) fn waits(&self) -> bool {
        self.whole.1 > self.end()
    }

    /// Whether so much is not durable yet that it should be made so at once.
    pub(crate) fn is_heavy(&self) -> bool {
        self.waits() && self.whole.0.saturating_sub(self.durable.borrow().bytes) > HEAVY
    }

    /// Appends one message of the stream; `ends` is the position after a transaction that it completes.
    pub(crate) async fn message(
        &mut self,
        message: Bytes,
        at: Lsn,
        ends: Option<Lsn>,
    ) -> Result<(), StepError> {
        if let (Some(kind @ (b'R' | b'Y')), Some(id)) = (message.first(), message.get(1..5)) {
            let id = u32::from_be_bytes([id[0], id[1], id[2], id[3]]);
            self.shapes.insert((*kind, id), message.clone());
        }
        let frame = SpoolFrame::Message {
            at: ends.unwrap_or(at),
            ends: ends.is_some(),
            message,
        };
        self.append(&frame).await?;
        if let Some(end) = ends {
            self.whole = (self.bytes, end);
            if self.bytes >= SEGMENT {
                self.next_segment().await?;
            }
        }
        Ok(())
    }

    /// Nothing of interest lies before `until`; only between transactions.
    pub(crate) async fn idle(&mut self, until: Lsn) -> Result<(), StepError> {
        self.append(&SpoolFrame::Idle { until }).await?;
        self.whole = (self.bytes, until);
        Ok(())
    }

    /// Makes what was written durable; the position up to which it is, which may then be confirmed.
    pub(crate) async fn sync(&mut self) -> Result<Lsn, StepError> {
        self.hand_over().await?;
        let flushed = self.file.flush().await;
        self.wrote(flushed)?;
        let synced = self.file.sync_data().await;
        self.wrote(synced)?;
        let (bytes, end) = self.whole;
        self.durable.send_modify(|durable| {
            durable.bytes = bytes;
            durable.end = end;
        });
        Ok(end)
    }

    /// A new session of the stream begins: what is left of a transaction will be sent again.
    pub(crate) async fn restart(&mut self) -> Result<(), StepError> {
        if self.bytes > self.whole.0 {
            self.next_segment().await?;
        }
        Ok(())
    }

    async fn append(&mut self, frame: &SpoolFrame) -> Result<(), StepError> {
        frame::put(&mut self.gathered, frame);
        self.bytes += frame::length(frame);
        if self.gathered.len() >= GATHER {
            self.hand_over().await?;
        }
        Ok(())
    }

    async fn hand_over(&mut self) -> Result<(), StepError> {
        if self.broken {
            let what = self.place.what("writing");
            return Err(StepError::passing(
                "io",
                format!("{what}: an earlier write failed"),
            ));
        }
        if self.gathered.is_empty() {
            return Ok(());
        }
        let bytes = self.gathered.split();
        let written = self.file.write_all(&bytes).await;
        self.wrote(written)
    }

    /// What the file system says of a write; the first error ends this writer.
    fn wrote(&mut self, result: std::io::Result<()>) -> Result<(), StepError> {
        self.broken |= result.is_err();
        result.at(self.place.what("writing"))
    }

    async fn next_segment(&mut self) -> Result<(), StepError> {
        self.sync().await?;
        let (bytes, end) = self.whole;
        let cut = self.file.set_len(bytes).await;
        self.wrote(cut)?;
        let synced = self.file.sync_all().await;
        self.wrote(synced)?;
        if let Ok(mut segments) = self.shared.segments.lock()
            && let Some(last) = segments.back_mut()
        {
            last.done = Some((bytes, end));
        }
        self.number += 1;
        // Until the new segment has its head there is nothing to write to.
        self.broken = true;
        self.file = create(&self.place, self.number)?;
        self.broken = false;
        self.head(end).await
    }

    async fn head(&mut self, from: Lsn) -> Result<(), StepError> {
        let segment = SpoolSegment {
            path: self.place.segment(self.number),
            from,
            done: None,
        };
        let mut before = 0;
        if let (Ok(mut segments), Ok(removed)) =
            (self.shared.segments.lock(), self.shared.removed.lock())
        {
            before = segments.len() + *removed;
            segments.push_back(segment);
        }
        self.gathered.extend_from_slice(&frame::head(from));
        self.bytes = HEAD as u64;
        let shapes: Vec<Bytes> = self.shapes.values().cloned().collect();
        for message in shapes {
            let frame = SpoolFrame::Message {
                at: Lsn::ZERO,
                ends: false,
                message,
            };
            frame::put(&mut self.gathered, &frame);
            self.bytes += frame::length(&frame);
        }
        self.whole = (self.bytes, from);
        self.hand_over().await?;
        let flushed = self.file.flush().await;
        self.wrote(flushed)?;
        let named = sync_folder(&self.place);
        self.wrote(named)?;
        self.durable.send_modify(|durable| {
            durable.segment = before;
            durable.bytes = self.bytes;
        });
        Ok(())
    }
}

fn create(place: &SpoolLocation, number: u64) -> Result<File, StepError> {
    let file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(place.segment(number))
        .at(place.what("opening"))?;
    Ok(File::from_std(file))
}

/// The names of new files are durable too.
fn sync_folder(place: &SpoolLocation) -> std::io::Result<()> {
    std::fs::File::open(&place.folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::super::Spool;
    use super::*;
    use plans::id::{Epoch, MigrationId};
    use plans::names::Direction;

    fn full() -> File {
        let device = std::fs::OpenOptions::new().write(true).open("/dev/full");
        File::from_std(device.unwrap())
    }

    #[tokio::test]
    async fn after_a_failed_write_nothing_more_is_announced() {
        let root = std::env::temp_dir();
        let id = MigrationId(format!("full-{}", std::process::id()));
        let place = SpoolLocation::new(&root, &id, Direction::Forward, Epoch(1));
        let spool = Spool::open(place.clone()).await.unwrap();
        let mut writer = spool.writer(Lsn(100)).await.unwrap();
        let commit = Bytes::from_static(b"C");
        writer
            .message(commit.clone(), Lsn(200), Some(Lsn(200)))
            .await
            .unwrap();
        assert_eq!(writer.sync().await.unwrap(), Lsn(200));

        let file = std::mem::replace(&mut writer.file, full());
        writer
            .message(commit.clone(), Lsn(300), Some(Lsn(300)))
            .await
            .unwrap();
        writer.sync().await.unwrap_err();
        // The disk has room again, but what was handed over is lost.
        writer.file = file;
        assert!(writer.is_broken());
        writer.message(commit, Lsn(400), Some(Lsn(400))).await.ok();
        writer.sync().await.unwrap_err();
        assert_eq!(writer.end(), Lsn(200));
        drop(writer);
        let again = Spool::open(place).await.unwrap();
        assert_eq!(again.covered(), Some((Lsn(100), Lsn(200))));
        again.remove().await.unwrap();
    }
}
