//! Authenticates each request, checks whether its route permits it, and writes every command to the audit trail.
//!
//! The order is: find the access that the route needs; authenticate the token or cookie of the request; check its role;
//! check that a form contains the CSRF token of its session; call the handler; write the line to the audit trail. The
//! handler finds the [`Caller`] among the request's extensions, and its name in the header
//! [`ACTOR_HEADER`](super::ACTOR_HEADER).

use super::connections::Peer;
use super::error::{AccessRefusal, RefusedCall};
use super::headers::{Credentials, reason, text};
use super::refusals::RefusalLog;
use super::{ACTOR_HEADER, ApiError, BODY_LIMIT, RefusedPage, audited, leader};
use crate::access::{AccessRule, AuditRule, Caller, FailedAttempts, RouteAccess};
use crate::controller::{Controller, LeadershipState};
use crate::store::AuditRecord;
use axum::body::Body;
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use futures::{FutureExt, StreamExt};
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The header in which a page's scripts send the CSRF token of a form.
const CSRF_HEADER: &str = "x-csrf-token";
/// The longest wait until a body has arrived completely.
const MAX_BODY_WAIT: Duration = Duration::from_secs(30);
/// The largest JSON body from which the reason and the details for the audit trail are read.
const REASON_LIMIT: usize = 64 << 10;

/// The time between two checks whether the client may still read a feed.
const RECHECK_INTERVAL: Duration = Duration::from_secs(2);

/// The path of a claim: an agent's long poll, which is answered when there is work.
const CLAIM: &str = "/api/v1/agents/claim";

/// The state that the admission of requests needs.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    controller: Controller,
    failed_attempts: Arc<FailedAttempts>,
    refusals: Arc<RefusalLog>,
    page: RefusedPage,
}

impl Admission {
    pub(crate) fn new(controller: Controller, page: RefusedPage) -> Self {
        Self {
            controller,
            failed_attempts: Arc::default(),
            refusals: Arc::default(),
            page,
        }
    }

    /// Returns the caller of the request, or the response that refuses the request.
    async fn authenticate(
        &self,
        call: &RequestInfo,
        headers: &HeaderMap,
    ) -> Result<Caller, Response> {
        if self.controller.rule() == AccessRule::Open {
            let name = text(headers, ACTOR_HEADER);
            let name = name.unwrap_or(if call.is_page {
                "dashboard"
            } else {
                "operator"
            });
            return Ok(Caller::without_token(name, self.controller.is_read_only()));
        }
        let credentials = Credentials::of(headers);
        if !call.is_known
            && let Some(wait) = self.refusal_of_address(call.from)
        {
            return Err(self.refuse(call, wait));
        }
        let caller = match &credentials {
            Credentials::Token(token) => self.controller.visitor_of_secret(token).await,
            Credentials::Cookie(cookie)
                if self
                    .failed_attempts
                    .is_wrong_cookie(cookie.digest(), Instant::now()) =>
            {
                Ok(None)
            }
            Credentials::Cookie(cookie) => self.controller.signed_in(cookie).await,
            Credentials::None => Ok(None),
        };
        match (caller, credentials) {
            (Err(error), _) => Err(ApiError::from(error).into_response()),
            (Ok(Some(caller)), _) => Ok(caller),
            (Ok(None), Credentials::Token(_)) => {
                Err(self.refuse(call, self.count_wrong_token(call.from)))
            }
            (Ok(None), Credentials::Cookie(cookie)) => {
                self.failed_attempts
                    .count_wrong_cookie(cookie.digest(), call.from, Instant::now());
                Err(self.refuse(call, AccessRefusal::NoToken))
            }
            (Ok(None), Credentials::None) => Err(self.refuse(call, AccessRefusal::NoToken)),
        }
    }

    /// If the response is a feed, ends it when its client is no longer permitted to read it.
    fn end_feed_with_access(&self, response: Response, credentials: Credentials) -> Response {
        if self.controller.rule() == AccessRule::Open || !is_feed(&response) {
            return response;
        }
        let admission = self.clone();
        let access_lost = async move { while admission.are_still_valid(&credentials).await {} };
        response.map(|body| {
            Body::from_stream(body.into_data_stream().take_until(Box::pin(access_lost)))
        })
    }

