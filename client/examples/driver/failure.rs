//! The errors of the library, with their names in the suite.

use client::{ClientError, RouteError};
use serde::Serialize;
use std::error::Error;
use std::fmt;

/// The `error` of an answer.
#[derive(Debug, Serialize)]
pub(crate) struct Failure {
    kind: &'static str,
    message: String,
    sqlstate: Option<String>,
}

impl Failure {
    pub(crate) fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            sqlstate: None,
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }
}

/// An error of the application's own closure.
#[derive(Debug)]
pub(crate) struct ApplicationError(pub(crate) String);

impl fmt::Display for ApplicationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for ApplicationError {}

impl From<RouteError> for Failure {
    fn from(error: RouteError) -> Self {
        Self::new(route_kind(&error), error.to_string())
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let sqlstate = chain(&error).find_map(|cause| {
            let code = cause.downcast_ref::<tokio_postgres::Error>()?.code()?;
            Some(code.code().to_owned())
        });
        let is_own = chain(&error).any(<dyn Error>::is::<ApplicationError>);
        let kind = match &error {
            ClientError::Route(error) => route_kind(error),
            ClientError::Unreachable { .. } => "no_access",
            ClientError::Connect { .. } => "connect",
            ClientError::Fetch { .. } => "fetch",
            ClientError::FailedStatementIgnored { .. } => "failed_statement_ignored",
            ClientError::TransactionEnded { .. } => "transaction_ended",
            ClientError::CommitUnknown { .. } => "commit_unknown",
            ClientError::NoAnswer { .. } => "no_answer",
            ClientError::GaveUp { .. } => "gave_up",
            ClientError::RolledBack { .. } if is_own => "application",
            ClientError::RolledBack { .. } if sqlstate.is_some() => "database",
            ClientError::RolledBack { .. } => "unexpected",
        };
        let texts: Vec<String> = chain(&error).map(ToString::to_string).collect();
        Self {
            kind,
            message: texts.join(": "),
            sqlstate,
        }
    }
}

fn route_kind(error: &RouteError) -> &'static str {
    match error {
        RouteError::Unmapped { .. } => "unmapped",
        RouteError::Stale { .. } => "stale",
        RouteError::Key { .. } => "not_a_key",
    }
}

/// Returns an error and its causes.
fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error)
    })
}
