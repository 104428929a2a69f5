//! Why a connection string is invalid, and why a connection could not be opened.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::class::{cause_state_of, classify, classify_io};
use crate::methods::{Method, MethodRefused};
use crate::resolved::{Resolved, Target};
use crate::{Class, ReferenceError, ServiceError, StartupError, TlsError};

/// Why a connection string is invalid. No message repeats a value, because it may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DsnError {
    /// The text is neither a URI nor a list of `key=value` words.
    #[error("connection string is malformed: {reason}")]
    Malformed {
        /// What was expected.
        reason: &'static str,
    },
    /// An unknown parameter.
    #[error("connection string has the unknown parameter {key:?}")]
    UnknownParameter {
        /// The name of the parameter.
        key: String,
    },
    /// A required parameter that has no safe default is missing.
    #[error("connection string names no {key}")]
    Missing {
        /// The name of the parameter.
        key: &'static str,
    },
    /// The value of a parameter is invalid.
    #[error("connection parameter {key} is invalid, expected {expected}")]
    Invalid {
        /// The name of the parameter.
        key: &'static str,
        /// The form of a valid value.
        expected: &'static str,
    },
    /// A `${` has no `}`.
    #[error("connection string has a reference that is not closed")]
    OpenReference,
    /// A `${...}` is none of `env`, `file` and `credential`.
    #[error("connection string has a reference of an unknown kind")]
    UnknownReference,
    /// A `${...}` is in a parameter that contains no secret.
    #[error("connection parameter {key} has a reference, which only the password may have")]
    MisplacedReference {
        /// The name of the parameter.
        key: &'static str,
    },
}

impl DsnError {
    /// Returns what the user can do, if that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Malformed { .. } => {
                Some("write postgres://user@host:port/dbname or host=... port=... user=...")
            }
            Self::UnknownParameter { .. } => {
                Some("docs/connections.md has every parameter; take this one out")
            }
            Self::OpenReference | Self::UnknownReference => Some(
                "write ${env:NAME}, ${file:PATH} or ${credential:NAME}; in a URI, write a literal $ as %24",
            ),
            Self::Missing { .. } => Some(
                "name it in the connection string, in its service, or in the PG* variable of the process that connects",
            ),
            Self::MisplacedReference { .. } => Some(
                "write its value; what differs between agents comes from a service or a PG* variable",
            ),
            Self::Invalid { .. } => None,
        }
    }
}

/// Why a connection was not opened. `server` is `host:port/dbname`.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// A secret could not be read.
    #[error("could not resolve the connection string of {server}")]
    Reference {
        /// The server, as far as it is known without the references.
        server: String,
        /// The reference, and why it could not be read.
        #[source]
        source: ReferenceError,
    },
    /// A resolved value cannot be used.
    #[error("connection string of {server} is invalid")]
    Dsn {
        /// The server, as far as it is known without the references.
        server: String,
        /// The invalid value.
        #[source]
        source: DsnError,
    },
    /// The service that the connection string names could not be read.
    #[error("could not find the service of {server}")]
    Service {
        /// The server, as far as it is known without the service.
        server: String,
        /// Why the service could not be read.
        #[source]
        source: ServiceError,
    },
    /// The server did not answer in time.
    #[error("could not connect to {server} within {after:?}")]
    Timeout {
        /// The server.
        server: String,
        /// The time limit.
        after: Duration,
    },
    /// The server could not be reached.
    #[error("could not connect to {server}")]
    Network {
        /// The server.
        server: String,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// TLS could not be established.
    #[error("could not connect to {server} by TLS")]
    Tls {
        /// The server.
        server: String,
        /// The error of TLS.
        #[source]
        source: Box<TlsError>,
    },
    /// `channel_binding=require` is set, and the password's proof cannot be bound to the TLS session.
    #[error("could not bind the password to the connection to {server}: {reason}")]
    Binding {
        /// The server.
        server: String,
        /// Why it cannot be bound.
        reason: &'static str,
    },
    /// The server requests an authentication method that is not allowed on this connection. No password was sent.
    #[error("{server} asks for {method}, which is not allowed on this connection")]
    Method {
        /// The server.
        server: String,
        /// The requested method.
        method: Method,
    },
    /// The server requests a password, and none is known.
    #[error("no password is known for {server}{}", ignored_file_note(ignored_passfile.as_ref()))]
    NoPassword {
        /// The server.
        server: String,
        /// A password file that was ignored because other users may access it.
        ignored_passfile: Option<PathBuf>,
    },
    /// The server does not satisfy `target_session_attrs`.
    #[error("{server} is not {}", wanted.description())]
    Target {
        /// The server.
        server: String,
        /// The required property.
        wanted: Target,
    },
    /// The server refused a replication session.
    #[error("could not open a replication session on {server}")]
    Startup {
        /// The server.
        server: String,
        /// Why the server refused it.
        #[source]
        source: StartupError,
    },
    /// Every host of the list failed.
    #[error("could not connect to any of {server}: {}", failure_texts(failures))]
    Hosts {
        /// The servers.
        server: String,
        /// The error for each address, in the order in which the addresses were tried.
        failures: Vec<ConnectError>,
    },
    /// The server refused the connection, or the connection was lost.
    #[error("could not connect to {server}")]
    Open {
        /// The server.
        server: String,
        /// The error of the server or the connection.
        #[source]
        source: tokio_postgres::Error,
    },
    /// The server refused the session's settings.
    #[error("could not prepare the session on {server}")]
    Setup {
        /// The server.
        server: String,
        /// The error of the server.
        #[source]
        source: tokio_postgres::Error,
    },
}

