//! The spool: captured changes on the agent's disk, so that the upstream shard need not retain its WAL for them.
//!
//! A stream spools while the copy runs, while the migration is paused or failed, while the downstream shard is
//! unavailable, and when the stream is far behind. Changes in the spool are durable before they are confirmed to the
//! slot (I3, ADR 15).
//!
//! A spool consists of files, the *segments*. A segment contains whole transactions, and records the position after
//! which it begins. Each epoch writes its own files, so an agent that was suspended and continues cannot damage the
//! files of the agent that has taken over. Segments of older epochs precede those of the current epoch.
//!
//! If an agent on another machine takes over, it does not have this spool. If the slot does not have the changes of
//! this spool any more, the stream has a gap; before the flip the agent then captures again.

mod frame;
mod reader;
mod recover;
mod writer;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use plans::id::{Epoch, MigrationId};
use plans::names::Direction;
use tokio::sync::watch;

use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;
pub(crate) use reader::SpoolReader;
pub(crate) use writer::SpoolWriter;

/// The folder of one stream's spool, and the epoch that writes to it.
#[derive(Debug, Clone)]
pub(crate) struct SpoolLocation {
    folder: PathBuf,
    epoch: Epoch,
    /// The epoch in which the slot was created. Segments of earlier epochs have changes of an earlier slot.
    since: Epoch,
}

impl SpoolLocation {
    /// Returns the location of a stream's spool below the agent's folder `root`.
    pub(crate) fn new(
        root: &Path,
        migration: &MigrationId,
        direction: Direction,
        epoch: Epoch,
    ) -> Self {
        Self {
            folder: root.join(format!("{migration}-{direction}")),
            epoch,
            since: Epoch(0),
        }
    }

    /// Returns the location without the segments of epochs before `since`, in which the slot was created.
    pub(crate) fn of_slot_since(self, since: Epoch) -> Self {
        Self { since, ..self }
    }

    /// Returns whether the file may have changes of the current slot.
    fn is_of_slot(&self, path: &Path) -> bool {
        let first = OsString::from(format!("{:020}-", self.since.0));
        path.file_name().is_some_and(|name| *name >= *first)
    }

    fn segment(&self, number: u64) -> PathBuf {
        self.folder.join(self.segment_name(number))
    }

    fn segment_name(&self, number: u64) -> OsString {
        format!("{:020}-{number:020}.spool", self.epoch.0).into()
    }

    /// Removes the segments of this epoch and of earlier ones, the newest first, so that the remaining segments have no
    /// gap if this is interrupted. Segments of later epochs are not removed.
    pub(crate) async fn remove(&self) -> Result<(), StepError> {
        let what = self.intent("removing");
        let last_own = self.segment_name(u64::MAX);
        let mut paths = recover::segment_paths(self).await?;
        paths.retain(|path| path.file_name().is_some_and(|name| *name <= *last_own));
        for path in paths.iter().rev() {
            ignore_not_found(tokio::fs::remove_file(path).await).at(&what)?;
        }
        match tokio::fs::remove_dir(&self.folder).await {
            Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => Ok(()),
            removed => ignore_not_found(removed).at(&what),
        }
    }

    /// Returns the description of an action on the spool, for errors.
    fn intent(&self, verb: &str) -> String {
        format!("{verb} the spool {}", self.folder.display())
    }
}

/// Treats a missing file as removed, because another process may have removed it.
fn ignore_not_found(removed: std::io::Result<()>) -> std::io::Result<()> {
    match removed {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Returns the migrations that have a spool below `root`.
pub(crate) fn migrations_with_spool(root: &Path) -> Vec<MigrationId> {
    let suffix = format!("-{}", Direction::Forward);
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter_map(|name| Some(MigrationId(name.strip_suffix(&suffix)?.to_owned())))
        .collect()
}

/// A segment on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SpoolSegment {
    path: PathBuf,
    /// The segment contains transactions that commit after this position.
    from: Lsn,
    /// The number of valid bytes, and the position after the last transaction in them; `None` while the segment is
    /// being written.
    completed: Option<(u64, Lsn)>,
}

/// How far a spool is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DurablePosition {
    /// The number of durable bytes of the segment that is being written.
    bytes: u64,
    /// The number of this segment, counted from 0 since the spool was opened.
    segment: usize,
    /// The position after the last durable transaction.
    pub(crate) end: Lsn,
}

