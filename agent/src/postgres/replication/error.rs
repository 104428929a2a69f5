//! Errors of replication sessions, and whether a retry can succeed.

use std::fmt::Display;
use std::io;
use std::time::Duration;

use connect::{Class, ConnectError, Refusal, classify, classify_io};
use plans::failure::{Failure, StepCode};

use super::SystemIdentity;
use crate::error::{StepError, WithIntent, message_with_causes, retry_of};
use crate::postgres::lsn::Lsn;
use crate::postgres::pgoutput::DecodeError;

/// The reason why a replication session failed; `server` is `host:port/dbname`.
#[derive(Debug, thiserror::Error)]
pub enum ReplicationError {
    /// The connection string could not be resolved, or an SQL session could not be opened.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A name that needs quotes in a replication command.
    #[error("{kind} name {name:?} is not plain")]
    InvalidName {
        /// The kind of object that it names.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// The server did not answer in time.
    #[error("could not open a replication session on {server} within {after:?}")]
    Timeout {
        /// The server.
        server: String,
        /// The time limit.
        after: Duration,
    },
    /// A slot of that name exists.
    #[error("replication slot {slot} on {server} existed already")]
    SlotExists {
        /// The server.
        server: String,
        /// The slot.
        slot: String,
    },
    /// Another session reads from the slot.
    #[error("replication slot {slot} on {server} was in use by process {pid:?}")]
    SlotBusy {
        /// The server.
        server: String,
        /// The slot.
        slot: String,
        /// The process id of the session that reads from the slot, if it is known.
        pid: Option<i32>,
    },
    /// The slot does not exist.
    #[error("replication slot {slot} on {server} does not exist")]
    SlotMissing {
        /// The server.
        server: String,
        /// The slot.
        slot: String,
    },
    /// The server has removed log that the slot needs.
    #[error("replication slot {slot} on {server} was invalidated by the server")]
    SlotLost {
        /// The server.
        server: String,
        /// The slot.
        slot: String,
    },
    /// The confirmed position of the slot is after the start position of the stream: the server can no longer send the
    /// changes between them.
    #[error("replication slot {slot} on {server} is at {confirmed}, beyond our progress {start}")]
    Gap {
        /// The server.
        server: String,
        /// The slot.
        slot: String,
        /// The position at which the stream would have started.
        start: Lsn,
        /// The confirmed position of the slot.
        confirmed: Lsn,
    },
    /// The publication did not exist at the time of a change.
    #[error("publication {publication} is missing for replication slot {slot} on {server}")]
    PublicationMissing {
        /// The server.
        server: String,
        /// The slot.
        slot: String,
        /// The publication.
        publication: String,
    },
    /// The server has another identity: it is another server, or it was promoted.
    #[error("{server} is {found:?}, not {expected:?}")]
    SystemChanged {
        /// The server.
        server: String,
        /// The identity that the migration recorded.
        expected: SystemIdentity,
        /// The identity that the server has.
        found: SystemIdentity,
    },
    /// The server returned an error.
    #[error("could not {intent} on {server}: {message}")]
    Refused {
        /// The server.
        server: String,
        /// The action that failed.
        intent: &'static str,
        /// The server's message, with its SQLSTATE.
        message: String,
        /// Whether a retry can succeed.
        class: Class,
    },
    /// An SQL query failed.
    #[error("could not {intent} on {server}")]
    Query {
        /// The server.
        server: String,
        /// The action that failed.
        intent: &'static str,
        /// The error of the query.
        #[source]
        source: tokio_postgres::Error,
    },
    /// The connection failed, or the server sent a message that violates the protocol.
    #[error("could not {intent} on {server}")]
    Broken {
        /// The server.
        server: String,
        /// The action that failed.
        intent: &'static str,
        /// The error of the connection.
        #[source]
        source: io::Error,
    },
    /// A message of the stream is not valid pgoutput.
    #[error("replication slot {slot} on {server} sent a malformed message")]
    Decode {
        /// The server.
        server: String,
        /// The slot.
        slot: String,
        /// The error of the decoder.
        #[source]
        source: DecodeError,
    },
    /// No message arrived, not even a keepalive.
    #[error("replication slot {slot} on {server} was silent for {after:?}")]
    Silent {
        /// The server.
        server: String,
        /// The slot.
        slot: String,
        /// The time without a message.
        after: Duration,
    },
    /// The server ended the stream, although the agent had not requested it.
    #[error("the stream of replication slot {slot} on {server} ended")]
    Ended {
        /// The server.
        server: String,
        /// The slot.
        slot: String,
    },
}

impl ReplicationError {
    /// Returns whether a retry can succeed.
    pub fn class(&self) -> Class {
        match self {
            Self::Connect(error) => error.class(),
            Self::Refused { class, .. } => *class,
            Self::Query { source, .. } => classify(source),
            Self::Broken { source, .. } => classify_io(source),
            Self::Timeout { .. }
            | Self::SlotBusy { .. }
            | Self::Silent { .. }
            | Self::Ended { .. } => Class::Transient,
            // An interrupted attempt created this slot; the next attempt drops it first.
            Self::SlotExists { .. } => Class::Transient,
            Self::InvalidName { .. }
            | Self::SlotMissing { .. }
            | Self::SlotLost { .. }
            | Self::Gap { .. }
            | Self::PublicationMissing { .. }
            | Self::SystemChanged { .. }
            | Self::Decode { .. } => Class::Permanent,
        }
    }

