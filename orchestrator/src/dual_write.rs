//! How a change stream is told to people: capture while the copy runs, dual-write from then on, and of which kind.

use chrono::DateTime;
use plans::wire::{DualWriteState, StreamMode, StreamStatus};

/// What the stream is: `capture` while its changes are only kept.
pub(crate) fn phase(stream: &StreamStatus) -> &'static str {
    match stream.mode {
        StreamMode::Spooling => "capture",
        StreamMode::Draining | StreamMode::Live => "dual-write",
    }
}

/// When a write is acknowledged: `synchronous`, `asynchronous`, or `degraded` with since when and why.
pub(crate) fn state(stream: &StreamStatus) -> String {
    match &stream.dual_write {
        DualWriteState::Asynchronous => "asynchronous".to_owned(),
        DualWriteState::Synchronous => "synchronous".to_owned(),
        DualWriteState::Degraded { since_ms, why } => {
            let since = DateTime::from_timestamp_millis(*since_ms).unwrap_or_default();
            format!(
                "degraded since {}: {why}",
                since.format("%Y-%m-%d %H:%M:%S UTC")
            )
        }
    }
}
