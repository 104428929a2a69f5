//! The response to a client that is not admitted.

use super::ApiError;
use crate::access::{Role, RouteAccess};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::time::Duration;

/// Why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessRefusal {
    /// The request has no token and no cookie.
    NoToken,
    /// The token or cookie is not valid.
    WrongToken,
    /// This address has sent too many wrong tokens. The value is the time until it may try again.
    TooOften(Duration),
    /// The role of the token does not permit this route.
    Role(Role, RouteAccess),
    /// The controller is read-only, and refuses every request that changes something.
    ReadOnly,
    /// The form does not carry the CSRF token of this session.
    Form,
}

impl AccessRefusal {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::NoToken | Self::WrongToken => StatusCode::UNAUTHORIZED,
            Self::TooOften(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Role(..) | Self::ReadOnly | Self::Form => StatusCode::FORBIDDEN,
        }
    }

    /// Returns in one line what happened and what to do.
    pub(crate) fn message(self) -> String {
        let (_, problem) = ApiError::from(self).into_parts();
        format!("{}; {}", problem.detail, problem.hint.unwrap_or_default())
    }

    /// Returns the stable code of the problem.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::NoToken => "token.missing",
            Self::WrongToken => "token.wrong",
            Self::TooOften(_) => "token.too_often",
            Self::Role(..) => "token.role",
            Self::ReadOnly => "controller.read_only",
            Self::Form => "form.stale",
        }
    }
}

impl From<AccessRefusal> for ApiError {
    fn from(refusal: AccessRefusal) -> Self {
        let (detail, hint) = match refusal {
            AccessRefusal::NoToken => (
                "this controller requires a token".to_owned(),
                "put the token into a file, and name the file with --token-file or SHARDWRIGHT_TOKEN_FILE (not needed \
                 for the account that started a controller on this machine); in HTTP requests send the header \
                 Authorization: Bearer TOKEN"
                    .to_owned(),
            ),
            AccessRefusal::WrongToken => (
                "the token is not valid: it is misspelled, expired or revoked".to_owned(),
                "an admin can create a new token: shardwright token create NAME --role ROLE".to_owned(),
            ),
            AccessRefusal::TooOften(wait) => (
                "this address has sent too many wrong tokens".to_owned(),
                format!("try again in {} seconds", wait.as_secs() + 1),
            ),
            AccessRefusal::Role(role, need) => (
                format!("the role {role} does not permit this"),
                format!("use a token with the role {}, or a role with more permissions", need.lowest_role()),
            ),
            AccessRefusal::ReadOnly => (
                "this controller is read-only".to_owned(),
                "send the request to a controller that was started without --read-only".to_owned(),
            ),
            AccessRefusal::Form => (
                "the form does not belong to this session".to_owned(),
                "nothing was done: load the page again, then send the form again".to_owned(),
            ),
        };
        Self::new(refusal.status(), refusal.code(), detail).hint(hint)
    }
}

impl IntoResponse for AccessRefusal {
    fn into_response(self) -> Response {
        let mut response = ApiError::from(self).into_response();
        let headers = response.headers_mut();
        if let Self::TooOften(wait) = self {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs() + 1));
        }
        if self.status() == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"shardwright\"");
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}