/// The segments that the writer and the reader share.
#[derive(Debug)]
struct SharedSegments {
    segments: Mutex<VecDeque<SpoolSegment>>,
    /// The number of segments that were removed from the front since the spool was opened.
    removed: Mutex<usize>,
}

/// An open spool.
#[derive(Debug)]
pub(crate) struct Spool {
    location: SpoolLocation,
    shared: Arc<SharedSegments>,
    /// (begin, end): when the spool was opened, it contained every transaction with a commit after `begin` and up to
    /// `end`. `None` if it was empty.
    covered_range: Option<(Lsn, Lsn)>,
}

impl Spool {
    /// Opens a spool with the segments that earlier runs have left.
    ///
    /// # Errors
    /// `slot.gap` if a segment is missing between two others; an I/O error.
    pub(crate) async fn open(location: SpoolLocation) -> Result<Self, StepError> {
        let found = recover::read_segments(&location).await?;
        let covered_range = recover::covered_range(&location, &found)?;
        Ok(Self {
            location,
            shared: Arc::new(SharedSegments {
                segments: Mutex::new(found.into()),
                removed: Mutex::new(0),
            }),
            covered_range,
        })
    }

    /// Returns the positions (begin, end) between which the spool contained every transaction when it was opened.
    /// `None` if it was empty.
    pub(crate) fn covered_range(&self) -> Option<(Lsn, Lsn)> {
        self.covered_range
    }

    /// Creates a writer that continues after the position `from`, in a new segment.
    pub(crate) async fn writer(&self, from: Lsn) -> Result<SpoolWriter, StepError> {
        SpoolWriter::create(&self.location, self.shared.clone(), from).await
    }

    /// Creates a reader that reads the spool from its beginning up to the position in `durable`. The reader ends when
    /// the writer has been dropped and everything is read.
    pub(crate) fn reader(&self, durable: watch::Receiver<DurablePosition>) -> SpoolReader {
        SpoolReader::start(self.shared.clone(), durable)
    }

    /// Removes the spool. The caller has applied all of it, or does not need it.
    pub(crate) async fn remove(&self) -> Result<(), StepError> {
        self.location.remove().await
    }

    /// Removes the segments whose transactions are all applied: those that end at `applied` or before it. The newest
    /// segment stays.
    pub(crate) fn remove_applied(&self, applied: Lsn) {
        let (Ok(mut segments), Ok(mut removed)) =
            (self.shared.segments.lock(), self.shared.removed.lock())
        else {
            return;
        };
        while segments
            .front()
            .is_some_and(|first| first.completed.is_some_and(|(_, end)| end <= applied))
            && segments.len() > 1
        {
            if let Some(first) = segments.pop_front() {
                *removed += 1;
                let _ = std::fs::remove_file(first.path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_of_epochs_before_the_slot_are_not_read() {
        let id = MigrationId::from("m");
        let at =
            |epoch| SpoolLocation::new(Path::new("/spools"), &id, Direction::Forward, Epoch(epoch));
        let of_slot = at(12).of_slot_since(Epoch(9));
        for (epoch, is_read) in [(2, false), (8, false), (9, true), (12, true)] {
            let segment = at(epoch).segment(3);
            assert_eq!(of_slot.is_of_slot(&segment), is_read, "epoch {epoch}");
        }
        assert!(at(12).is_of_slot(&at(0).segment(0)), "without a known slot");
    }
}
