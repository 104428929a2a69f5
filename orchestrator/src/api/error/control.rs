//! The response to a command that the controller did not carry out.

use super::{AGENT_ALIVE, ApiError};
use crate::controller::{ApprovalError, ControlError, DsnRefused};
use axum::http::StatusCode;
use plans::id::MapName;
use plans::plan::PlanFileError;
use plans::planner::PlanError;
use plans::request::RequestError;
use plans::shard_map::ConversionError;

/// The code of the error if a connection string contains a password.
pub(crate) const INLINE_PASSWORD: &str = "shard.inline_password";
/// The code of the error if a connection string cannot be parsed.
pub(crate) const UNREADABLE_DSN: &str = "shard.unreadable_dsn";
const UPGRADE_OLDER: &str = "upgrade the older one of the two, in the order of docs/upgrades.md";
const OWN_TOKEN: &str =
    "use a token with the agent's name: shardwright token create NAME --role agent";
const NOT_OWNER: &str = "do not repeat the call: only the process that received the work may report on it; an agent will claim it again";
const OTHER_LABELS: &str =
    "add the label to the shard, or create a token with other labels for the agent";
const PARAMETERS: &str = "docs/connections.md lists the parameters and their values";
const READ_AGAIN: &str = "read the migration again, then repeat the command if it is still needed";
const START_AGENT: &str = "start an agent: shardwright-agent --controller URL";
const SAME_VERSION: &str = "run agent and controller in the same version";
const REACH_SHARD: &str =
    "start the server of the shard, or correct the connection string: shardwright shard set";
const MOVE_FORWARD: &str =
    "read what `shardwright reconcile` lists, then: shardwright reconcile --apply";
const KEPT_BY_TARGET: &str =
    "the target keeps the keys: finish the migration, or plan a move back when the cause is fixed";
const OVERRIDE: &str =
    "plan again; --override-rules REASON permits the move and records the reason";
const CHECK_AGAIN: &str = "check the map again: shardwright map check MAP --request FILE";
const AS_REFERENCE: &str = "write password=${env:NAME}, ${file:/path} or ${credential:NAME}; the agents replace it with the secret";
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
            E::Request(error) => request_error(&error),
            E::Plan(error) => plan_error(error),
            E::PlanFile(error) => plan_file_error(&error),
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
                let (status, code, hint) = agent_error(&error);
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
                new(S::BAD_REQUEST, "body.malformed").at(position(line), position(column))
            }
            E::Map(_) => new(S::UNPROCESSABLE_ENTITY, "map.invalid"),
            E::Conversion(error) => conversion_error(&error, new),
            E::Stale { .. } => new(S::CONFLICT, "plan.stale").hint(PLAN_AGAIN),
            E::Dsn(refused) => {
                let (status, code, hint) = dsn_error(&refused);
                new(status, code).hint(hint)
            }
            E::AgentUnobserved { silence, .. } => new(S::CONFLICT, AGENT_ALIVE).hint(format!(
                "repeat the command in {} s",
                silence.as_secs().max(1)
            )),
            E::SpoolNeeded { migration, .. } => new(S::CONFLICT, "agent.in_use").hint(format!(
                "start an agent with this --spool-dir, or one without it, which captures the changes again; or abort the migration: shardwright show {migration}"
            )),
            E::NoAgent => new(S::SERVICE_UNAVAILABLE, "agent.none").hint(START_AGENT),
            E::InspectionLost => new(S::GATEWAY_TIMEOUT, "agent.silent").hint("repeat the command"),
            E::EstimateRunning => {
                new(S::TOO_MANY_REQUESTS, "estimate.running").hint("repeat the request when one has ended")
            }
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
            E::Approval(error) => approval_error(&error),
            E::NoRollBack { .. } => new(S::CONFLICT, "rollback.impossible").hint(KEPT_BY_TARGET),
            E::RulesBroken { .. } => new(S::UNPROCESSABLE_ENTITY, "rules.broken").hint(OVERRIDE),
            E::NoTables { map } => {
                new(S::UNPROCESSABLE_ENTITY, "map.no_tables").hint(name_tables(&map))
            }
            E::Repair(_) => new(S::UNPROCESSABLE_ENTITY, "mend.refused").hint(CHECK_AGAIN),
            E::Unmapped { map, .. } => new(S::NOT_FOUND, "key.unmapped")
                .hint(format!("give it an owner: shardwright map assign {map}")),
            E::Contended { .. } => {
                new(S::SERVICE_UNAVAILABLE, "migration.busy").hint("repeat the command")
            }
            E::Report(_) => new(S::INTERNAL_SERVER_ERROR, "report.unwritten"),
            E::Injected(_) => new(S::INTERNAL_SERVER_ERROR, "fail_point"),
        }
    }
}

