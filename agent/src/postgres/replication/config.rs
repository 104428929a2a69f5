//! Settings and time limits of replication sessions.

use std::time::Duration;

use super::{FeedbackMode, ReplicationError};

/// Minimum time between two reports of a confirmed position. While changes arrive or wait for the consumer, the
/// agent repeats the last report after this time.
pub(super) const STATUS_INTERVAL: Duration = Duration::from_millis(500);

/// Minimum time between two reports while commits wait for them.
const PROMPT_INTERVAL: Duration = Duration::from_millis(1);

/// A stream without a message for this long has failed: the server sends two keepalives within this time. After the
/// same time without a report, the agent sends one.
pub(super) const SILENCE_LIMIT: Duration = Duration::from_secs(120);

/// Returns the settings of a replication session: those of every session of the agent, with `wal_sender_timeout` as the
/// only time limit of the server.
///
/// The agent sends no status reports while the stream is idle, so the server requests one after half of
/// `wal_sender_timeout`. By this exchange each side detects a failure of the other one.
pub(super) fn settings() -> String {
    let pinned = connect::pinned_options();
    format!("{pinned} -c wal_sender_timeout=60000 -c client_connection_check_interval=0")
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
