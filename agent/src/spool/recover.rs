//! Finds the segments that earlier runs have left, and determines how much of each is valid.

use std::path::{Path, PathBuf};

use bytes::BytesMut;
use plans::failure::StepCode;
use tokio::io::AsyncReadExt;

use super::frame::{self, HEAD_BYTES, SpoolFrame};
use super::{SpoolLocation, SpoolSegment};
use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;

/// The number of bytes for one read of a file.
const READ_BYTES: usize = 1 << 20;

/// Returns the files of the segments in the order in which they were written.
pub(super) async fn segment_paths(location: &SpoolLocation) -> Result<Vec<PathBuf>, StepError> {
    let what = location.intent("reading");
    let mut entries = match tokio::fs::read_dir(&location.folder).await {
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

/// Returns the segments in the order in which they were written.
pub(super) async fn read_segments(
    location: &SpoolLocation,
) -> Result<Vec<SpoolSegment>, StepError> {
    let what = location.intent("reading");
    let mut found = Vec::new();
    let mut paths = segment_paths(location).await?;
    paths.retain(|path| location.is_of_slot(path));
    for path in paths {
        if let Some(segment) = measure_segment(&path).await.at(&what)? {
            found.push(segment);
        }
    }
    Ok(found)
}

/// Returns the positions between which the segments contain every transaction; `None` if there is no segment.
///
/// # Errors
/// `slot.gap` if a segment is missing between two others.
pub(super) fn covered_range(
    location: &SpoolLocation,
    segments: &[SpoolSegment],
) -> Result<Option<(Lsn, Lsn)>, StepError> {
    let Some(first) = segments.first() else {
        return Ok(None);
    };
    let mut end = first.from;
    for segment in segments {
        if segment.from > end {
            return Err(StepError::passing(
                StepCode::SlotGap,
                format!(
                    "{}: a segment between {end} and {} is missing",
                    location.intent("reading"),
                    segment.from
                ),
            ));
        }
        end = end.max(segment.completed.map_or(segment.from, |(_, end)| end));
    }
    Ok(Some((first.from, end)))
}

/// Reads a segment, and determines how much of it is valid: all frames up to the end of the last complete transaction.
/// Returns `None` for a file without a complete head; nothing of such a file was confirmed.
async fn measure_segment(path: &Path) -> std::io::Result<Option<SpoolSegment>> {
    let mut file = tokio::fs::File::open(path).await?;
    let mut bytes = BytesMut::with_capacity(READ_BYTES);
    while bytes.len() < HEAD_BYTES {
        if file.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
    let Some(from) = frame::read_head(&bytes[..HEAD_BYTES]) else {
        return Ok(None);
    };
    let _ = bytes.split_to(HEAD_BYTES);
    let (mut offset, mut completed) = (HEAD_BYTES as u64, (HEAD_BYTES as u64, from));
    loop {
        match frame::take_frame(&mut bytes) {
            Ok(Some(frame)) => {
                offset += frame::frame_length(&frame);
                match frame {
                    SpoolFrame::Message {
                        at: end,
                        ends_transaction: true,
                        ..
                    }
                    | SpoolFrame::Idle { until: end } => completed = (offset, end.max(completed.1)),
                    SpoolFrame::Message {
                        ends_transaction: false,
                        ..
                    } => {}
                }
            }
            // The rest was not durable, so it was not confirmed.
            Err(frame::DamagedFrame) => break,
            Ok(None) => {
                bytes.reserve(READ_BYTES);
                if file.read_buf(&mut bytes).await? == 0 {
                    break;
                }
            }
        }
    }
    Ok(Some(SpoolSegment {
        path: path.to_owned(),
        from,
        completed: Some(completed),
    }))
}