impl ConnectError {
    /// Returns whether a retry is useful.
    pub fn class(&self) -> Class {
        match self {
            Self::Reference { .. }
            | Self::Dsn { .. }
            | Self::Service { .. }
            | Self::Binding { .. }
            | Self::Method { .. }
            | Self::NoPassword { .. } => Class::Permanent,
            // A standby may be promoted at any time.
            Self::Timeout { .. } | Self::Target { .. } => Class::Transient,
            Self::Network { source, .. } => classify_io(source),
            Self::Tls { source, .. } => source.class(),
            Self::Startup { source, .. } => startup_class(source),
            Self::Hosts { failures, .. } => any_class(failures),
            Self::Open { source, .. } | Self::Setup { source, .. } => classify(source),
        }
    }

    /// Returns what the user can do, if that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Reference { source, .. } => Some(source.hint()),
            Self::Service { .. } => Some(
                "the process that connects reads the service: define it on that host, or set PGSERVICEFILE there",
            ),
            Self::Dsn { source, .. } => source.hint(),
            Self::Timeout { .. } | Self::Network { .. } => {
                Some("check host, port, firewall and that the server runs")
            }
            Self::Tls { source, .. } => source.hint(),
            Self::Binding { .. } => Some(
                "use sslmode=require or stronger, a password stored as scram-sha-256 and scram-sha-256 in pg_hba.conf",
            ),
            Self::Method {
                method: Method::Password,
                ..
            } => Some("request scram-sha-256 in pg_hba.conf, or use sslmode=verify-full"),
            Self::Method {
                method: Method::Md5,
                ..
            } => Some(
                "set the role's password again with password_encryption = scram-sha-256, use sslmode=verify-full, or add require_auth=md5",
            ),
            Self::Method { .. } => Some("change require_auth, or the line in pg_hba.conf"),
            Self::NoPassword {
                ignored_passfile: Some(_),
                ..
            } => Some("chmod 600 the password file"),
            Self::NoPassword { .. } => Some(
                "give password=${env:NAME}, ${file:PATH} or ${credential:NAME}, or a line in the password file of the process that connects",
            ),
            Self::Target { .. } => {
                Some("list every possible server in host, or choose another target_session_attrs")
            }
            Self::Hosts { failures, .. } => {
                let is_permanent = |failure: &&Self| failure.class() == Class::Permanent;
                let first = failures.iter().find(is_permanent).or(failures.first());
                first.and_then(Self::hint)
            }
            Self::Startup {
                source: StartupError::Server(refusal),
                ..
            } => open_hint(refusal.cause_state()),
            Self::Startup { .. } => None,
            Self::Open { source, .. } => open_hint(cause_state_of(source)?),
            Self::Setup { source, .. } => setup_hint(cause_state_of(source)?),
        }
    }

    /// Returns the SQLSTATE for the cause for which the server refused the login or the session's settings.
    pub fn server_state(&self) -> Option<&str> {
        match self {
            Self::Open { source, .. } | Self::Setup { source, .. } => cause_state_of(source),
            Self::Startup {
                source: StartupError::Server(refusal),
                ..
            } => Some(refusal.cause_state()),
            Self::Hosts { failures, .. } => failures.iter().find_map(Self::server_state),
            Self::Reference { .. }
            | Self::Dsn { .. }
            | Self::Service { .. }
            | Self::Timeout { .. }
            | Self::Network { .. }
            | Self::Tls { .. }
            | Self::Binding { .. }
            | Self::Method { .. }
            | Self::NoPassword { .. }
            | Self::Target { .. }
            | Self::Startup { .. } => None,
        }
    }

    /// Converts the error of a failed login.
    pub(crate) fn refused(
        server: &str,
        resolved: &Resolved,
        source: tokio_postgres::Error,
    ) -> Self {
        let server = server.to_owned();
        let cause = source.source();
        if let Some(error) = cause.and_then(|cause| cause.downcast_ref::<io::Error>()) {
            if let Some(method) = MethodRefused::method_in(error) {
                return Self::Method { server, method };
            }
            if let Some(tls) = TlsError::tls_cause(error) {
                let source = Box::new(tls);
                return Self::Tls { server, source };
            }
        }
        // The driver distinguishes these two errors only by their text.
        match cause.map(ToString::to_string).as_deref() {
            Some("password missing") => Self::NoPassword {
                server,
                ignored_passfile: resolved.ignored_passfile.clone(),
            },
            Some("server did not use channel binding") => Self::Binding {
                server,
                reason: "the server did not use channel binding",
            },
            _ => Self::Open { server, source },
        }
    }

    /// Converts the error of a failed login of a replication session.
    pub(crate) fn startup(server: &str, resolved: &Resolved, source: StartupError) -> Self {
        let server = server.to_owned();
        match source {
            StartupError::NoPassword => Self::NoPassword {
                server,
                ignored_passfile: resolved.ignored_passfile.clone(),
            },
            StartupError::NotBound => Self::Binding {
                server,
                reason: "the server did not use channel binding",
            },
            StartupError::Broken(error) => {
                match (
                    MethodRefused::method_in(&error),
                    TlsError::tls_cause(&error),
                ) {
                    (Some(method), _) => Self::Method { server, method },
                    (None, Some(tls)) => Self::Tls {
                        server,
                        source: Box::new(tls),
                    },
                    (None, None) => Self::Startup {
                        server,
                        source: StartupError::Broken(error),
                    },
                }
            }
            source @ (StartupError::Server(_) | StartupError::UnknownMethod) => {
                Self::Startup { server, source }
            }
        }
    }

    /// Returns true if a second attempt with the other choice of TLS may succeed, in modes that allow both: the TLS
    /// handshake failed, or pg_hba.conf has no matching line.
    pub(crate) fn may_depend_on_tls(&self) -> bool {
        match self {
            Self::Tls { .. } => true,
            Self::Open { source, .. } => source.code().is_some_and(|state| state.code() == "28000"),
            Self::Startup {
                source: StartupError::Server(refusal),
                ..
            } => refusal.state == "28000",
            Self::Reference { .. }
            | Self::Dsn { .. }
            | Self::Service { .. }
            | Self::Timeout { .. }
            | Self::Network { .. }
            | Self::Binding { .. }
            | Self::Method { .. }
            | Self::NoPassword { .. }
            | Self::Target { .. }
            | Self::Startup { .. }
            | Self::Hosts { .. }
            | Self::Setup { .. } => false,
        }
    }
}

