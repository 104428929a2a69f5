//! The only module that knows HTTP status codes. It converts errors into RFC 9457 problem documents.

mod control;
pub(super) mod keyed;
mod refused;

pub(crate) use control::{INLINE_PASSWORD, UNREADABLE_DSN};
pub use refused::AccessRefusal;

use super::health::ReadinessCheck;
use crate::store::StoreError;
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use control::PLAN_AGAIN;
use plans::doctor::Finding;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// An error as RFC 9457 defines it, with a stable code and a hint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// `about:blank#CODE`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The reason phrase of the HTTP status.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened, and to which object.
    pub detail: String,
    /// A stable code, in `noun.reason` form.
    pub code: String,
    /// What the caller can do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The line of a malformed document at which the error is, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The column of a malformed document at which the error is, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The results of the readiness checks, if the controller is not ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<ReadinessCheck>,
    /// What must be fixed before a plan can be made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

impl Problem {
    /// Returns true if nothing was done because this controller does not lead. Another controller may carry the request
    /// out.
    #[must_use]
    pub fn is_not_leading(&self) -> bool {
        matches!(self.code.as_str(), NOT_LEADING | NO_LEADER)
    }
}

/// An error that the controller returns to the caller.
#[derive(Debug)]
pub struct ApiError(Box<Problem>);

impl ApiError {
    fn new(status: StatusCode, code: &str, detail: String) -> Self {
        Self(Box::new(Problem {
            kind: format!("about:blank#{code}"),
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            detail,
            code: code.to_owned(),
            hint: None,
            line: None,
            column: None,
            checks: Vec::new(),
            findings: Vec::new(),
        }))
    }

    /// A readiness check failed.
    pub(super) fn not_ready(checks: Vec<ReadinessCheck>) -> Self {
        let failed = checks.iter().filter(|check| !check.ok);
        let failed: Vec<String> = failed
            .map(|c| format!("{}: {}", c.name, c.detail))
            .collect();
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let mut problem = Self::new(status, "controller.not_ready", failed.join("; "));
        problem.0.checks = checks;
        problem
    }

    /// The body is larger than `limit` bytes.
    pub(super) fn too_large(limit: usize) -> Self {
        let detail = format!("the body has more than {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "body.too_large", detail)
    }

    /// The body did not arrive within `limit`.
    pub(super) fn too_slow(limit: Duration) -> Self {
        let detail = format!("the body did not arrive within {} seconds", limit.as_secs());
        Self::new(StatusCode::REQUEST_TIMEOUT, "body.too_slow", detail)
    }

    /// The handler panicked: a bug in the controller.
    pub(super) fn panicked() -> Self {
        let detail = "a defect of the controller ended this request".to_owned();
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "controller.panicked", detail)
            .hint("check whether the command was carried out before you repeat it; the controller's log shows where it failed")
    }

    /// The command was refused because its line cannot be written to the audit trail.
    pub(super) fn unaudited() -> Self {
        let detail = "the audit trail cannot be written, and no command is carried out without its line there";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "audit.unavailable", detail.to_owned())
            .hint("nothing was done; the controller's log has the reason; to carry out commands without a line, start the controller with --audit noted")
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    fn at(mut self, line: Option<u64>, column: Option<u64>) -> Self {
        self.0.line = line;
        self.0.column = column;
        self
    }
}

impl ApiError {
    /// Returns status and problem, for a page that shows them.
    pub(crate) fn into_parts(self) -> (StatusCode, Problem) {
        let status = StatusCode::from_u16(self.0.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if status.is_server_error() {
            tracing::warn!(code = %self.0.code, detail = %self.0.detail, "request failed");
        }
        (status, *self.0)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, problem) = self.into_parts();
        let kind = [(header::CONTENT_TYPE, "application/problem+json")];
        let refusal = RefusedCall {
            code: problem.code.clone(),
            detail: problem.detail.clone(),
        };
        let mut response = (status, kind, Json(problem)).into_response();
        response.extensions_mut().insert(refusal);
        response
    }
}

/// The code and the detail of a refusal, for the audit trail.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RefusedCall {
    pub(super) code: String,
    pub(super) detail: String,
}

/// A new object was created.
pub(super) const CREATED: StatusCode = StatusCode::CREATED;
/// The response has no content.
pub(super) const NO_CONTENT: StatusCode = StatusCode::NO_CONTENT;
/// The client already has this content.
pub(super) const NOT_MODIFIED: StatusCode = StatusCode::NOT_MODIFIED;

/// No route has this path.
pub(super) async fn no_route() -> ApiError {
    let detail = "no route has this path".to_owned();
    ApiError::new(StatusCode::NOT_FOUND, "path.missing", detail)
}

/// The path does not support this method.
pub(super) async fn no_method() -> ApiError {
    let detail = "this path does not support this method".to_owned();
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "path.method", detail)
}

