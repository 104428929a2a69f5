//! The spool: captured changes on the agent's disk, so that the source need not keep its log for them.
//!
//! A stream spools while the copy runs, while the other shard is away, and when it falls far behind.
//! What is in the spool is durable before it is confirmed to the slot (I3, ADR 15). Order: segments of older
//! epochs, then our own; a segment ends with a whole transaction and names the position it goes on from.
//! Each epoch writes files of its own, so that a process that was stopped for a while disturbs nobody.
//! A spool that is not there (another machine) is a gap: before the flip the copy then begins again.

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

/// Where one stream's spool lies, and who writes it.
#[derive(Debug, Clone)]
pub(crate) struct SpoolLocation {
    folder: PathBuf,
    epoch: Epoch,
}

impl SpoolLocation {
    /// The spool of a stream below the agent's folder `root`.
    pub(crate) fn new(
        root: &Path,
        migration: &MigrationId,
        direction: Direction,
        epoch: Epoch,
    ) -> Self {
        Self {
            folder: root.join(format!("{migration}-{direction}")),
            epoch,
        }
    }

    fn segment(&self, number: u64) -> PathBuf {
        self.folder.join(self.segment_name(number))
    }

    fn segment_name(&self, number: u64) -> OsString {
        format!("{:020}-{number:020}.spool", self.epoch.0).into()
    }

    /// Removes what this epoch and earlier ones have written, the newest first: what an interruption leaves is a
    /// beginning without a gap. What a successor has written by now is his.
    pub(crate) async fn remove(&self) -> Result<(), StepError> {
        let what = self.what("removing");
        let own = self.segment_name(u64::MAX);
        let mut paths = recover::paths(self).await?;
        paths.retain(|path| path.file_name().is_some_and(|name| *name <= *own));
        for path in paths.iter().rev() {
            gone(tokio::fs::remove_file(path).await).at(&what)?;
        }
        match tokio::fs::remove_dir(&self.folder).await {
            Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => Ok(()),
            removed => gone(removed).at(&what),
        }
    }

    fn what(&self, verb: &str) -> String {
        format!("{verb} the spool {}", self.folder.display())
    }
}

/// Somebody else may have removed it.
fn gone(removed: std::io::Result<()>) -> std::io::Result<()> {
    match removed {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// The migrations that have a spool below `root`.
pub(crate) fn owners(root: &Path) -> Vec<MigrationId> {
    let end = format!("-{}", Direction::Forward);
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter_map(|name| Some(MigrationId(name.strip_suffix(&end)?.to_owned())))
        .collect()
}

/// A segment on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SpoolSegment {
    path: PathBuf,
    /// It holds what commits after this position.
    from: Lsn,
    /// Its valid bytes and where they end; `None`: it is being written.
    done: Option<(u64, Lsn)>,
}

/// How far a spool is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DurablePosition {
    /// Bytes of the segment that is being written.
    bytes: u64,
    /// Number of segments before it since the spool was opened.
    segment: usize,
    /// Position after the last transaction in it.
    pub(crate) end: Lsn,
}

/// What writer and reader share.
#[derive(Debug)]
struct SharedSegments {
    segments: Mutex<VecDeque<SpoolSegment>>,
    /// Segments that were removed from the front.
    removed: Mutex<usize>,
}

/// An open spool.
#[derive(Debug)]
pub(crate) struct Spool {
    place: SpoolLocation,
    shared: Arc<SharedSegments>,
    /// It holds what commits after `begin`, up to `end`; `None` while it is empty.
    covered: Option<(Lsn, Lsn)>,
}

impl Spool {
    /// Finds what earlier runs have left.
    ///
    /// # Errors
    /// `slot.gap` when segments are missing in between; what the file system says.
    pub(crate) async fn open(place: SpoolLocation) -> Result<Self, StepError> {
        let found = recover::segments(&place).await?;
        let covered = recover::covered(&place, &found)?;
        Ok(Self {
            place,
            shared: Arc::new(SharedSegments {
                segments: Mutex::new(found.into()),
                removed: Mutex::new(0),
            }),
            covered,
        })
    }

    /// Between which positions it holds everything; `None` while it is empty.
    pub(crate) fn covered(&self) -> Option<(Lsn, Lsn)> {
        self.covered
    }

    /// Goes on writing from `from`, in a segment of our own.
    pub(crate) async fn writer(&self, from: Lsn) -> Result<SpoolWriter, StepError> {
        SpoolWriter::begin(&self.place, self.shared.clone(), from).await
    }

    /// Reads it from its beginning; follows `durable` until its sender is gone.
    pub(crate) fn reader(&self, durable: watch::Receiver<DurablePosition>) -> SpoolReader {
        SpoolReader::start(self.shared.clone(), durable)
    }

    /// Removes it: everything in it is applied.
    pub(crate) async fn remove(&self) -> Result<(), StepError> {
        self.place.remove().await
    }

    /// Removes segments whose every transaction is applied on the other shard.
    pub(crate) fn applied(&self, until: Lsn) {
        let (Ok(mut segments), Ok(mut removed)) =
            (self.shared.segments.lock(), self.shared.removed.lock())
        else {
            return;
        };
        while segments
            .front()
            .is_some_and(|first| first.done.is_some_and(|(_, end)| end <= until))
            && segments.len() > 1
        {
            if let Some(first) = segments.pop_front() {
                *removed += 1;
                let _ = std::fs::remove_file(first.path);
            }
        }
    }
}
