//! What the replication client is told: what to stream, the bounds; and the session's settings.

use std::time::Duration;

use pgwire_replication::{FeedbackObserver, ReplicationConfig};
use plans::table::Format;

use super::{FeedbackMode, ReplicationError, StreamStart};

/// How often a confirmed position is reported at most, and how long `close` waits for that.
pub(super) const STATUS_INTERVAL: Duration = Duration::from_millis(500);

/// The same while commits wait for it.
const PROMPT_INTERVAL: Duration = Duration::from_millis(1);

/// A stream that says nothing for this long is dead: the server pings twice within it.
pub(super) const SILENCE_LIMIT: Duration = Duration::from_secs(120);

/// Messages that wait for the consumer; beyond that the server waits.
const BUFFERED_MESSAGES: usize = 512;

/// Largest message taken, which is the largest row that can be moved.
const MESSAGE_LIMIT_BYTES: usize = 512 << 20;

/// As every other session, and no timeout but the server's on us.
///
/// With our own idle reports out of the way (`with_wakeup_interval`), the server pings after half
/// of `wal_sender_timeout`; so each side notices that the other is gone.
pub(super) fn settings() -> String {
    let pinned = connect::pinned_options();
    format!("{pinned} -c wal_sender_timeout=60000 -c client_connection_check_interval=0")
}

/// For a session that does not stream. Where it leads is said once it is open; it is logged in then.
pub(super) fn session() -> ReplicationConfig {
    ReplicationConfig::new("", "", "", "", "", "").with_max_message_size(MESSAGE_LIMIT_BYTES)
}

/// For a session that is to stream. Nothing is reported before the consumer confirmed something.
pub(super) fn stream(start: &StreamStart, observer: FeedbackObserver) -> ReplicationConfig {
    let mut config = session()
        .with_start_lsn(start.start.into())
        .with_ack_lsn(pgwire_replication::Lsn::ZERO)
        .with_wakeup_interval(SILENCE_LIMIT)
        .with_buffer_size(BUFFERED_MESSAGES)
        .with_binary(start.format == Format::Binary)
        .with_feedback_observer(observer);
    config.slot = start.slot.clone();
    config.publication = start.publication.as_str().into();
    config
}

/// How long a confirmed position may wait until it is reported.
pub(super) fn status_interval(feedback: FeedbackMode) -> Duration {
    match feedback {
        FeedbackMode::Easy => STATUS_INTERVAL,
        FeedbackMode::Prompt => PROMPT_INTERVAL,
    }
}

/// Our names stand unquoted in replication commands, so they are of the plain kind.
pub(super) fn check_name(kind: &'static str, name: &str) -> Result<(), ReplicationError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let starts_well = name
        .bytes()
        .next()
        .is_some_and(|byte| !byte.is_ascii_digit());
    if starts_well && name.len() <= 63 && name.bytes().all(plain) {
        return Ok(());
    }
    Err(ReplicationError::InvalidName {
        kind,
        name: name.to_owned(),
    })
}
