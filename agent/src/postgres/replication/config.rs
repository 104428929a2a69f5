//! Configuration of the replication client, and settings of the session.

use std::time::Duration;

use pgwire_replication::{FeedbackObserver, ReplicationConfig};
use plans::table::Format;

use super::{FeedbackMode, ReplicationError, StreamStart};

/// Minimum time between two reports of a confirmed position, and the base of the time limit of `close`.
pub(super) const STATUS_INTERVAL: Duration = Duration::from_millis(500);

/// Minimum time between two reports while commits wait for them.
const PROMPT_INTERVAL: Duration = Duration::from_millis(1);

/// A stream without a message for this long has failed: the server sends two keepalives within this time.
pub(super) const SILENCE_LIMIT: Duration = Duration::from_secs(120);

/// Maximum number of messages that wait for the consumer. When this is reached, the server waits.
const BUFFERED_MESSAGES: usize = 512;

/// Maximum size of a message in bytes, and so of a row that can be moved.
const MESSAGE_LIMIT_BYTES: usize = 512 << 20;

/// Returns the settings of a replication session: those of every session of the agent, with `wal_sender_timeout` as the
/// only time limit of the server.
///
/// The client sends no status reports while it is idle (`with_wakeup_interval`), so the server requests one after half
/// of `wal_sender_timeout`. By this exchange each side detects a failure of the other one.
pub(super) fn settings() -> String {
    let pinned = connect::pinned_options();
    format!("{pinned} -c wal_sender_timeout=60000 -c client_connection_check_interval=0")
}

/// Returns the configuration of a session that does not stream. It has no address, because the caller connects and logs
/// in later.
pub(super) fn session() -> ReplicationConfig {
    ReplicationConfig::new("", "", "", "", "", "").with_max_message_size(MESSAGE_LIMIT_BYTES)
}

/// Returns the configuration of a session that streams. The client reports nothing before the consumer confirms a
/// position.
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

/// Returns the maximum time before a confirmed position is reported.
pub(super) fn status_interval(feedback: FeedbackMode) -> Duration {
    match feedback {
        FeedbackMode::Easy => STATUS_INTERVAL,
        FeedbackMode::Prompt => PROMPT_INTERVAL,
    }
}

/// Checks that a name needs no quotes, because the agent does not quote names in replication commands.
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