    /// Waits for [`RECHECK_INTERVAL`], and returns whether these credentials are still valid. If the store cannot be
    /// reached, it returns true.
    async fn are_still_valid(&self, credentials: &Credentials) -> bool {
        tokio::time::sleep(RECHECK_INTERVAL).await;
        let caller = match credentials {
            Credentials::Token(token) => self.controller.visitor_of_secret(token).await,
            Credentials::Cookie(cookie) => self.controller.signed_in(cookie).await,
            Credentials::None => return false,
        };
        !matches!(caller, Ok(None))
    }

    /// Counts the refusal, and returns its response.
    fn refuse(&self, call: &RequestInfo, refused: AccessRefusal) -> Response {
        self.controller.observed().refusal(refused.code());
        call.refuse(refused, self.page)
    }

    /// Counts a wrong token from this address, and returns the refusal.
    pub(crate) fn count_wrong_token(&self, from: IpAddr) -> AccessRefusal {
        let wait = self.failed_attempts.count_wrong(from, Instant::now());
        wait.map_or(AccessRefusal::WrongToken, AccessRefusal::TooOften)
    }

    /// Returns the refusal for every request from an address that has sent too many wrong tokens.
    pub(crate) fn refusal_of_address(&self, from: IpAddr) -> Option<AccessRefusal> {
        let wait = self.failed_attempts.remaining_wait(from, Instant::now());
        wait.map(AccessRefusal::TooOften)
    }

    /// If the configuration requires a line for every command, writes one to the audit trail before the command is
    /// carried out. Only the leader, which carries the command out, writes the line.
    async fn audit_beginning(&self, command: &AuditedCommand) -> Result<(), ApiError> {
        if self.controller.audit_rule() != AuditRule::Required {
            return Ok(());
        }
        let role = self.controller.settled_role(leader::LEADER_WAIT).await;
        if !matches!(role, LeadershipState::Leads(_)) {
            return Ok(());
        }
        let record = command.record(json!("begun"));
        let written = self.controller.store().add_audit(&record).await;
        written.map_err(|error| {
            tracing::error!(%error, what = command.what, "command refused: its line could not be written to the audit trail");
            ApiError::unaudited()
        })
    }

    async fn audit_outcome(&self, command: AuditedCommand, outcome: Value) {
        self.add_audit(command.record(outcome)).await;
    }

    /// Writes to the audit trail that an agent's call was refused. If the agent repeats the call and the reason is the
    /// same, the refusal is written once per minute.
    async fn audit_agent_refusal(&self, command: AuditedCommand, refusal: RefusedCall) {
        let token = self.controller.token_of(&command.caller);
        let key = (token.name().to_owned(), command.what.clone(), refusal);
        if !self.refusals.record_if_new(&key, Instant::now()) {
            return;
        }
        let (actor, object, refusal) = key;
        self.add_audit(AuditRecord {
            at: chrono::Utc::now(),
            actor,
            action: "agent.refused".to_owned(),
            object,
            data: json!({
                "from": command.from,
                "code": refusal.code,
                "detail": refusal.detail,
            }),
        })
        .await;
    }

    /// Writes a line to the audit trail. If this fails, the line is logged instead.
    async fn add_audit(&self, record: AuditRecord) {
        if let Err(error) = self.controller.store().add_audit(&record).await {
            let AuditRecord {
                actor,
                object,
                data,
                ..
            } = record;
            tracing::warn!(%error, actor, object, %data, "a line could not be written to the audit trail");
        }
    }
}