/// Host or Origin belongs to another server or another website.
pub(super) fn foreign_header(header: &str, value: &str) -> ApiError {
    let detail = format!(
        "the header {header} has the value {value:?}, which is not an address of this controller"
    );
    let code = format!("{}.foreign", header.to_ascii_lowercase());
    ApiError::new(StatusCode::FORBIDDEN, &code, detail)
        .hint("use http://127.0.0.1, localhost or [::1] with the controller's port, or a URL that the controller was given with --advertise or --also-at")
}

/// Another controller leads: redirects the request to it.
pub(super) fn redirect_to_leader(leader: &str, path: &str) -> Response {
    let status = StatusCode::TEMPORARY_REDIRECT;
    let problem = ApiError::new(
        status,
        "controller.follows",
        format!("this controller follows the leader at {leader}"),
    );
    let problem = problem.hint(format!("send the request to {leader}{path}"));
    let mut response = problem.into_response();
    if let Ok(location) = HeaderValue::from_str(&format!("{leader}{path}")) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// The leader did not answer a request that this controller had forwarded to it.
pub(super) fn leader_lost(leader: &str, error: &dyn std::fmt::Display) -> ApiError {
    let detail = format!("the leader at {leader} did not answer: {error}");
    ApiError::new(StatusCode::BAD_GATEWAY, "controller.leader_lost", detail).hint(
        "the outcome is unknown: check whether the command was carried out before you repeat it",
    )
}

/// No controller leads.
pub(super) fn no_leader() -> ApiError {
    let detail = "no controller leads at the moment".to_owned();
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, NO_LEADER, detail)
        .hint("try again in a second; /api/v1/health of each controller names the leader")
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let detail = error.to_string();
        let conflict = |code: &str| Self::new(StatusCode::CONFLICT, code, detail.clone());
        match &error {
            StoreError::Exists { what, .. } => conflict(&format!("{what}.exists")),
            StoreError::Missing { what, .. } => {
                Self::new(StatusCode::NOT_FOUND, &format!("{what}.missing"), detail).hint(format!(
                    "`shardwright {} list` lists those that exist",
                    cli_noun(what)
                ))
            }
            StoreError::ShardInUse { .. } => {
                conflict("shard.in_use").hint("every version of a map keeps its shards")
            }
            StoreError::MapMoved { .. } => conflict("map.in_use")
                .hint("shards keep evidence of a map with migrations, so such a map stays, also after they have ended"),
            StoreError::AgentAlive { .. } => conflict(AGENT_ALIVE).hint(STOP_AGENT),
            StoreError::AgentAssigned { migration, .. } => conflict("agent.in_use").hint(format!(
                "wait until another agent has taken {migration} over, or abort it: shardwright show {migration}"
            )),
            StoreError::KeysMoving { migration } => conflict("keys.moving").hint(format!(
                "wait until {migration} ends, or abort it: shardwright show {migration}"
            )),
            StoreError::ShardMoving { migration, .. } => conflict("shard.in_use").hint(format!(
                "wait until {migration} ends, or abort it: shardwright show {migration}"
            )),
            StoreError::Converting { map, .. } => conflict("map.converting").hint(format!(
                "wait until the conversion has ended: shardwright map history {map}"
            )),
            StoreError::ConversionEnded { .. } => conflict("map.converting")
                .hint("another controller ends the conversion: read the map again in a few seconds"),
            StoreError::SettingsRevision { .. } => {
                conflict("map.busy").hint("another user changed the settings: read them again, then repeat the change")
            }
            StoreError::MapVersion { .. } => conflict("plan.stale").hint(PLAN_AGAIN),
            StoreError::NotLeading => {
                Self::new(StatusCode::MISDIRECTED_REQUEST, NOT_LEADING, detail)
                    .hint("nothing was done: send the request again; it is then redirected to the leader")
            }
            StoreError::Busy => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "migration.busy", detail)
                    .hint("try again in a second")
            }
            StoreError::Unwritable { .. } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "field.invalid", detail)
            }
            StoreError::Unavailable { source } => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "store.unavailable",
                format!("{detail}: {source}"),
            )
            .hint("the outcome is unknown: check whether the command was carried out before you repeat it"),
        }
    }
}

/// The code of the error if the controller lost the leadership during the request.
const NOT_LEADING: &str = "controller.not_leading";
/// The code of the error while no controller leads.
const NO_LEADER: &str = "controller.no_leader";

/// The code of the error if an agent cannot be removed because it may be running.
const AGENT_ALIVE: &str = "agent.alive";
const STOP_AGENT: &str = "stop the agent, then repeat the command a few seconds later; a running agent would be recorded again at once";

/// Returns the word that the command line uses for a kind of object.
fn cli_noun(what: &str) -> &str {
    match what {
        "step" | "operation" => "migration",
        "version" => "map",
        other => other,
    }
}
