//! Errors that end a step, and the conversion of a PostgreSQL error into a failure that an operator can read.

use std::error::Error as _;
use std::fmt::Display;

use connect::{Class, ConnectError};
use fail_point::Injected;
use plans::failure::{Failure, RetryClass, SQL_CODE_PREFIX, StepCode};
use plans::names::{SQLSTATE_OTHER_DATABASE, SQLSTATE_OUTDATED, SQLSTATE_SUPERSEDED};
use plans::plan::FollowedChange;
use plans::step::StepKind;
use plans::table::{MovingTable, TableName};

/// The reason why a step ended without a result.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StepError {
    /// The attempt failed.
    #[error("{}", .0.message)]
    Failed(Failure),
    /// The controller or a newer owner stopped the step.
    #[error("interrupted")]
    Interrupted,
    /// Both shards have the same new definition of the moving tables, with which the move can continue.
    #[error("the moving tables have changed on both shards: {}", .changes.join("; "))]
    Reshaped {
        /// The present definitions of the tables.
        tables: Vec<MovingTable>,
        /// The fingerprint of the tables, which is the same on both shards.
        fingerprint: String,
        /// The differences from the plan.
        changes: Vec<String>,
        /// The changes that the agent has made on the other shard.
        followed: Vec<FollowedChange>,
        /// Whether copied rows have to be compared with the source again.
        copy_again: bool,
        /// Partitions that the application has dropped or detached on the owner of the keys; `tables` lacks them.
        retired: Box<[TableName]>,
    },
    /// The result of an earlier step no longer exists.
    #[error("{} must run again: {}", .to, .failure.message)]
    Rewind {
        /// The step that must run again.
        to: StepKind,
        /// The cause.
        failure: Failure,
    },
}

impl StepError {
    /// Returns a failure with the retry class and the hint that the registry lists for its code. A code whose class
    /// depends on the cause counts as one that a retry cannot fix.
    pub fn listed(code: StepCode, message: impl Into<String>) -> Self {
        Self::Failed(Failure {
            code: code.into(),
            message: message.into(),
            hint: code.hint().map(str::to_owned),
            retry: code.retry().unwrap_or(RetryClass::None),
        })
    }

    /// Returns a failure that a retry cannot fix.
    pub fn refused(code: StepCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Failed(Failure {
            code: code.into(),
            message: message.into(),
            hint: Some(hint.into()),
            retry: RetryClass::None,
        })
    }

    /// Returns a transient failure. The step is tried again with growing pauses.
    pub fn passing(code: StepCode, message: impl Into<String>) -> Self {
        Self::Failed(Failure {
            code: code.into(),
            message: message.into(),
            hint: None,
            retry: RetryClass::Exponential,
        })
    }

    /// Returns the failure for a condition that is not met yet. The step is tried again at a fixed interval.
    pub fn not_yet(code: StepCode, message: impl Into<String>) -> Self {
        Self::Failed(Failure {
            code: code.into(),
            message: message.into(),
            hint: None,
            retry: RetryClass::Fixed,
        })
    }

    /// Returns the failure for a migration that a newer owner has taken over (I7).
    pub fn superseded(shard: &str) -> Self {
        Self::superseded_with(format!(
            "a newer owner has taken the migration on shard {shard}"
        ))
    }

    /// As [`StepError::superseded`], with `message` as the controller wrote it.
    pub(crate) fn superseded_with(message: String) -> Self {
        Self::listed(StepCode::EpochStale, message)
    }

    /// Returns true if a newer owner has taken the migration over.
    pub fn is_superseded(&self) -> bool {
        matches!(self, Self::Failed(failure) if failure.has_code(StepCode::EpochStale))
    }

    /// Returns true if the error contains a failure with this code.
    pub(crate) fn has_code(&self, code: StepCode) -> bool {
        self.failure().is_some_and(|failure| failure.has_code(code))
    }

    /// Returns the SQLSTATE if the error contains one of PostgreSQL.
    pub(crate) fn sqlstate(&self) -> Option<&str> {
        self.failure()?.sqlstate()
    }

    /// Returns the failure that this error contains, if it contains one.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure) | Self::Rewind { failure, .. } => Some(failure),
            Self::Interrupted | Self::Reshaped { .. } => None,
        }
    }
}

/// Adds the attempted action to an error.
pub(crate) trait WithIntent<T> {
    /// Converts the error. `what` names the action and its object, for example `shard b: creating tables`.
    fn at(self, what: impl Display) -> Result<T, StepError>;
}

impl<T> WithIntent<T> for Result<T, tokio_postgres::Error> {
    fn at(self, what: impl Display) -> Result<T, StepError> {
        self.map_err(|error| {
            StepError::Failed(Failure {
                code: code_of(&error),
                message: format!("{what}: {}", describe(&error)),
                hint: hint_of(&error),
                retry: retry_of(connect::classify(&error)),
            })
        })
    }
}

