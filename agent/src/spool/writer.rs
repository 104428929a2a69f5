//! The writer of a spool: appends captured messages to segments, and makes complete transactions durable.

use std::collections::BTreeMap;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use plans::failure::StepCode;
use tokio::fs::File;
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;

use super::frame::{self, HEAD_BYTES, SpoolFrame};
use super::{DurablePosition, SharedSegments, SpoolLocation, SpoolSegment};
use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;

/// The writer starts the next segment at the first end of a transaction beyond this size.
const SEGMENT_BYTES: u64 = 64 << 20;
/// If more bytes than this are not durable, the caller should make them durable immediately.
const MAX_UNSYNCED_BYTES: u64 = 8 << 20;
/// The number of gathered bytes at which the writer writes them to the file.
const WRITE_BYTES: usize = 1 << 20;

/// The writer of a spool.
#[derive(Debug)]
pub(crate) struct SpoolWriter {
    location: SpoolLocation,
    shared: Arc<SharedSegments>,
    /// The file of the current segment.
    file: File,
    /// The number of the current segment among those of this epoch; a part of the file's name.
    number: u64,
    /// Frames that are not written to the file yet.
    gathered: BytesMut,
    /// The size of the current segment, including the gathered bytes.
    bytes: u64,
    /// The size of the current segment up to the end of the last complete transaction, and the position of this end.
    complete_end: (u64, Lsn),
    /// The newest Relation and Type messages, by kind and id. Each segment begins with them, so that it can be read
    /// without the earlier ones.
    relation_messages: BTreeMap<(u8, u32), Bytes>,
    durable: watch::Sender<DurablePosition>,
    /// A write has failed, so it is unknown which of the gathered bytes are in the file.
    has_failed: bool,
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
            bytes: HEAD_BYTES as u64,
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
            complete_end: (HEAD_BYTES as u64, from),
            relation_messages: BTreeMap::new(),
            durable,
            has_failed: false,
        };
        writer.begin_segment(from).await?;
        Ok(writer)
    }

    /// Returns a receiver of the position up to which the spool is durable.
    pub(crate) fn durable(&self) -> watch::Receiver<DurablePosition> {
        self.durable.subscribe()
    }

    /// Returns the position after the last durable transaction.
    pub(crate) fn durable_end(&self) -> Lsn {
        self.durable.borrow().end
    }

    /// Returns whether a write has failed. The durable position of this writer then stays the same; to continue, the
    /// caller must open the spool again, which determines what is on disk.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Returns whether there are complete transactions that are not durable yet.
    pub(crate) fn has_unsynced_transactions(&self) -> bool {
        self.complete_end.1 > self.durable_end()
    }

    /// Returns whether more than [`MAX_UNSYNCED_BYTES`] of complete transactions are not durable yet.
    pub(crate) fn should_sync(&self) -> bool {
        self.has_unsynced_transactions()
            && self
                .complete_end
                .0
                .saturating_sub(self.durable.borrow().bytes)
                > MAX_UNSYNCED_BYTES
    }

    /// Appends one message of the stream. `transaction_end` is the position after the transaction
    /// if the message completes one.
    pub(crate) async fn append_message(
        &mut self,
        message: Bytes,
        at: Lsn,
        transaction_end: Option<Lsn>,
    ) -> Result<(), StepError> {
        if let (Some(kind @ (b'R' | b'Y')), Some(id)) = (message.first(), message.get(1..5)) {
            let id = u32::from_be_bytes([id[0], id[1], id[2], id[3]]);
            self.relation_messages.insert((*kind, id), message.clone());
        }
        let frame = SpoolFrame::Message {
            at: transaction_end.unwrap_or(at),
            ends_transaction: transaction_end.is_some(),
            message,
        };
        self.append(&frame).await?;
        if let Some(end) = transaction_end {
            self.complete_end = (self.bytes, end);
            if self.bytes >= SEGMENT_BYTES {
                self.start_next_segment().await?;
            }
        }
        Ok(())
    }

    /// Records that the stream has no further change before `until`. The caller must not be inside a transaction.
    pub(crate) async fn append_idle(&mut self, until: Lsn) -> Result<(), StepError> {
        self.append(&SpoolFrame::Idle { until }).await?;
        self.complete_end = (self.bytes, until);
        Ok(())
    }

    /// Makes complete transactions durable. Returns the position up to which they are durable; it may then be
    /// confirmed.
    pub(crate) async fn sync(&mut self) -> Result<Lsn, StepError> {
        self.write_gathered().await?;
        let flushed = self.file.flush().await;
        self.check_write_result(flushed)?;
        let synced = self.file.sync_data().await;
        self.check_write_result(synced)?;
        let (bytes, end) = self.complete_end;
        self.durable.send_modify(|durable| {
            durable.bytes = bytes;
            durable.end = end;
        });
        Ok(end)
    }

    /// Discards an incomplete transaction. Called before a new replication session begins, which sends the transaction
    /// again.
    pub(crate) async fn discard_partial_transaction(&mut self) -> Result<(), StepError> {
        if self.bytes > self.complete_end.0 {
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
        if self.has_failed {
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
        self.check_write_result(written)
    }

    /// Returns the error of a write. The first error disables this writer.
    fn check_write_result(&mut self, result: std::io::Result<()>) -> Result<(), StepError> {
        self.has_failed |= result.is_err();
        result.at(self.location.intent("writing"))
    }

    /// Completes the current segment: makes it durable, and cuts its file after the last complete transaction. Then
    /// begins the next segment.
    async fn start_next_segment(&mut self) -> Result<(), StepError> {
        self.sync().await?;
        let (bytes, end) = self.complete_end;
        let cut = self.file.set_len(bytes).await;
        self.check_write_result(cut)?;
        let synced = self.file.sync_all().await;
        self.check_write_result(synced)?;
        if let Ok(mut segments) = self.shared.segments.lock()
            && let Some(last) = segments.back_mut()
        {
            last.completed = Some((bytes, end));
        }
        self.number += 1;
        // If the creation fails, this writer has no file to write to, and stays disabled.
        self.has_failed = true;
        self.file = create_file(&self.location, self.number)?;
        self.has_failed = false;
        self.begin_segment(end).await
    }

    /// Writes the head of the current segment and the Relation and Type messages, and adds the segment to the list.
    async fn begin_segment(&mut self, from: Lsn) -> Result<(), StepError> {
        let segment = SpoolSegment {
            path: self.location.segment(self.number),
            from,
            completed: None,
        };
        let mut number = 0;
        if let (Ok(mut segments), Ok(removed)) =
            (self.shared.segments.lock(), self.shared.removed.lock())
        {
            number = segments.len() + *removed;
            segments.push_back(segment);
        }
        self.gathered.extend_from_slice(&frame::encode_head(from));
        self.bytes = HEAD_BYTES as u64;
        let relation_messages: Vec<Bytes> = self.relation_messages.values().cloned().collect();
        for message in relation_messages {
            let frame = SpoolFrame::Message {
                at: Lsn::ZERO,
                ends_transaction: false,
                message,
            };
            frame::append_frame(&mut self.gathered, &frame);
            self.bytes += frame::frame_length(&frame);
        }
        self.complete_end = (self.bytes, from);
        self.write_gathered().await?;
        let flushed = self.file.flush().await;
        self.check_write_result(flushed)?;
        let synced = sync_folder(&self.location);
        self.check_write_result(synced)?;
        self.durable.send_modify(|durable| {
            durable.segment = number;
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

/// Makes the directory entries of new files durable.
fn sync_folder(location: &SpoolLocation) -> std::io::Result<()> {
    std::fs::File::open(&location.folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::super::Spool;
    use super::*;
    use plans::id::{Epoch, MigrationId};
    use plans::names::Direction;

    /// Returns a file to which every write fails, because the device is full.
    fn full_device() -> File {
        let device = std::fs::OpenOptions::new().write(true).open("/dev/full");
        File::from_std(device.unwrap())
    }

    #[tokio::test]
    async fn after_a_failed_write_the_durable_position_stays() {
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

        let file = std::mem::replace(&mut writer.file, full_device());
        writer
            .append_message(commit.clone(), Lsn(300), Some(Lsn(300)))
            .await
            .unwrap();
        writer.sync().await.unwrap_err();
        // The disk has room again, but the gathered bytes are lost.
        writer.file = file;
        assert!(writer.has_failed());
        writer
            .append_message(commit, Lsn(400), Some(Lsn(400)))
            .await
            .ok();
        writer.sync().await.unwrap_err();
        assert_eq!(writer.durable_end(), Lsn(200));
        drop(writer);
        let again = Spool::open(location).await.unwrap();
        assert_eq!(again.covered_range(), Some((Lsn(100), Lsn(200))));
        again.remove().await.unwrap();
    }
}
