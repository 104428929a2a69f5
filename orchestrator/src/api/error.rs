//! The only place that knows HTTP status codes: errors as RFC 9457 problems.

pub(super) mod keyed;
mod refused;

pub(crate) use refused::Refused;

use super::health::Check;
use crate::controller::{ControlError, DsnRefused, WordError};
use crate::store::StoreError;
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use plans::failure::Finding;
use plans::id::MapName;
use plans::plan::PlanFileError;
use plans::planner::PlanError;
use plans::request::RequestError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A problem as RFC 9457 writes it, with a stable code and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// `about:blank#CODE`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status in words.
    pub title: String,
    /// The status.
    pub status: u16,
    /// What happened, naming the object.
    pub detail: String,
    /// Stable, in `noun.reason` form.
    pub code: String,
    /// What mends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Line of a malformed document, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Column of a malformed document, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// What this controller needs, and how it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// What must be mended before a plan is made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

impl Problem {
    /// Nothing was done, because this controller does not lead: another one may do it.
    #[must_use]
    pub fn is_elsewhere(&self) -> bool {
        matches!(self.code.as_str(), NOT_LEADING | NO_LEADER)
    }
}

/// An error on its way to the caller.
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

    /// Something that the controller needs is not as it must be.
    pub(super) fn not_ready(checks: Vec<Check>) -> Self {
        let wrong = checks.iter().filter(|check| !check.ok);
        let wrong: Vec<String> = wrong.map(|c| format!("{}: {}", c.name, c.detail)).collect();
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let mut problem = Self::new(status, "controller.not_ready", wrong.join("; "));
        problem.0.checks = checks;
        problem
    }

    /// The body is larger than `limit` bytes.
    pub(super) fn too_large(limit: usize) -> Self {
        let detail = format!("the body has more than {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "body.too_large", detail)
    }

    /// The body did not come within `limit`.
    pub(super) fn too_slow(limit: Duration) -> Self {
        let detail = format!("the body did not come within {} seconds", limit.as_secs());
        Self::new(StatusCode::REQUEST_TIMEOUT, "body.too_slow", detail)
    }

    /// A defect of ours.
    pub(super) fn panicked() -> Self {
        let detail = "the controller failed on a defect of its own".to_owned();
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "controller.panicked", detail)
            .hint("look whether it was carried out before you repeat it; the controller's log has the place")
    }

    /// The audit trail takes no line, and nothing is done without.
    pub(super) fn unaudited() -> Self {
        let detail =
            "the audit trail cannot be written, and no order is carried out without its line";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "audit.unavailable", detail.to_owned())
            .hint("nothing was done: the controller's log says why; start it with --audit noted to go on without")
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
    /// The status and the problem, for a page that shows it.
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
        let refusal = Refusal {
            code: problem.code.clone(),
            detail: problem.detail.clone(),
        };
        let mut response = (status, kind, Json(problem)).into_response();
        response.extensions_mut().insert(refusal);
        response
    }
}

/// What an answer says in which nothing was done, for the audit trail.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Refusal {
    pub(super) code: String,
    pub(super) detail: String,
}

/// A new thing was made.
pub(super) const CREATED: StatusCode = StatusCode::CREATED;
/// There is nothing to say.
pub(super) const NO_CONTENT: StatusCode = StatusCode::NO_CONTENT;
/// The caller has it already.
pub(super) const NOT_MODIFIED: StatusCode = StatusCode::NOT_MODIFIED;

/// No route has this path.
pub(super) async fn no_route() -> ApiError {
    let detail = "there is nothing at this path".to_owned();
    ApiError::new(StatusCode::NOT_FOUND, "path.missing", detail)
}

/// The path does not know this method.
pub(super) async fn no_method() -> ApiError {
    let detail = "this path does not know this method".to_owned();
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "path.method", detail)
}

/// Another name for this server, or another site's page.
pub(super) fn no_foreigner(header: &str, value: &str) -> ApiError {
    let detail = format!("{header} {value:?} is not this controller");
    let code = format!("{}.foreign", header.to_ascii_lowercase());
    ApiError::new(StatusCode::FORBIDDEN, &code, detail)
        .hint("use http://127.0.0.1, localhost or [::1] with the controller's port")
}