impl<T> WithIntent<T> for Result<T, ConnectError> {
    fn at(self, what: impl Display) -> Result<T, StepError> {
        self.map_err(|error| {
            let cause = error
                .source()
                .map(|source| format!(": {}", message_with_causes(source)));
            // A full disk can end a login as it ends a statement: the server writes caches of its catalog.
            let code = match error.server_state() {
                Some(SQLSTATE_OTHER_DATABASE) => StepCode::ShardOtherDatabase.into(),
                state if error.class() == Class::Resource => code_of_sqlstate(state),
                _ => StepCode::Connect.into(),
            };
            StepError::Failed(Failure {
                code,
                message: format!("{what}: {error}{}", cause.unwrap_or_default()),
                hint: error.hint().map(str::to_owned),
                retry: retry_of(error.class()),
            })
        })
    }
}

impl<T> WithIntent<T> for std::io::Result<T> {
    fn at(self, what: impl Display) -> Result<T, StepError> {
        self.map_err(|error| StepError::passing(StepCode::Io, format!("{what}: {error}")))
    }
}

impl From<Injected> for StepError {
    fn from(injected: Injected) -> Self {
        Self::passing(StepCode::FailPoint, injected.to_string())
    }
}

/// Returns the message of the server or of the driver, without row values: these are in the field DETAIL.
pub(crate) fn describe(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(db) => format!("{} (SQLSTATE {})", db.message(), db.code().code()),
        None => message_with_causes(error),
    }
}

/// Returns the message of an error and of its causes, each cause once.
pub(crate) fn message_with_causes(error: &dyn std::error::Error) -> String {
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

fn code_of(error: &tokio_postgres::Error) -> String {
    code_of_sqlstate(connect::cause_state_of(error))
}

/// Returns the failure code for an SQLSTATE. Without one the error is from the connection, not from the server.
pub(crate) fn code_of_sqlstate(state: Option<&str>) -> String {
    match state {
        Some(SQLSTATE_SUPERSEDED) => StepCode::EpochStale.into(),
        Some(SQLSTATE_OTHER_DATABASE) => StepCode::ShardOtherDatabase.into(),
        Some(SQLSTATE_OUTDATED) => StepCode::RegisterOutdated.into(),
        Some(state) => format!("{SQL_CODE_PREFIX}{state}"),
        None => StepCode::Connection.into(),
    }
}

fn hint_of(error: &tokio_postgres::Error) -> Option<String> {
    let server_hint = error.as_db_error()?.hint().map(str::to_owned);
    hint_of_sqlstate(connect::cause_state_of(error)?, server_hint)
}

/// Returns how to fix the error; if this is not known, the server's own hint.
pub(crate) fn hint_of_sqlstate(state: &str, server_hint: Option<String>) -> Option<String> {
    let hint = match state {
        "53100" => "free space on the server's disk, then `resume`",
        "42501" => "grant the missing privilege to the agent's role, then `resume`",
        "28P01" | "28000" => "correct the password or the server's pg_hba.conf, then `resume`",
        SQLSTATE_OUTDATED => StepCode::RegisterOutdated.hint()?,
        _ => return server_hint,
    };
    Some(hint.to_owned())
}

/// Returns how an error of this class is retried.
pub(crate) fn retry_of(class: Class) -> RetryClass {
    match class {
        Class::Transient => RetryClass::Exponential,
        Class::Permanent | Class::Resource | Class::NotOwner => RetryClass::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use connect::{Dsn, Session, Walsender};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// Answers two logins with an error of the SQLSTATE.
    async fn refusing(state: &'static str, message: &'static str) -> Dsn {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let port = listener.local_addr().expect("an address").port();
        tokio::spawn(async move {
            for _ in 0..2 {
                let (mut client, _) = listener.accept().await.expect("a client");
                let size = client.read_u32().await.expect("a startup message");
                let mut startup = vec![0; size as usize - 4];
                client.read_exact(&mut startup).await.expect("a message");
                let fields = format!("SFATAL\0VFATAL\0C{state}\0M{message}\0\0");
                let size = u32::try_from(fields.len() + 4).expect("short");
                let answer = [b"E", &size.to_be_bytes()[..], fields.as_bytes()].concat();
                client.write_all(&answer).await.expect("answered");
            }
        });
        Dsn::parse(&format!(
            "host=127.0.0.1 port={port} user=u password=p dbname=d sslmode=disable"
        ))
        .expect("parses")
    }

    #[tokio::test]
    async fn a_full_disk_has_one_code_and_remedy_at_a_login_and_in_a_statement() {
        let full = "free space on the server's disk";
        for (state, message, code, hint) in [
            ("53100", "no space", "sql.53100", full),
            ("XX000", "could not write init file", "sql.53100", full),
            ("28P01", "refused", "connect", "check user and password"),
            ("SM008", "another", "shard.other_database", ""),
        ] {
            let dsn = refusing(state, message).await;
            let session = connect::connect(&dsn, &Session::named("test")).await;
            let walsender = Walsender::open(&dsn, "test", "").await.map(drop);
            for refused in [session.map(drop), walsender] {
                let error = refused.at("shard b").expect_err("refused");
                let failure = error.failure().expect("a failure");
                assert_eq!(failure.code, code);
                assert!(failure.hint.as_deref().unwrap_or_default().contains(hint));
                let retries = retry_of(connect::classify_server(state, message));
                assert_eq!(failure.retry, retries);
            }
        }
    }
}
