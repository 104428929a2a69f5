//! Reads credentials and the reason of a command from the headers of a request.

use crate::access::Secret;
use axum::http::{HeaderMap, header};

/// The name of the session cookie.
pub(crate) const COOKIE: &str = "shardwright_session";
/// The header that contains the reason for a command.
pub(crate) const REASON_HEADER: &str = "x-shardwright-reason";

/// The credentials of a request.
pub(super) enum Credentials {
    Token(Secret),
    Cookie(Secret),
    /// The request has neither.
    None,
}

impl Credentials {
    /// Returns the credentials. If a request has a token and a cookie, the token is used.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        match (bearer(headers), cookie(headers)) {
            (Some(token), _) => Self::Token(token),
            (None, Some(cookie)) => Self::Cookie(cookie),
            (None, None) => Self::None,
        }
    }
}

/// Returns the header's text, or `None` if it is empty or is not valid text.
pub(super) fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let value = headers.get(name)?.to_str().ok()?;
    (!value.is_empty()).then_some(value)
}

/// Returns the reason for a command whose body has no field for it. It may contain any Unicode text.
pub(super) fn reason(headers: &HeaderMap) -> Option<String> {
    let text = std::str::from_utf8(headers.get(REASON_HEADER)?.as_bytes()).ok()?;
    (!text.trim().is_empty()).then(|| text.to_owned())
}

fn bearer(headers: &HeaderMap) -> Option<Secret> {
    let (scheme, token) = text(headers, header::AUTHORIZATION.as_str())?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| Secret::presented(token))
}

/// Returns the session cookie.
pub(crate) fn cookie(headers: &HeaderMap) -> Option<Secret> {
    let sent = headers.get_all(header::COOKIE).iter();
    let texts = sent.filter_map(|value| value.to_str().ok());
    let mut pairs = texts
        .flat_map(|text| text.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(name, _)| *name == COOKIE)?;
    Some(Secret::presented(value))
}
