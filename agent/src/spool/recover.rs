//! Finds the segments that earlier runs have left, and how much of each is whole.

use std::path::{Path, PathBuf};

use bytes::BytesMut;
use tokio::io::AsyncReadExt;

use super::frame::{self, HEAD, SpoolFrame};
use super::{SpoolLocation, SpoolSegment};
use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;
use crate::postgres::replication::SLOT_GAP;

/// Bytes that are read at a time.
const STEP: usize = 1 << 20;

/// The files of segments in the order in which they were written.
pub(super) async fn paths(place: &SpoolLocation) -> Result<Vec<PathBuf>, StepError> {
    let what = place.what("reading");
    let mut entries = match tokio::fs::read_dir(&place.folder).await {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.at(&what)?,
    };
    let mut paths = Vec::new();
    while let Some(entry) = entries.next_entry().await.at(&what)? {
        let path = entry.path();
        if path.extension().is_some_and(|end| end == "spool") {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

/// Segments in the order in which they were written.
pub(super) async fn segments(place: &SpoolLocation) -> Result<Vec<SpoolSegment>, StepError> {
    let what = place.what("reading");
    let mut found = Vec::new();
    for path in paths(place).await? {
        if let Some(segment) = measure(&path).await.at(&what)? {
            found.push(segment);
        }
    }
    Ok(found)
}

/// Between which positions the segments hold everything.
pub(super) fn covered(
    place: &SpoolLocation,
    segments: &[SpoolSegment],
) -> Result<Option<(Lsn, Lsn)>, StepError> {
    let Some(first) = segments.first() else {
        return Ok(None);
    };
    let mut end = first.from;
    for segment in segments {
        if segment.from > end {
            return Err(StepError::passing(
                SLOT_GAP,
                format!(
                    "{}: nothing is there between {end} and {}",
                    place.what("reading"),
                    segment.from
                ),
            ));
        }
        end = end.max(segment.done.map_or(segment.from, |(_, end)| end));
    }
    Ok(Some((first.from, end)))
}

/// How far a segment reaches; `None` for a file without a head, in which nothing was confirmed yet.
async fn measure(path: &Path) -> std::io::Result<Option<SpoolSegment>> {
    let mut file = tokio::fs::File::open(path).await?;
    let mut bytes = BytesMut::with_capacity(STEP);
    while bytes.len() < HEAD {
        if file.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
    let Some(from) = frame::read_head(&bytes[..HEAD]) else {
        return Ok(None);
    };
    let _ = bytes.split_to(HEAD);
    let (mut at, mut done) = (HEAD as u64, (HEAD as u64, from));
    loop {
        match frame::take(&mut bytes) {
            Ok(Some(whole)) => {
                at += frame::length(&whole);
                match whole {
                    SpoolFrame::Message {
                        at: end,
                        ends: true,
                        ..
                    }
                    | SpoolFrame::Idle { until: end } => done = (at, end.max(done.1)),
                    SpoolFrame::Message { ends: false, .. } => {}
                }
            }
            // What follows was not durable, hence not confirmed.
            Err(frame::DamagedFrame) => break,
            Ok(None) => {
                bytes.reserve(STEP);
                if file.read_buf(&mut bytes).await? == 0 {
                    break;
                }
            }
        }
    }
    Ok(Some(SpoolSegment {
        path: path.to_owned(),
        from,
        done: Some(done),
    }))
}