fn approval_error(error: &ApprovalError) -> ApiError {
    use StatusCode as S;
    let other_person = "another person has to approve it, with their own token".to_owned();
    let (status, code, hint) = match error {
        ApprovalError::Own { .. } => (S::FORBIDDEN, "approval.own", other_person),
        ApprovalError::AlreadyApproved { .. } => (S::CONFLICT, "approval.given", other_person),
        ApprovalError::Young { .. } => (
            S::FORBIDDEN,
            "approval.young",
            "a person whose token was created before the plan was submitted has to approve it; or submit the plan again"
                .to_owned(),
        ),
        ApprovalError::Related { .. } => (S::FORBIDDEN, "approval.related", other_person),
        ApprovalError::NoReason { .. } => (
            S::UNPROCESSABLE_ENTITY,
            "order.reason",
            "name the reason: --reason TEXT, or the field `reason`".to_owned(),
        ),
        ApprovalError::TooFew { needed, .. } => (
            S::UNPROCESSABLE_ENTITY,
            "approval.too_few",
            format!(
                "plan again; the request needs `approvals: {needed}`, and must not have `cutover: automatic`"
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

fn request_error(error: &RequestError) -> ApiError {
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

fn plan_error(error: PlanError) -> ApiError {
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

fn plan_file_error(error: &PlanFileError) -> ApiError {
    let detail = error.to_string();
    let new = |code: &str| ApiError::new(StatusCode::BAD_REQUEST, code, detail.clone());
    match error {
        PlanFileError::Malformed { line, column, .. } => {
            new("plan.malformed").at(position(*line), position(*column))
        }
        PlanFileError::Form { .. } => new("plan.form").hint(PLAN_AGAIN),
        PlanFileError::Edited => new("plan.edited").hint(PLAN_AGAIN),
    }
}

fn name_tables(map: &MapName) -> String {
    format!("name the tables once: shardwright map set {map} --table orders=tenant_id")
}

/// Returns status, code and hint for an agent whose call was refused.
fn agent_error(error: &ControlError) -> (StatusCode, &'static str, String) {
    use ControlError as E;
    use StatusCode as S;
    if let E::Evidence { migration, .. } = error {
        let hint = format!(
            "the target is not the database that was compared, or its record of the comparison is lost: compare again with \
             `shardwright verify {migration}`, or abort the migration before its flip"
        );
        return (S::CONFLICT, "cutover.evidence", hint);
    }
    if let E::NameInUse { silence, .. } = error {
        let hint = format!(
            "start this agent with another --name, or stop the other agent; if the other agent crashed, its name \
             becomes free when that agent has sent nothing for {} s",
            silence.as_secs()
        );
        return (S::CONFLICT, "agent.name_in_use", hint);
    }
    let (status, code, hint) = if matches!(error, E::Protocol { .. }) {
        (S::CONFLICT, "agent.protocol", UPGRADE_OLDER)
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

/// Returns status, code and hint for a connection string that was refused.
fn dsn_error(refused: &DsnRefused) -> (StatusCode, &'static str, String) {
    use DsnRefused as R;
    use StatusCode as S;
    match refused {
        R::Duplicate { other, .. } => (
            S::CONFLICT,
            "shard.taken",
            format!("correct the connection string; if this shard replaces shard {other}, remove shard {other} first"),
        ),
        R::Another {
            migration: Some(migration),
            ..
        } => (
            S::CONFLICT,
            "shard.another",
            format!(
                "correct the connection string: migration {migration} uses the shard, and can continue only in the shard's present database"
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

/// Converts a line or column number.
fn position(number: usize) -> Option<u64> {
    u64::try_from(number).ok()
}

/// Returns the error of a conversion, with what to do.
fn conversion_error(
    error: &ConversionError,
    new: impl Fn(StatusCode, &str) -> ApiError,
) -> ApiError {
    let invalid = || new(StatusCode::UNPROCESSABLE_ENTITY, "map.invalid");
    match error {
        ConversionError::Unmapped { .. } => {
            invalid().hint("name a shard for each possible key; ranges without an end cover the first and the last keys")
        }
        ConversionError::List { .. } => {
            invalid().hint("convert the map to a range map: a range can have one key")
        }
        ConversionError::TooMany { .. } => invalid().hint(
            "move keys to their new shards before the conversion, so that fewer keys keep their shard",
        ),
        ConversionError::TwoShards { .. } => new(StatusCode::CONFLICT, "conversion.two_shards")
            .hint("move the rows of these keys to one shard before the conversion"),
        ConversionError::Map(_) => invalid(),
    }
}