/// Another controller leads: the same request once more, there.
pub(super) fn elsewhere(leader: &str, path: &str) -> Response {
    let status = StatusCode::TEMPORARY_REDIRECT;
    let problem = ApiError::new(
        status,
        "controller.follows",
        format!("this controller follows the one at {leader}"),
    );
    let problem = problem.hint(format!("send it to {leader}{path}"));
    let mut response = problem.into_response();
    if let Ok(location) = HeaderValue::from_str(&format!("{leader}{path}")) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// What was handed on to the leader has no answer.
pub(super) fn leader_lost(leader: &str, error: &dyn std::fmt::Display) -> ApiError {
    let detail = format!("the leader at {leader} did not answer: {error}");
    ApiError::new(StatusCode::BAD_GATEWAY, "controller.leader_lost", detail)
        .hint("the outcome is unknown: look before you try again")
}

/// Nobody leads.
pub(super) fn no_leader() -> ApiError {
    let detail = "no controller leads for the moment".to_owned();
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, NO_LEADER, detail)
        .hint("try again in a second; /api/v1/health of each controller tells who leads")
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let detail = error.to_string();
        let conflict = |code: &str| Self::new(StatusCode::CONFLICT, code, detail.clone());
        match &error {
            StoreError::Exists { what, .. } => conflict(&format!("{what}.exists")),
            StoreError::Missing { what, .. } => {
                Self::new(StatusCode::NOT_FOUND, &format!("{what}.missing"), detail).hint(format!(
                    "`shardwright {} list` shows what there is",
                    noun(what)
                ))
            }
            StoreError::ShardInUse { .. } => {
                conflict("shard.in_use").hint("every version of a map keeps its shards")
            }
            StoreError::KeysMoving { migration } => conflict("keys.moving").hint(format!(
                "wait until {migration} ends, or abort it: shardwright show {migration}"
            )),
            StoreError::ShardMoving { migration, .. } => conflict("shard.in_use").hint(format!(
                "wait until {migration} ends, or abort it: shardwright show {migration}"
            )),
            StoreError::SettingsRevision { .. } => {
                conflict("map.busy").hint("somebody else changed them: look, then try again")
            }
            StoreError::MapVersion { .. } => conflict("plan.stale").hint(PLAN_AGAIN),
            StoreError::NotLeading => {
                Self::new(StatusCode::MISDIRECTED_REQUEST, NOT_LEADING, detail)
                    .hint("nothing was done: ask again, and it is sent on to the leader")
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
            .hint("the outcome is unknown: look before you try again"),
        }
    }
}

/// Code of the answer of a controller that lost the lead in the middle of a request.
const NOT_LEADING: &str = "controller.not_leading";
/// Code of the answer while no controller leads.
const NO_LEADER: &str = "controller.no_leader";
/// Code of the answer to a connection string with a password in it.
pub(crate) const INLINE_PASSWORD: &str = "shard.inline_password";
/// Code of the answer to a connection string that cannot be read.
pub(crate) const UNREADABLE_DSN: &str = "shard.unreadable_dsn";
const NEIGHBOURS: &str = "upgrade the older one of the two: docs/upgrades.md has the order";
const OWN_TOKEN: &str =
    "make a token of the agent's name: shardwright token create NAME --role agent";
const NOT_OWNER: &str =
    "do not try again: only the process that was given the work may act on it; an agent claims it";
const OTHER_LABELS: &str = "label the shard, or make the agent a token with other labels";
const PARAMETERS: &str = "docs/connections.md says what each parameter may be";
const LOOK_AGAIN: &str = "look at it again, then order what is still wanted";
const START_AGENT: &str = "start one: shardwright-agent --controller URL";
const SAME_VERSION: &str = "run agent and controller of the same version";
const REACH_SHARD: &str = "start its server, or mend its connection string: shardwright shard set";
const MOVE_FORWARD: &str = "look at `shardwright reconcile`, then: shardwright reconcile --apply";
const KEPT_BY_TARGET: &str =
    "the target keeps the keys: finish, or plan a move back once this is mended";
const OVERRIDE: &str = "plan again; with --override-rules REASON it is allowed and written down";
const CHECK_AGAIN: &str = "check again: shardwright map check MAP --request FILE";
const AS_REFERENCE: &str =
    "write password=${env:NAME}, ${file:/path} or ${credential:NAME}; the agents resolve it";
const PLAN_AGAIN: &str = "make a new plan: shardwright plan REQUEST -o PLAN";