fn is_feed(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// What admission needs to know about a request.
struct RequestInfo {
    need: RouteAccess,
    is_page: bool,
    /// True for GET and HEAD.
    only_reads: bool,
    from: IpAddr,
    /// True if an earlier request on this connection was admitted.
    is_known: bool,
    /// Method and path, as text for the audit trail.
    method_and_path: String,
    path: String,
    method: String,
    pattern: String,
}

/// A command, for the audit trail.
#[derive(Clone)]
struct AuditedCommand {
    caller: Caller,
    from: String,
    what: String,
    why: Option<String>,
    /// Fields of the body, without secrets.
    detail: Option<Value>,
}

impl AuditedCommand {
    fn record(&self, outcome: Value) -> AuditRecord {
        let mut data = json!({
            "role": self.caller.role,
            "from": self.from,
            "why": self.why,
            "outcome": outcome,
        });
        if let Some(detail) = &self.detail {
            data["order"] = detail.clone();
        }
        AuditRecord {
            at: chrono::Utc::now(),
            actor: self.caller.name.clone(),
            action: "order".to_owned(),
            object: self.what.clone(),
            data,
        }
    }
}

impl RequestInfo {
    fn new(request: &Request) -> Self {
        let path = request.uri().path();
        let extensions = request.extensions();
        let pattern = extensions.get::<MatchedPath>();
        let last = path.rsplit('/').next().unwrap_or_default();
        // A path without a route needs no rights: every client gets the same response, so it reveals nothing.
        let need = pattern.map_or(RouteAccess::Nothing, |pattern| {
            RouteAccess::of(request.method().as_str(), pattern.as_str(), last)
        });
        Self {
            need,
            is_page: !path.starts_with("/api/") && path != "/metrics",
            only_reads: matches!(*request.method(), Method::GET | Method::HEAD),
            from: address(request),
            is_known: peer(request).is_some_and(|peer| peer.slot.is_known()),
            method_and_path: format!("{} {path}", request.method()),
            method: request.method().to_string(),
            pattern: pattern.map_or_else(String::new, |pattern| pattern.as_str().to_owned()),
            path: path.to_owned(),
        }
    }

    /// Redirects a browser to the sign-in page. Every other client gets a problem document.
    fn refuse(&self, refused: AccessRefusal, page: RefusedPage) -> Response {
        if self.is_page && self.only_reads && refused == AccessRefusal::NoToken {
            let next = form_urlencoded::Serializer::new(String::new())
                .append_pair("next", &self.path)
                .finish();
            return Redirect::to(&format!("/sign-in?{next}")).into_response();
        }
        if self.is_page {
            return page(refused);
        }
        refused.into_response()
    }

    /// Counts the response, and measures its duration unless the request is a long poll or a feed.
    fn count(&self, controller: &Controller, response: &Response, start: Instant) {
        let is_long_running = is_feed(response) || self.pattern == CLAIM;
        let duration = (!is_long_running).then(|| start.elapsed());
        let status = response.status().as_u16();
        let observed = controller.observed();
        observed.request(&self.method, &self.pattern, status, duration);
    }

    /// Returns the refusal if the caller does not have the access that the route needs.
    fn access_refusal(&self, caller: &Caller) -> Option<AccessRefusal> {
        if caller.may(self.need) {
            None
        } else if self.need.is_granted_to(caller.role) {
            Some(AccessRefusal::ReadOnly)
        } else {
            Some(AccessRefusal::Role(caller.role, self.need))
        }
    }
}

/// Returns the address of the client.
pub(crate) fn address(request: &Request) -> IpAddr {
    let peer = peer(request);
    peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.address.ip())
}

fn peer(request: &Request) -> Option<&Peer> {
    let peer = request.extensions().get::<ConnectInfo<Peer>>();
    peer.map(|ConnectInfo(peer)| peer)
}

/// Returns the handler's response; if the handler panics, an error response.
async fn run_handler(request: Request, next: Next) -> Response {
    let answer = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    answer.unwrap_or_else(|_| ApiError::panicked().into_response())
}

/// Admits or refuses a request, as the comment at the top of the file describes.
pub(super) async fn admit(
    State(admission): State<Admission>,
    mut request: Request,
    next: Next,
) -> Response {
    let call = RequestInfo::new(&request);
    request.extensions_mut().insert(admission.clone());
    if call.need == RouteAccess::Nothing {
        if !call.only_reads
            && let Err(refused) = read_body_fields(&mut request, &call.pattern).await
        {
            return refused;
        }
        return run_handler(request, next).await;
    }
    let caller = match admission.authenticate(&call, request.headers()).await {
        Ok(caller) => caller,
        Err(refusal) => return refusal,
    };
    if let Some(peer) = peer(&request) {
        peer.slot.mark_known();
    }
    let is_command = !call.only_reads && call.need.changes();
    let mut command = AuditedCommand {
        caller: caller.clone(),
        from: call.from.to_string(),
        what: call.method_and_path.clone(),
        why: reason(request.headers()),
        detail: None,
    };
    if let Some(refused) = call.access_refusal(&caller) {
        if !call.only_reads {
            admission
                .audit_outcome(command, json!(refused.code()))
                .await;
        }
        return admission.refuse(&call, refused);
    }
    if !call.only_reads
        && let Err(refused) = admission
            .read_command(&call, &mut request, &mut command)
            .await
    {
        return refused;
    }
    if is_command && let Err(unaudited) = admission.audit_beginning(&command).await {
        return unaudited.into_response();
    }
    if let Ok(name) = HeaderValue::from_str(&caller.name) {
        let header = HeaderName::from_static(ACTOR_HEADER);
        request.headers_mut().insert(header, name);
    }
    request.extensions_mut().insert(caller);
    let start = Instant::now();
    let credentials = Credentials::of(request.headers());
    let response = run_handler(request, next).await;
    let response = admission.end_feed_with_access(response, credentials);
    call.count(&admission.controller, &response, start);
    let refusal = response.extensions().get::<RefusedCall>().cloned();
    admission
        .audit_response(&call, command, (response.status(), refusal))
        .await;
    response
}

