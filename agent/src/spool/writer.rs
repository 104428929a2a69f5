//! Appends captured messages. A position that the writer has announced is durable.

use std::collections::BTreeMap;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use plans::failure::StepCode;
use tokio::fs::File;
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;

use super::frame::{self, HEAD, SpoolFrame};
use super::{DurablePosition, SharedSegments, SpoolLocation, SpoolSegment};
use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;

/// A segment is closed at the first end of a transaction beyond this size.
const SEGMENT_BYTES: u64 = 64 << 20;
/// More bytes than this are made durable without a wait for more changes.
const MAX_UNSYNCED_BYTES: u64 = 8 << 20;
/// Gathered bytes are written to the file at this size.
const WRITE_BYTES: usize = 1 << 20;

/// The writing end of a spool.
#[derive(Debug)]
pub(crate) struct SpoolWriter {
    location: SpoolLocation,
    shared: Arc<SharedSegments>,
    file: File,
    number: u64,
    gathered: BytesMut,
    /// The size of the segment, with the gathered bytes.
    bytes: u64,
    /// The size of the segment up to the end of the last complete transaction, and the position of that end.
    complete: (u64, Lsn),
    /// The Relation and Type messages with which each segment begins.
    shapes: BTreeMap<(u8, u32), Bytes>,
    durable: watch::Sender<DurablePosition>,
    /// A write has failed: it is unknown which of the gathered bytes are in the file.
    broken: bool,
}

impl SpoolWriter {
    /// Creates a writer with a new segment that begins after `from`.
    pub(super) async fn create(
        location: &SpoolLocation,
        shared: Arc<SharedSegments>,
        from: Lsn,
    ) -> Result<Self, StepError> {
        let what = location.intent("opening");
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&location.folder)
            .at(&what)?;
        let mut number = 0;
        while location.segment(number).exists() {
            number += 1;
        }
        let file = create_file(location, number)?;
        let durable = DurablePosition {
            bytes: HEAD as u64,
            segment: 0,
            end: from,
        };
        let (durable, _) = watch::channel(durable);
        let mut writer = Self {
            location: location.clone(),
            shared,
            file,
            number,
            gathered: BytesMut::with_capacity(WRITE_BYTES * 2),
            bytes: 0,
            complete: (HEAD as u64, from),
            shapes: BTreeMap::new(),
            durable,
            broken: false,
        };
        writer.begin_segment(from).await?;
        Ok(writer)
    }

    /// Returns the channel by which readers learn up to which position the spool is durable.
    pub(crate) fn durable(&self) -> watch::Receiver<DurablePosition> {
        self.durable.subscribe()
    }

    /// Returns the position after the last durable transaction.
    pub(crate) fn end(&self) -> Lsn {
        self.durable.borrow().end
    }

    /// Whether a write has failed: this writer announces nothing more. Opening the spool again determines what is on
    /// disk.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Whether complete transactions are not durable yet.
    pub(crate) fn has_unsynced(&self) -> bool {
        self.complete.1 > self.end()
    }

    /// Whether so many bytes are not durable yet that they should be made durable now.
    pub(crate) fn should_sync(&self) -> bool {
        self.has_unsynced()
            && self.complete.0.saturating_sub(self.durable.borrow().bytes) > MAX_UNSYNCED_BYTES
    }

    /// Appends one message of the stream. `ends` is the position after the transaction if the message completes one.
    pub(crate) async fn append_message(
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
            self.complete = (self.bytes, end);
            if self.bytes >= SEGMENT_BYTES {
                self.start_next_segment().await?;
            }
        }
        Ok(())
    }

    /// Records that there is no change before `until`. The caller must not be inside a transaction.
    pub(crate) async fn append_idle(&mut self, until: Lsn) -> Result<(), StepError> {
        self.append(&SpoolFrame::Idle { until }).await?;
        self.complete = (self.bytes, until);
        Ok(())
    }

    /// Makes complete transactions durable. Returns the position up to which they are, which may then be confirmed.
    pub(crate) async fn sync(&mut self) -> Result<Lsn, StepError> {
        self.write_gathered().await?;
        let flushed = self.file.flush().await;
        self.check_written(flushed)?;
        let synced = self.file.sync_data().await;
        self.check_written(synced)?;
        let (bytes, end) = self.complete;
        self.durable.send_modify(|durable| {
            durable.bytes = bytes;
            durable.end = end;
        });
        Ok(end)
    }

    /// Discards an incomplete transaction, because a new session of the stream begins, which sends it again.
    pub(crate) async fn discard_partial_transaction(&mut self) -> Result<(), StepError> {
        if self.bytes > self.complete.0 {
            self.start_next_segment().await?;
        }
        Ok(())
    }

    async fn append(&mut self, frame: &SpoolFrame) -> Result<(), StepError> {
        frame::append_frame(&mut self.gathered, frame);
        self.bytes += frame::frame_length(frame);
        if self.gathered.len() >= WRITE_BYTES {
            self.write_gathered().await?;
        }
        Ok(())
    }

    async fn write_gathered(&mut self) -> Result<(), StepError> {
        if self.broken {
            let what = self.location.intent("writing");
            return Err(StepError::passing(
                StepCode::Io,
                format!("{what}: an earlier write failed"),
            ));
        }
        if self.gathered.is_empty() {
            return Ok(());
        }
        let bytes = self.gathered.split();
        let written = self.file.write_all(&bytes).await;
        self.check_written(written)
    }

    /// Checks the result of a write; the first error disables this writer.
    fn check_written(&mut self, result: std::io::Result<()>) -> Result<(), StepError> {
        self.broken |= result.is_err();
        result.at(self.location.intent("writing"))
    }

    async fn start_next_segment(&mut self) -> Result<(), StepError> {
        self.sync().await?;
        let (bytes, end) = self.complete;
        let cut = self.file.set_len(bytes).await;
        self.check_written(cut)?;
        let synced = self.file.sync_all().await;
        self.check_written(synced)?;
        if let Ok(mut segments) = self.shared.segments.lock()
            && let Some(last) = segments.back_mut()
        {
            last.completed = Some((bytes, end));
        }
        self.number += 1;
        // Until the new segment has its head there is no file to write to.
        self.broken = true;
        self.file = create_file(&self.location, self.number)?;
        self.broken = false;
        self.begin_segment(end).await
    }

    async fn begin_segment(&mut self, from: Lsn) -> Result<(), StepError> {
        let segment = SpoolSegment {
            path: self.location.segment(self.number),
            from,
            completed: None,
        };
        let mut before = 0;
        if let (Ok(mut segments), Ok(removed)) =
            (self.shared.segments.lock(), self.shared.removed.lock())
        {
            before = segments.len() + *removed;
            segments.push_back(segment);
        }
        self.gathered.extend_from_slice(&frame::encode_head(from));
        self.bytes = HEAD as u64;
        let shapes: Vec<Bytes> = self.shapes.values().cloned().collect();
        for message in shapes {
            let frame = SpoolFrame::Message {
                at: Lsn::ZERO,
                ends: false,
                message,
            };
            frame::append_frame(&mut self.gathered, &frame);
            self.bytes += frame::frame_length(&frame);
        }
        self.complete = (self.bytes, from);
        self.write_gathered().await?;
        let flushed = self.file.flush().await;
        self.check_written(flushed)?;
        let named = sync_folder(&self.location);
        self.check_written(named)?;
        self.durable.send_modify(|durable| {
            durable.segment = before;
            durable.bytes = self.bytes;
        });
        Ok(())
    }
}

