//! The response to a command that the controller did not carry out.

use super::ApiError;
use crate::controller::{ApprovalError, ControlError, DsnRefused};
use axum::http::StatusCode;
use plans::id::MapName;
use plans::plan::PlanFileError;
use plans::planner::PlanError;
use plans::request::RequestError;

/// The code of the error if a connection string contains a password.
pub(crate) const INLINE_PASSWORD: &str = "shard.inline_password";
/// The code of the error if a connection string cannot be parsed.
pub(crate) const UNREADABLE_DSN: &str = "shard.unreadable_dsn";
const NEIGHBOURS: &str = "upgrade the older one of the two: docs/upgrades.md has the order";
const OWN_TOKEN: &str =
    "make a token of the agent's name: shardwright token create NAME --role agent";
const NOT_OWNER: &str =
    "do not try again: only the process that was given the work may act on it; an agent claims it";
const OTHER_LABELS: &str = "label the shard, or make the agent a token with other labels";
const PARAMETERS: &str = "docs/connections.md says what each parameter may be";
const READ_AGAIN: &str = "read it again, then repeat the command if it is still wanted";
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
/// The hint if a plan is outdated.
pub(super) const PLAN_AGAIN: &str = "make a new plan: shardwright plan REQUEST -o PLAN";

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
            E::Changed { .. } => new(S::PRECONDITION_FAILED, "migration.changed").hint(READ_AGAIN),
            E::StaleEpoch { .. } => new(S::CONFLICT, "epoch.stale"),
            E::NotRunning { .. } => new(S::CONFLICT, "step.not_running"),
            error @ (E::Protocol { .. }
            | E::NotOwner { .. }
            | E::Evidence { .. }
            | E::ClaimedByOtherToken { .. }
            | E::NameInUse { .. }
            | E::OtherAgent { .. }
            | E::OutOfReach { .. }
            | E::InspectionOutOfReach { .. }) => {
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
            E::ProbeFailed { .. } => new(S::CONFLICT, "shard.unseen").hint(REACH_SHARD),
            E::StoreOlder { .. } => new(S::CONFLICT, "store.older").hint(MOVE_FORWARD),
            E::NoMigrationCan { hint, .. } => {
                let problem = new(S::CONFLICT, "operation.state");
                hint.into_iter().fold(problem, Self::hint)
            }
            E::MovedOffline { map, from, to, .. } => {
                let hint = format!(
                    "plan a move back: shardwright plan move {map} --from {to} --to {from}"
                );
                new(S::CONFLICT, "migration.offline").hint(hint)
            }
            E::Approval(error) => word(&error),
            E::NoRollBack { .. } => new(S::CONFLICT, "rollback.impossible").hint(KEPT_BY_TARGET),
            E::RulesBroken { .. } => new(S::UNPROCESSABLE_ENTITY, "rules.broken").hint(OVERRIDE),
            E::NoTables { map } => {
                new(S::UNPROCESSABLE_ENTITY, "map.no_tables").hint(name_tables(&map))
            }
            E::Repair(_) => new(S::UNPROCESSABLE_ENTITY, "mend.refused").hint(CHECK_AGAIN),
            E::Unmapped { map, .. } => new(S::NOT_FOUND, "key.unmapped")
                .hint(format!("give it an owner: shardwright map assign {map}")),
            E::Contended { .. } => new(S::SERVICE_UNAVAILABLE, "migration.busy").hint("try again"),
            E::Report(_) => new(S::INTERNAL_SERVER_ERROR, "report.unwritten"),
            E::Injected(_) => new(S::INTERNAL_SERVER_ERROR, "fail_point"),
        }
    }
}

fn word(error: &ApprovalError) -> ApiError {
    use StatusCode as S;
    let another = "let somebody else approve it, with a token of their own".to_owned();
    let (status, code, hint) = match error {
        ApprovalError::Own { .. } => (S::FORBIDDEN, "approval.own", another),
        ApprovalError::AlreadyApproved { .. } => (S::CONFLICT, "approval.given", another),
        ApprovalError::Young { .. } => (
            S::FORBIDDEN,
            "approval.young",
            "let somebody approve it whose token was there before, or submit the plan again"
                .to_owned(),
        ),
        ApprovalError::Related { .. } => (S::FORBIDDEN, "approval.related", another),
        ApprovalError::NoReason { .. } => (
            S::UNPROCESSABLE_ENTITY,
            "order.reason",
            "say why: --reason TEXT, or the field `reason`".to_owned(),
        ),
        ApprovalError::TooFew { needed, .. } => (
            S::UNPROCESSABLE_ENTITY,
            "approval.too_few",
            format!(
                "plan again; a request may say `approvals: {needed}`, and not `cutover: automatic`"
            ),
        ),
        ApprovalError::UnknownApprover { .. } => (
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
            let mut problem = new("plan.refused").hint("fix each finding, then plan again");
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

/// The hint for an agent whose call was refused.
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
    } else if matches!(error, E::ClaimedByOtherToken { .. }) {
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
        R::Duplicate { other, .. } => (
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
        R::Unidentified { .. } => (
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