impl Admission {
    /// Reads the body of a command, and checks that a form carries the CSRF token of its session. A refusal is written
    /// to the audit trail.
    async fn read_command(
        &self,
        call: &RequestInfo,
        request: &mut Request,
        command: &mut AuditedCommand,
    ) -> Result<(), Response> {
        let fields = match read_body_fields(request, &call.pattern).await {
            Ok(fields) => fields,
            Err(refused) => {
                let status = json!(refused.status().as_u16());
                self.audit_outcome(command.clone(), status).await;
                return Err(refused);
            }
        };
        command.detail = fields.detail;
        let presented = fields.csrf.as_deref();
        let presented = presented.or(text(request.headers(), CSRF_HEADER));
        if let Some(expected) = &command.caller.csrf
            && presented != Some(expected)
        {
            let code = json!(AccessRefusal::Form.code());
            self.audit_outcome(command.clone(), code).await;
            return Err(self.refuse(call, AccessRefusal::Form));
        }
        command.why = command.why.take().or(fields.reason);
        Ok(())
    }

    /// Writes the outcome of a call to the audit trail. If a follower redirects the call, only the leader writes it.
    async fn audit_response(
        &self,
        call: &RequestInfo,
        command: AuditedCommand,
        (status, refusal): (StatusCode, Option<RefusedCall>),
    ) {
        if let Some(refusal) = refusal.filter(|_| call.need == RouteAccess::Work)
            && status.is_client_error()
            && status != StatusCode::MISDIRECTED_REQUEST
        {
            self.audit_agent_refusal(command, refusal).await;
        } else if !call.only_reads
            && call.need.changes()
            && status != StatusCode::TEMPORARY_REDIRECT
        {
            self.audit_outcome(command, json!(status.as_u16())).await;
        }
    }
}

/// The fields of a command's body that admission needs.
#[derive(Default)]
struct BodyFields {
    csrf: Option<String>,
    reason: Option<String>,
    detail: Option<Value>,
}

/// Reads the fields from the body, which was sent to the route `pattern`. The handler still gets the whole body.
async fn read_body_fields(request: &mut Request, pattern: &str) -> Result<BodyFields, Response> {
    let body = std::mem::replace(request.body_mut(), Body::empty());
    let bytes = tokio::time::timeout(MAX_BODY_WAIT, axum::body::to_bytes(body, BODY_LIMIT)).await;
    let bytes = bytes.map_err(|_| ApiError::too_slow(MAX_BODY_WAIT).into_response())?;
    let bytes = bytes.map_err(|_| ApiError::too_large(BODY_LIMIT).into_response())?;
    let kind = text(request.headers(), header::CONTENT_TYPE.as_str()).unwrap_or_default();
    let mut fields = BodyFields::default();
    if kind.starts_with("application/x-www-form-urlencoded") {
        for (name, value) in form_urlencoded::parse(&bytes) {
            match &*name {
                "csrf" => fields.csrf = Some(value.into_owned()),
                "reason" if !value.trim().is_empty() => fields.reason = Some(value.into_owned()),
                _ => {}
            }
        }
    } else if bytes.len() <= REASON_LIMIT {
        let value: Option<Value> = serde_json::from_slice(&bytes).ok();
        let reason = value.as_ref().and_then(|value| value.get("reason"));
        fields.reason = reason.and_then(Value::as_str).map(str::to_owned);
        fields.detail = value
            .as_ref()
            .and_then(|body| audited::detail(pattern, body));
    }
    *request.body_mut() = Body::from(bytes);
    Ok(fields)
}
