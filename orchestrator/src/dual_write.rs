//! Describes a change stream for people: capture during the copy, afterwards dual-write, synchronous or not.

use chrono::DateTime;
use plans::names::Direction;
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

/// Describes in plain words what happens to the changes of the shard from which the stream comes.
pub(crate) fn in_plain_words(stream: &StreamStatus) -> String {
    let (upstream, downstream) = match stream.direction {
        Direction::Forward => ("source", "target"),
        Direction::Reverse => ("target", "source"),
    };
    match (stream.mode, &stream.dual_write) {
        (StreamMode::Spooling, _) => format!(
            "Changes of the {upstream} are captured while rows are copied, and applied on the {downstream} afterwards."
        ),
        (_, DualWriteState::Asynchronous) => format!(
            "Changes of the {upstream} are applied on the {downstream}, with a lag. Commits do not wait for it."
        ),
        (_, DualWriteState::Synchronous) => format!(
            "Changes of the {upstream} are applied on the {downstream}. A commit is acknowledged when both shards have it."
        ),
        (_, DualWriteState::Degraded { .. }) => format!(
            "Changes of the {upstream} are applied on the {downstream}, with a lag. Commits do not wait for it at the moment, although the plan says so."
        ),
    }
}