fn create_file(location: &SpoolLocation, number: u64) -> Result<File, StepError> {
    let file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(location.segment(number))
        .at(location.intent("opening"))?;
    Ok(File::from_std(file))
}

/// Makes the names of new files durable.
fn sync_folder(location: &SpoolLocation) -> std::io::Result<()> {
    std::fs::File::open(&location.folder)?.sync_all()
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
        let location = SpoolLocation::new(&root, &id, Direction::Forward, Epoch(1));
        let spool = Spool::open(location.clone()).await.unwrap();
        let mut writer = spool.writer(Lsn(100)).await.unwrap();
        let commit = Bytes::from_static(b"C");
        writer
            .append_message(commit.clone(), Lsn(200), Some(Lsn(200)))
            .await
            .unwrap();
        assert_eq!(writer.sync().await.unwrap(), Lsn(200));

        let file = std::mem::replace(&mut writer.file, full());
        writer
            .append_message(commit.clone(), Lsn(300), Some(Lsn(300)))
            .await
            .unwrap();
        writer.sync().await.unwrap_err();
        // The disk has room again, but the gathered bytes are lost.
        writer.file = file;
        assert!(writer.is_broken());
        writer
            .append_message(commit, Lsn(400), Some(Lsn(400)))
            .await
            .ok();
        writer.sync().await.unwrap_err();
        assert_eq!(writer.end(), Lsn(200));
        drop(writer);
        let again = Spool::open(location).await.unwrap();
        assert_eq!(again.covered(), Some((Lsn(100), Lsn(200))));
        again.remove().await.unwrap();
    }
}
