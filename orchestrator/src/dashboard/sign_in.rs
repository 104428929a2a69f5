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
    fn page(wanted: &SignInQuery, wrong: Option<String>) -> DashboardPage {
        let sign_in = Self {
            next: inside(&wanted.next).to_owned(),
            code: wanted.code.clone(),
            wrong,
        };
        DashboardPage::still("Sign in", &sign_in, None)
    }
}

/// Shows the form.
pub(super) async fn show(Query(wanted): Query<SignInQuery>) -> DashboardPage {
    SignInPage::page(&wanted, None)
}

/// Begins a session.
pub(super) async fn begin(
    State(controller): State<Controller>,
    Extension(admission): Extension<Admission>,
    request: Request,
) -> Result<Response, PageError> {
    let from = address(&request);
    let host = request.headers().get(header::HOST).cloned();
    let Ok(Form(shown)) = Form::<TokenInput>::from_request(request, &()).await else {
        return Err(AccessRefusal::Form.into());
    };
    let secret = crate::access::Secret::presented(&shown.token);
    let wait = admission.refusal_of_address(from);
    let signed_in = match wait {
        Some(_) => None,
        None => controller.sign_in(&secret).await?,
    };
    let Some(signed_in) = signed_in else {
        let refused = wait.unwrap_or_else(|| admission.count_wrong_token(from));
        let wrong = Some(refused.message());
        let wanted = SignInQuery {
            next: shown.next,
            code: String::new(),
        };
        let page = SignInPage::page(&wanted, wrong);
        return Ok((refused.status(), page).into_response());
    };
    tracing::info!(name = %signed_in.caller.name, %from, "signed in");
    let cookie = [(
        header::SET_COOKIE,
        begun(&controller, host.as_ref(), &signed_in),
    )];
    let to = Redirect::to(inside(&shown.next));
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
    let Ok(Form(leaving)) = Form::<SignOutForm>::from_request(request, &()).await else {
        return Err(AccessRefusal::Form.into());
    };
    if let Some(cookie) = cookie(&headers) {
        if leaving.csrf != cookie.csrf() {
            return Err(AccessRefusal::Form.into());
        }
        controller.sign_out(&cookie).await?;
    }
    let expired = format!("{COOKIE}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0");
    let cookie = [(header::SET_COOKIE, expired)];
    Ok((AppendHeaders(cookie), Redirect::to("/sign-in")).into_response())
}

fn begun(
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
    let in_front = secured.any(|name| name.as_bytes().eq_ignore_ascii_case(host));
    let secure = if in_front || controller.url().starts_with("https://") {
        "; Secure"
    } else {
        ""
    };
    let secret = cookie.reveal();
    format!("{COOKIE}={secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age={lasts}{secure}")
}

/// Returns `next` if it is path and query of a page of this dashboard, otherwise the overview.
fn inside(next: &str) -> &str {
    let plain = |c: char| c.is_ascii_graphic() && c != '\\';
    let ours = next.starts_with('/') && !next.starts_with("//") && next.chars().all(plain);
    if ours { next } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::inside;

    #[test]
    fn no_sign_in_leads_to_another_site() {
        assert_eq!(inside("/migrations/m1"), "/migrations/m1");
        for elsewhere in [
            "",
            "//evil.example",
            "https://evil.example",
            "/\\evil.example",
            "/\t/evil.example/x",
            "/\n/evil.example",
            "/a\r\nset-cookie: a=b",
            "/\u{a0}x",
        ] {
            assert_eq!(inside(elsewhere), "/", "{elsewhere}");
        }
    }
}