fn ignored_file_note(ignored_passfile: Option<&PathBuf>) -> String {
    ignored_passfile.map_or_else(String::new, |path| {
        format!(
            "; the password file {} was ignored, because its group or other users may access it",
            path.display()
        )
    })
}

/// Returns each failure with its causes.
fn failure_texts(failures: &[ConnectError]) -> String {
    let messages: Vec<String> = failures.iter().map(|failure| chain(failure)).collect();
    messages.join("; ")
}

fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let line = cause
            .downcast_ref::<tokio_postgres::error::DbError>()
            .map_or_else(|| cause.to_string(), |db| db.message().to_owned());
        if !text.contains(&line) {
            text = format!("{text}: {line}");
        }
        source = cause.source();
    }
    text
}

/// Returns the class of a failed list of hosts. A retry is useful if it is useful for at least one host.
fn any_class(failures: &[ConnectError]) -> Class {
    let has = |class| failures.iter().any(|failure| failure.class() == class);
    let retryable = [Class::Transient, Class::Resource];
    retryable
        .into_iter()
        .find(|class| has(*class))
        .unwrap_or(Class::Permanent)
}

fn startup_class(error: &StartupError) -> Class {
    match error {
        StartupError::Server(refusal) => refusal.class(),
        StartupError::Broken(error) => classify_io(error),
        StartupError::NoPassword | StartupError::UnknownMethod | StartupError::NotBound => {
            Class::Permanent
        }
    }
}

fn open_hint(state: &str) -> Option<&'static str> {
    match state {
        "28P01" => Some("check user and password"),
        "28000" => Some("check the role and its line in pg_hba.conf"),
        "3D000" => Some("check dbname"),
        "53100" => Some("free space on the server's disk"),
        "53300" => Some("raise max_connections or free connections"),
        "57P03" => Some("the server is starting up or shutting down"),
        _ => None,
    }
}

fn setup_hint(state: &str) -> Option<&'static str> {
    match state {
        "42501" => Some(
            "the role needs: grant set on parameter session_replication_role to it (or superuser)",
        ),
        "53100" => Some("free space on the server's disk"),
        "SM008" => Some(
            "if the connection string leads to another server, correct it; if the server was promoted or restored, accept it with `shardwright reconcile --accept SHARD`",
        ),
        _ => None,
    }
}
