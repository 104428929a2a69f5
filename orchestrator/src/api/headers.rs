//! What the headers of a request say: who asks, and why.

use crate::access::Secret;
use axum::http::{HeaderMap, header};

/// The cookie of a browser that is signed in.
pub(crate) const COOKIE: &str = "shardwright_session";
/// Why an order is given.
pub(crate) const REASON_HEADER: &str = "x-shardwright-reason";

/// By what a reader was let in.
pub(super) enum Credentials {
    Token(Secret),
    Cookie(Secret),
    None,
}

impl Credentials {
    /// A token goes before a cookie.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        match (bearer(headers), cookie(headers)) {
            (Some(token), _) => Self::Token(token),
            (None, Some(cookie)) => Self::Cookie(cookie),
            (None, None) => Self::None,
        }
    }
}

/// The header's text, unless it is empty or no text.
pub(super) fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let value = headers.get(name)?.to_str().ok()?;
    (!value.is_empty()).then_some(value)
}

/// The reason of an order whose body has no room for one, in any language.
pub(super) fn why(headers: &HeaderMap) -> Option<String> {
    let text = std::str::from_utf8(headers.get(REASON_HEADER)?.as_bytes()).ok()?;
    (!text.trim().is_empty()).then(|| text.to_owned())
}

fn bearer(headers: &HeaderMap) -> Option<Secret> {
    let (scheme, token) = text(headers, header::AUTHORIZATION.as_str())?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| Secret::shown(token))
}

/// The session's cookie.
pub(crate) fn cookie(headers: &HeaderMap) -> Option<Secret> {
    let sent = headers.get_all(header::COOKIE).iter();
    let texts = sent.filter_map(|value| value.to_str().ok());
    let mut pairs = texts
        .flat_map(|text| text.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(name, _)| *name == COOKIE)?;
    Some(Secret::shown(value))
}
