//! Sign-in with a person's token, and sign-out.

use super::page::{DashboardPage, PageError};
use crate::api::{AccessRefusal, Admission, COOKIE, address, cookie};
use crate::controller::{Controller, SignedInBrowser};
use askama::Template;
use axum::Extension;
use axum::Form;
use axum::extract::{FromRequest, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use serde::Deserialize;

/// The query parameters.
#[derive(Debug, Deserialize)]
pub(super) struct SignInQuery {
    #[serde(default)]
    next: String,
    /// The one-time code from the command `shardwright dashboard`.
    #[serde(default)]
    code: String,
}

/// The form.
#[derive(Debug, Deserialize)]
pub(super) struct TokenInput {
    #[serde(default)]
    token: String,
    #[serde(default)]
    next: String,
}

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    next: String,
    /// The one-time code, which replaces a token.
    code: String,
    wrong: Option<String>,
}

impl SignInPage {
    fn page(query: &SignInQuery, wrong: Option<String>) -> DashboardPage {
        let sign_in = Self {
            next: path_on_this_site(&query.next).to_owned(),
            code: query.code.clone(),
            wrong,
        };
        DashboardPage::static_page("Sign in", &sign_in, None)
    }
}

/// Shows the form.
pub(super) async fn show(Query(query): Query<SignInQuery>) -> DashboardPage {
    SignInPage::page(&query, None)
}

/// Checks the token or the code, and begins a session.
pub(super) async fn begin(
    State(controller): State<Controller>,
    Extension(admission): Extension<Admission>,
    request: Request,
) -> Result<Response, PageError> {
    let from = address(&request);
    let host = request.headers().get(header::HOST).cloned();
    let Ok(Form(input)) = Form::<TokenInput>::from_request(request, &()).await else {
        return Err(AccessRefusal::Form.into());
    };
    let secret = crate::access::Secret::presented(&input.token);
    let wait = admission.refusal_of_address(from);
    let signed_in = match wait {
        Some(_) => None,
        None => controller.sign_in(&secret).await?,
    };
    let Some(signed_in) = signed_in else {
        let refused = wait.unwrap_or_else(|| admission.count_wrong_token(from));
        let wrong = Some(refused.message());
        let query = SignInQuery {
            next: input.next,
            code: String::new(),
        };
        let page = SignInPage::page(&query, wrong);
        return Ok((refused.status(), page).into_response());
    };
    tracing::info!(name = %signed_in.caller.name, %from, "signed in");
    let cookie = [(
        header::SET_COOKIE,
        session_cookie(&controller, host.as_ref(), &signed_in),
    )];
    let to = Redirect::to(path_on_this_site(&input.next));
    Ok((AppendHeaders(cookie), to).into_response())
}

/// The fields of the form.
#[derive(Debug, Deserialize)]
pub(super) struct SignOutForm {
    #[serde(default)]
    csrf: String,
}

/// Ends the session of the cookie, if the form carries the CSRF token of this session.
pub(super) async fn end(
    State(controller): State<Controller>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, PageError> {
    let Ok(Form(input)) = Form::<SignOutForm>::from_request(request, &()).await else {
        return Err(AccessRefusal::Form.into());
    };
    if let Some(cookie) = cookie(&headers) {
        if input.csrf != cookie.csrf() {
            return Err(AccessRefusal::Form.into());
        }
        controller.sign_out(&cookie).await?;
    }
    let expired = format!("{COOKIE}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0");
    let cookie = [(header::SET_COOKIE, expired)];
    Ok((AppendHeaders(cookie), Redirect::to("/sign-in")).into_response())
}

/// Returns the value of the header that sets the session cookie.
fn session_cookie(
    controller: &Controller,
    host: Option<&HeaderValue>,
    signed_in: &SignedInBrowser,
) -> String {
    let SignedInBrowser { cookie, lasts, .. } = signed_in;
    // The attribute `Secure` is set only if the controller or a proxy uses TLS. Otherwise the browser would not return
    // the cookie.
    let host = host.map_or(&b""[..], HeaderValue::as_bytes);
    let mut secured = controller
        .urls()
        .filter_map(|url| url.strip_prefix("https://"));
    let is_behind_tls_proxy = secured.any(|name| name.as_bytes().eq_ignore_ascii_case(host));
    let secure = if is_behind_tls_proxy || controller.url().starts_with("https://") {
        "; Secure"
    } else {
        ""
    };
    let secret = cookie.reveal();
    format!("{COOKIE}={secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age={lasts}{secure}")
}

/// Returns `next` if it is path and query of a page of this dashboard, otherwise the overview.
fn path_on_this_site(next: &str) -> &str {
    let is_allowed = |c: char| c.is_ascii_graphic() && c != '\\';
    let is_local_path =
        next.starts_with('/') && !next.starts_with("//") && next.chars().all(is_allowed);
    if is_local_path { next } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::path_on_this_site;

    #[test]
    fn no_sign_in_leads_to_another_site() {
        assert_eq!(path_on_this_site("/migrations/m1"), "/migrations/m1");
        for next in [
            "",
            "//evil.example",
            "https://evil.example",
            "/\\evil.example",
            "/\t/evil.example/x",
            "/\n/evil.example",
            "/a\r\nset-cookie: a=b",
            "/\u{a0}x",
        ] {
            assert_eq!(path_on_this_site(next), "/", "{next}");
        }
    }
}
