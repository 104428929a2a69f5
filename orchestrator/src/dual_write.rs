//! Describes a change stream for people: capture during the copy, afterwards dual-write, synchronous or not.

use chrono::DateTime;
use plans::wire::{DualWriteState, StreamMode, StreamStatus};

/// Returns the phase of the stream: `capture` while the agent only spools its changes, afterwards `dual-write`.
pub(crate) fn phase(stream: &StreamStatus) -> &'static str {
    match stream.mode {
        StreamMode::Spooling => "capture",
        StreamMode::Draining | StreamMode::Live => "dual-write",
    }
}

/// Returns when a write is acknowledged: `synchronous`, `asynchronous`, or `degraded` with the time and the reason.
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