impl From<ControlError> for ApiError {
    #[expect(clippy::too_many_lines, reason = "a table: one line for each error")]
    fn from(error: ControlError) -> Self {
        use ControlError as E;
        use StatusCode as S;
        let detail = error.to_string();
        let new = |status, code: &str| Self::new(status, code, detail.clone());
        match error {
            E::Store(error) => error.into(),
            E::Request(error) => request(&error),
            E::Plan(error) => plan(error),
            E::PlanFile(error) => plan_file(&error),
            E::Illegal { hint, .. } => hint
                .into_iter()
                .fold(new(S::CONFLICT, "migration.state"), Self::hint),
            E::Transition(_) => new(S::CONFLICT, "migration.state"),
            E::Changed { .. } => new(S::PRECONDITION_FAILED, "migration.changed").hint(LOOK_AGAIN),
            E::StaleEpoch { .. } => new(S::CONFLICT, "epoch.stale"),
            E::NotRunning { .. } => new(S::CONFLICT, "step.not_running"),
            error @ (E::Protocol { .. }
            | E::NotOwner { .. }
            | E::Evidence { .. }
            | E::NotAsked { .. }
            | E::NameInUse { .. }
            | E::OtherAgent { .. }
            | E::OutOfReach { .. }
            | E::UnseenByToken { .. }) => {
                let (status, code, hint) = agent_refused(&error);
                new(status, code).hint(hint)
            }
            E::InlinePassword { .. } => {
                new(S::UNPROCESSABLE_ENTITY, INLINE_PASSWORD).hint(AS_REFERENCE)
            }
            E::UnreadableDsn { ref source, .. } => new(S::UNPROCESSABLE_ENTITY, UNREADABLE_DSN)
                .hint(source.hint().unwrap_or(PARAMETERS)),
            E::Invalid { .. } => new(S::UNPROCESSABLE_ENTITY, "field.invalid"),
            E::Limit(_) => new(S::UNPROCESSABLE_ENTITY, "limit.invalid"),
            E::Malformed { line, column, .. } => {
                new(S::BAD_REQUEST, "body.malformed").at(place(line), place(column))
            }
            E::Map(_) => new(S::UNPROCESSABLE_ENTITY, "map.invalid"),
            E::Stale { .. } => new(S::CONFLICT, "plan.stale").hint(PLAN_AGAIN),
            E::Dsn(refused) => {
                let (status, code, hint) = dsn_refused(&refused);
                new(status, code).hint(hint)
            }
            E::NoAgent => new(S::SERVICE_UNAVAILABLE, "agent.none").hint(START_AGENT),
            E::InspectionLost => new(S::GATEWAY_TIMEOUT, "agent.silent").hint("try again"),
            E::Inspection(failure) => {
                let problem = new(S::UNPROCESSABLE_ENTITY, &failure.code);
                failure.hint.into_iter().fold(problem, Self::hint)
            }
            E::OtherAnswer => new(S::BAD_GATEWAY, "agent.answer").hint(SAME_VERSION),
            E::Unseen { .. } => new(S::CONFLICT, "shard.unseen").hint(REACH_SHARD),
            E::StoreOlder { .. } => new(S::CONFLICT, "store.older").hint(MOVE_FORWARD),
            E::NoneCan { hint, .. } => {
                let problem = new(S::CONFLICT, "operation.state");
                hint.into_iter().fold(problem, Self::hint)
            }
            E::MovedOffline { map, from, to, .. } => {
                let hint = format!(
                    "plan a move back: shardwright plan move {map} --from {to} --to {from}"
                );
                new(S::CONFLICT, "migration.offline").hint(hint)
            }
            E::Word(error) => word(&error),
            E::NoWayBack { .. } => new(S::CONFLICT, "rollback.impossible").hint(KEPT_BY_TARGET),
            E::RulesBroken { .. } => new(S::UNPROCESSABLE_ENTITY, "rules.broken").hint(OVERRIDE),
            E::NoTables { map } => {
                new(S::UNPROCESSABLE_ENTITY, "map.no_tables").hint(name_tables(&map))
            }
            E::Mend(_) => new(S::UNPROCESSABLE_ENTITY, "mend.refused").hint(CHECK_AGAIN),
            E::Unmapped { map, .. } => new(S::NOT_FOUND, "key.unmapped")
                .hint(format!("give it an owner: shardwright map assign {map}")),
            E::Contended { .. } => new(S::SERVICE_UNAVAILABLE, "migration.busy").hint("try again"),
            E::Report(_) => new(S::INTERNAL_SERVER_ERROR, "report.unwritten"),
            E::Injected(_) => new(S::INTERNAL_SERVER_ERROR, "fail_point"),
        }
    }
}

fn word(error: &WordError) -> ApiError {
    use StatusCode as S;
    let another = "let somebody else approve it, with a token of their own".to_owned();
    let (status, code, hint) = match error {
        WordError::Own { .. } => (S::FORBIDDEN, "approval.own", another),
        WordError::Given { .. } => (S::CONFLICT, "approval.given", another),
        WordError::Young { .. } => (
            S::FORBIDDEN,
            "approval.young",
            "let somebody approve it whose token was there before, or submit the plan again"
                .to_owned(),
        ),
        WordError::Related { .. } => (S::FORBIDDEN, "approval.related", another),
        WordError::NoReason { .. } => (
            S::UNPROCESSABLE_ENTITY,
            "order.reason",
            "say why: --reason TEXT, or the field `reason`".to_owned(),
        ),
        WordError::TooFew { needed, .. } => (
            S::UNPROCESSABLE_ENTITY,
            "approval.too_few",
            format!(
                "plan again; a request may say `approvals: {needed}`, and not `cutover: automatic`"
            ),
        ),
        WordError::NobodyIsKnown { .. } => (
            S::UNPROCESSABLE_ENTITY,
            "approval.unknown",
            "start the controller without --open, or plan with `approvals: 1`".to_owned(),
        ),
    };
    ApiError::new(status, code, error.to_string()).hint(hint)
}

