//! Why a replication session failed, and what a retry is worth.

use std::fmt::Display;
use std::time::Duration;

use connect::{Class, ConnectError, classify, classify_sqlstate};
use pgwire_replication::PgWireError;
use plans::failure::Failure;

use super::SystemIdentity;
use crate::error::{StepError, WithIntent, message_with_causes, retry_of};
use crate::postgres::lsn::Lsn;
use crate::postgres::pgoutput::DecodeError;

/// Code of the failure of a slot that is not there.
pub(crate) const SLOT_MISSING: &str = "slot.missing";
/// Code of the failure of a slot that the server has invalidated.
pub(crate) const SLOT_LOST: &str = "slot.lost";
/// Code of the failure of a stream whose next changes are gone (I3).
pub(crate) const SLOT_GAP: &str = "slot.gap";

/// Code of the failure of a publication that is not as it was made.
pub(crate) const PUBLICATION_CHANGED: &str = "publication.changed";

/// Why a replication session failed; `server` is `host:port/dbname`.
#[derive(Debug, thiserror::Error)]
pub enum ReplicationError {
    /// The connection string could not be resolved, or a plain session not opened.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A name that cannot stand in a replication command.
    #[error("{kind} name {name:?} is not plain")]
    InvalidName {
        /// What it names.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// The server did not answer in time.
    #[error("could not open a replication session on {server} within {after:?}")]
    Timeout {
        /// The server.
        server: String,
        /// The limit that passed.
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
        /// Its process on the server, if it is known.
        pid: Option<i32>,
    },
    /// There is no such slot.
    #[error("replication slot {slot} on {server} does not exist")]
    SlotMissing {
        /// The server.
        server: String,
        /// The slot.
        slot: String,
    },
    /// The server has removed WAL that the slot needs.
    #[error("replication slot {slot} on {server} was invalidated by the server")]
    SlotLost {
        /// The server.
        server: String,
        /// The slot.
        slot: String,
    },
    /// The slot has been confirmed beyond the position asked for: what lies between is gone.
    #[error("replication slot {slot} on {server} is at {confirmed}, beyond our progress {start}")]
    Gap {
        /// The server.
        server: String,
        /// The slot.
        slot: String,
        /// Where we would have started.
        start: Lsn,
        /// Where the slot stands.
        confirmed: Lsn,
    },
    /// The publication did not exist when a change was made.
    #[error("publication {publication} is missing for replication slot {slot} on {server}")]
    PublicationMissing {
        /// The server.
        server: String,
        /// The slot.
        slot: String,
        /// The publication.
        publication: String,
    },
    /// Another server answered, or the server was promoted.
    #[error("{server} is {found:?}, not {expected:?}")]
    SystemChanged {
        /// The server.
        server: String,
        /// What it was.
        expected: SystemIdentity,
        /// What it is.
        found: SystemIdentity,
    },
    /// The server refused.
    #[error("could not {intent} on {server}: {message}")]
    Refused {
        /// The server.
        server: String,
        /// What was tried.
        intent: &'static str,
        /// What it said, with its SQLSTATE.
        message: String,
        /// What a retry is worth.
        class: Class,
    },
    /// A plain query failed.
    #[error("could not {intent} on {server}")]
    Query {
        /// The server.
        server: String,
        /// What was tried.
        intent: &'static str,
        /// What it said.
        #[source]
        source: tokio_postgres::Error,
    },
    /// The session broke, or something was sent that is not the protocol.
    #[error("could not {intent} on {server}")]
    Broken {
        /// The server.
        server: String,
        /// What was tried.
        intent: &'static str,
        /// What happened.
        #[source]
        source: PgWireError,
    },
    /// A message of the stream is not pgoutput.
    #[error("replication slot {slot} on {server} sent a malformed message")]
    Decode {
        /// The server.
        server: String,
        /// The slot.
        slot: String,
        /// What is wrong with it.
        #[source]
        source: DecodeError,
    },
    /// Not even a ping arrived.
    #[error("replication slot {slot} on {server} was silent for {after:?}")]
    Silent {
        /// The server.
        server: String,
        /// The slot.
        slot: String,
        /// For how long.
        after: Duration,
    },
    /// The stream ended in good order, which it does only on our request.
    #[error("the stream of replication slot {slot} on {server} ended")]
    Ended {
        /// The server.
        server: String,
        /// The slot.
        slot: String,
    },
}

impl ReplicationError {
    /// What a retry is worth.
    pub fn class(&self) -> Class {
        match self {
            Self::Connect(error) => error.class(),
            Self::Refused { class, .. } => *class,
            Self::Query { source, .. } => classify(source),
            Self::Broken { source, .. } => wire_class(source),
            Self::Timeout { .. }
            | Self::SlotBusy { .. }
            | Self::Silent { .. }
            | Self::Ended { .. } => Class::Transient,
            // Left by a run of ours that was cut off: the next one drops it first.
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

    /// The failure's code: what is lost has one of its own.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::SlotMissing { .. } => SLOT_MISSING,
            Self::SlotLost { .. } => SLOT_LOST,
            Self::Gap { .. } => SLOT_GAP,
            Self::SystemChanged { .. } => "server.changed",
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
            | Self::Ended { .. } => "replication",
            Self::PublicationMissing { .. } => PUBLICATION_CHANGED,
        }
    }

    /// What mends it, if that is known.
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

    /// What the client says, when nothing more exact is known.
    pub(super) fn from_wire(server: &str, intent: &'static str, source: PgWireError) -> Self {
        let server = server.to_owned();
        if let PgWireError::Server(message) = source {
            let class = state_in(&message).map_or(Class::Permanent, classify_sqlstate);
            Self::Refused {
                server,
                intent,
                message,
                class,
            }
        } else {
            Self::Broken {
                server,
                intent,
                source,
            }
        }
    }

    /// An answer that has not the expected columns.
    pub(super) fn malformed(server: &str, intent: &'static str) -> Self {
        let source = PgWireError::Protocol("the answer has not the expected columns".to_owned());
        Self::Broken {
            server: server.to_owned(),
            intent,
            source,
        }
    }
}

/// The SQLSTATE of an error of the server.
pub(super) fn sqlstate(error: &PgWireError) -> Option<&str> {
    if let PgWireError::Server(message) = error {
        state_in(message)
    } else {
        None
    }
}

/// The client ends each message of the server with `(SQLSTATE 12345)`.
fn state_in(message: &str) -> Option<&str> {
    let (_, state) = message.rsplit_once("SQLSTATE ")?;
    state.strip_suffix(')').filter(|state| state.len() == 5)
}

fn wire_class(error: &PgWireError) -> Class {
    // An internal error is what a second call gets after the session has ended.
    let transient = error.is_transient() || matches!(error, PgWireError::Internal(_));
    if transient {
        Class::Transient
    } else {
        Class::Permanent
    }
}

impl<T> WithIntent<T> for Result<T, ReplicationError> {
    fn at(self, what: impl Display) -> Result<T, StepError> {
        self.map_err(|error| {
            StepError::Failed(Failure {
                code: error.code().to_owned(),
                message: format!("{what}: {}", message_with_causes(&error)),
                hint: error.hint().map(Into::into),
                retry: retry_of(error.class()),
            })
        })
    }
}