    /// Returns the failure code. Each kind of loss has its own code.
    pub(crate) fn code(&self) -> StepCode {
        match self {
            Self::SlotMissing { .. } => StepCode::SlotMissing,
            Self::SlotLost { .. } => StepCode::SlotLost,
            Self::Gap { .. } => StepCode::SlotGap,
            Self::SystemChanged {
                expected, found, ..
            } if found.is_promotion_of(*expected) => StepCode::ServerPromoted,
            Self::SystemChanged { .. } => StepCode::ServerChanged,
            Self::Connect(_)
            | Self::InvalidName { .. }
            | Self::Timeout { .. }
            | Self::SlotExists { .. }
            | Self::SlotBusy { .. }
            | Self::Refused { .. }
            | Self::Query { .. }
            | Self::Broken { .. }
            | Self::Decode { .. }
            | Self::Silent { .. }
            | Self::Ended { .. } => StepCode::Replication,
            Self::PublicationMissing { .. } => StepCode::PublicationChanged,
        }
    }

    /// Returns how to fix the cause, if that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Connect(error) => error.hint(),
            Self::InvalidName { .. } => {
                Some("use a to z, 0 to 9 and _, at most 63, no digit first")
            }
            Self::SlotBusy { .. } => Some("the process ends by itself if its reader is gone"),
            Self::SlotLost { .. } => {
                Some("raise max_slot_wal_keep_size on the source and start the migration again")
            }
            Self::SlotMissing { .. } | Self::Gap { .. } | Self::SystemChanged { .. } => {
                Some("changes are lost to this migration; `abort` it and plan it again")
            }
            Self::PublicationMissing { .. } => {
                Some("a publication must exist before its slot; `abort` it")
            }
            Self::Refused { message, .. } if message.contains("SQLSTATE 42501") => {
                Some("the role needs the replication attribute")
            }
            Self::Refused { message, .. } if message.contains("SQLSTATE 53400") => {
                Some("raise max_replication_slots or max_wal_senders on this server")
            }
            Self::Timeout { .. }
            | Self::SlotExists { .. }
            | Self::Refused { .. }
            | Self::Query { .. }
            | Self::Broken { .. }
            | Self::Decode { .. }
            | Self::Silent { .. }
            | Self::Ended { .. } => None,
        }
    }

    /// Returns the error for an answer that does not have the expected columns.
    pub(super) fn malformed(server: &str, intent: &'static str) -> Self {
        let what = "the answer does not have the expected columns";
        let source = io::Error::new(io::ErrorKind::InvalidData, what);
        WireError::Broken(source).during(server, intent)
    }
}

/// The reason why a command or a stream on a replication connection failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    /// The server returned an error.
    #[error("{} (SQLSTATE {})", .0.message, .0.state)]
    Refused(Refusal),
    /// The server ended the stream, although the agent had not requested it.
    #[error("the server ended the stream")]
    Ended,
    /// The connection failed, or the server sent a message that violates the protocol.
    #[error(transparent)]
    Broken(#[from] io::Error),
}

impl WireError {
    /// Returns the SQLSTATE of an error of the server.
    pub(super) fn sqlstate(&self) -> Option<&str> {
        match self {
            Self::Refused(refusal) => Some(&refusal.state),
            Self::Ended | Self::Broken(_) => None,
        }
    }

    /// Converts an error for which no more specific error is known.
    pub(super) fn during(self, server: &str, intent: &'static str) -> ReplicationError {
        let (message, server) = (self.to_string(), server.to_owned());
        match self {
            Self::Refused(refusal) => ReplicationError::Refused {
                server,
                intent,
                message,
                class: refusal.class(),
            },
            Self::Ended => ReplicationError::Broken {
                server,
                intent,
                source: io::ErrorKind::UnexpectedEof.into(),
            },
            Self::Broken(source) => ReplicationError::Broken {
                server,
                intent,
                source,
            },
        }
    }
}

impl<T> WithIntent<T> for Result<T, ReplicationError> {
    fn at(self, what: impl Display) -> Result<T, StepError> {
        self.map_err(|error| {
            StepError::Failed(Failure {
                code: error.code().into(),
                message: format!("{what}: {}", message_with_causes(&error)),
                hint: error.hint().map(Into::into),
                retry: retry_of(error.class()),
            })
        })
    }
}