fn request(error: &RequestError) -> ApiError {
    let detail = error.to_string();
    match error {
        RequestError::Malformed { line, column, .. } => {
            ApiError::new(StatusCode::BAD_REQUEST, "request.malformed", detail).at(*line, *column)
        }
        RequestError::Invalid { .. } => {
            ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "request.invalid", detail)
        }
    }
}

fn plan(error: PlanError) -> ApiError {
    let detail = error.to_string();
    let new = |code: &str| ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail.clone());
    match error {
        PlanError::OtherMap { .. } | PlanError::Unfit { .. } => new("request.unfit"),
        PlanError::Refused { findings } => {
            let mut problem = new("plan.refused").hint("mend each finding, then plan again");
            problem.0.findings = findings;
            problem
        }
        PlanError::Graph(_) => new("plan.graph"),
    }
}

fn plan_file(error: &PlanFileError) -> ApiError {
    let detail = error.to_string();
    let new = |code: &str| ApiError::new(StatusCode::BAD_REQUEST, code, detail.clone());
    match error {
        PlanFileError::Malformed { line, column, .. } => {
            new("plan.malformed").at(place(*line), place(*column))
        }
        PlanFileError::Form { .. } => new("plan.form").hint(PLAN_AGAIN),
        PlanFileError::Edited => new("plan.edited").hint(PLAN_AGAIN),
    }
}

fn name_tables(map: &MapName) -> String {
    format!("name them once: shardwright map set {map} --table orders=tenant_id")
}

/// What an agent is told that is not let do something.
fn agent_refused(error: &ControlError) -> (StatusCode, &'static str, String) {
    use ControlError as E;
    use StatusCode as S;
    if let E::Evidence { migration, .. } = error {
        let hint = format!(
            "the target is not the database that was compared, or its record is lost: compare again with \
             `shardwright verify {migration}`, or abort the migration before its flip"
        );
        return (S::CONFLICT, "cutover.evidence", hint);
    }
    if let E::NameInUse { silence, .. } = error {
        let hint = format!(
            "start this one with another --name, or stop the other one; after a crash there the name is free \
             once it was silent for {} s",
            silence.as_secs()
        );
        return (S::CONFLICT, "agent.name_in_use", hint);
    }
    let (status, code, hint) = if matches!(error, E::Protocol { .. }) {
        (S::CONFLICT, "agent.protocol", NEIGHBOURS)
    } else if matches!(error, E::NotOwner { .. }) {
        (S::FORBIDDEN, "agent.not_owner", NOT_OWNER)
    } else if matches!(error, E::NotAsked { .. }) {
        (S::FORBIDDEN, "agent.not_asked", NOT_OWNER)
    } else if matches!(error, E::OtherAgent { .. }) {
        (S::FORBIDDEN, "agent.name", OWN_TOKEN)
    } else {
        (S::FORBIDDEN, "agent.labels", OTHER_LABELS)
    };
    (status, code, hint.to_owned())
}

fn dsn_refused(refused: &DsnRefused) -> (StatusCode, &'static str, String) {
    use DsnRefused as R;
    use StatusCode as S;
    match refused {
        R::Taken { other, .. } => (
            S::CONFLICT,
            "shard.taken",
            format!("correct the connection string; if shard {other} is to go, remove it first"),
        ),
        R::Another {
            migration: Some(migration),
            ..
        } => (
            S::CONFLICT,
            "shard.another",
            format!(
                "correct the connection string: migration {migration} uses the shard, and goes on in its database only"
            ),
        ),
        R::Another { shard, .. } => (
            S::CONFLICT,
            "shard.another",
            format!(
                "correct the connection string; if the shard was restored or replaced: shardwright shard set {shard} --dsn '...' --replaced --reason '...'"
            ),
        ),
        R::Rights { .. } => (
            S::CONFLICT,
            "shard.rights",
            "run these statements on the shard as a superuser, then set the connection string again"
                .to_owned(),
        ),
        R::Unseen { .. } => (
            S::SERVICE_UNAVAILABLE,
            "shard.unidentified",
            "start an agent: shardwright-agent --controller URL; then set the connection string again"
                .to_owned(),
        ),
    }
}

fn place(number: usize) -> Option<u64> {
    u64::try_from(number).ok()
}

/// The command line's noun for a thing.
fn noun(what: &str) -> &str {
    match what {
        "step" | "operation" => "migration",
        "version" => "map",
        other => other,
    }
}
