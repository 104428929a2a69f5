//! Why a connection string was refused, and why a connection was not opened.

use std::time::Duration;

use crate::{Class, ReferenceError, classify};

/// Why a connection string was refused. No message repeats a value, which may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DsnError {
    /// Neither a URI nor `key=value` words.
    #[error("connection string is malformed: {reason}")]
    Malformed {
        /// What was expected.
        reason: &'static str,
    },
    /// A parameter that is not known here.
    #[error("connection string has the unknown parameter {key:?}")]
    UnknownParameter {
        /// Its name.
        key: String,
    },
    /// A parameter that is needed and has no safe default.
    #[error("connection string names no {key}")]
    Missing {
        /// Its name.
        key: &'static str,
    },
    /// A parameter whose value cannot be used.
    #[error("connection parameter {key} is invalid, expected {expected}")]
    Invalid {
        /// Its name.
        key: &'static str,
        /// What a valid value looks like.
        expected: &'static str,
    },
    /// A `${` without its `}`.
    #[error("connection string has a reference that is not closed")]
    OpenReference,
    /// A `${...}` that is neither `env` nor `file`.
    #[error("connection string has a reference of an unknown kind")]
    UnknownReference,
    /// The connection would have to be encrypted.
    #[error("sslmode={mode} needs TLS, which is not built in yet")]
    TlsNotBuilt {
        /// The mode asked for.
        mode: String,
    },
}

impl DsnError {
    /// What mends it, if that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Malformed { .. } => {
                Some("write postgres://user@host:port/dbname or host=... port=... user=...")
            }
            Self::UnknownParameter { .. } => Some(
                "known: host, port, user, password, dbname, sslmode, connect_timeout, options, \
                 application_name",
            ),
            Self::OpenReference | Self::UnknownReference => {
                Some("write ${env:NAME} or ${file:PATH}; in a URI, write a literal $ as %24")
            }
            Self::TlsNotBuilt { .. } => {
                Some("use sslmode=disable or prefer on a trusted network, or a local TLS tunnel")
            }
            Self::Missing { .. } | Self::Invalid { .. } => None,
        }
    }
}

/// Why a connection was not opened; `server` is `host:port/dbname`.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// A secret could not be read.
    #[error("could not resolve the connection string of {server}")]
    Reference {
        /// The server, as far as it is known without the references.
        server: String,
        /// Which reference.
        #[source]
        source: ReferenceError,
    },
    /// A resolved value cannot be used.
    #[error("connection string of {server} is invalid")]
    Dsn {
        /// The server, as far as it is known without the references.
        server: String,
        /// Which value.
        #[source]
        source: DsnError,
    },
    /// The server did not answer in time.
    #[error("could not connect to {server} within {after:?}")]
    Timeout {
        /// The server.
        server: String,
        /// The limit that passed.
        after: Duration,
    },
    /// The connection was refused or broke.
    #[error("could not connect to {server}")]
    Open {
        /// The server.
        server: String,
        /// What it said.
        #[source]
        source: tokio_postgres::Error,
    },
    /// The session's settings were refused.
    #[error("could not prepare the session on {server}")]
    Setup {
        /// The server.
        server: String,
        /// What it said.
        #[source]
        source: tokio_postgres::Error,
    },
}

impl ConnectError {
    /// What a retry is worth.
    pub fn class(&self) -> Class {
        match self {
            Self::Reference { .. } | Self::Dsn { .. } => Class::Permanent,
            Self::Timeout { .. } => Class::Transient,
            Self::Open { source, .. } | Self::Setup { source, .. } => classify(source),
        }
    }

    /// What mends it, if that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Reference { .. } => {
                Some("references are read where the connection is opened: set them there")
            }
            Self::Dsn { source, .. } => source.hint(),
            Self::Timeout { .. } => Some("check host, port, firewall and that the server runs"),
            Self::Open { source, .. } => open_hint(source.code()?.code()),
            Self::Setup { source, .. } => setup_hint(source.code()?.code()),
        }
    }
}

fn open_hint(state: &str) -> Option<&'static str> {
    match state {
        "28P01" => Some("check user and password"),
        "28000" => Some("check the role and its line in pg_hba.conf"),
        "3D000" => Some("check dbname"),
        "53300" => Some("raise max_connections or free connections"),
        "57P03" => Some("the server is starting up or shutting down"),
        _ => None,
    }
}

fn setup_hint(state: &str) -> Option<&'static str> {
    (state == "42501").then_some(
        "the role needs: grant set on parameter session_replication_role to it (or superuser)",
    )
}
