//! Health and readiness probes.

use super::ApiError;
use super::extract::Query;
use crate::controller::{Controller, LeadershipState};
use crate::store::Term;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use plans::wire::{NEWEST_PROTOCOL, OLDEST_PROTOCOL};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Answers every request, so that a probe can find out whether the process runs.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// The query parameters.
#[derive(Debug, Deserialize)]
pub(super) struct HealthQuery {
    verbose: Option<String>,
}

/// Whether this controller can serve requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Readiness {
    /// True if all checks passed.
    pub ready: bool,
    /// The results of the checks.
    pub checks: Vec<ReadinessCheck>,
}

/// A readiness check of one thing that a controller needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadinessCheck {
    /// The name of the check: store, schema or leader.
    pub name: String,
    /// True if the check passed.
    pub ok: bool,
    /// What the check found.
    pub detail: String,
}

/// Checks the store, the schema and the leader.
pub(super) async fn ready(
    State(controller): State<Controller>,
    Query(query): Query<HealthQuery>,
) -> Result<Response, ApiError> {
    let checks = checks(&controller).await;
    if checks.iter().any(|check| !check.ok) {
        return Err(ApiError::not_ready(checks));
    }
    if query.verbose.is_none() {
        return Ok("ready\n".into_response());
    }
    let ready = true;
    Ok(Json(Readiness { ready, checks }).into_response())
}

async fn checks(controller: &Controller) -> Vec<ReadinessCheck> {
    let (store, schema) = match controller.store().schema().await {
        Err(error) => {
            // The driver's error may contain hosts and accounts. It is only logged.
            tracing::debug!(%error, "the store could not be reached");
            (Err(error.to_string()), Err("unknown".to_owned()))
        }
        Ok(schema) if schema.found == schema.known => (
            Ok("the store answers".to_owned()),
            Ok(format!("version {}", schema.known)),
        ),
        Ok(schema) => (
            Ok("the store answers".to_owned()),
            Err(format!(
                "the schema has version {}, this program expects version {}: run the same version of all controllers",
                schema.found, schema.known
            )),
        ),
    };
    let leader = match controller.role() {
        LeadershipState::Leads(term) => Ok(format!("this controller, under term {term}")),
        LeadershipState::Follows(Some(leader)) => Ok(format!(
            "the controller at {}, under term {}",
            leader.url, leader.term
        )),
        LeadershipState::Follows(None) => Err("no controller leads at the moment".to_owned()),
    };
    let results = [("store", store), ("schema", schema), ("leader", leader)];
    let checks = results.into_iter().map(|(name, state)| ReadinessCheck {
        name: name.to_owned(),
        ok: state.is_ok(),
        detail: state.unwrap_or_else(|why| why),
    });
    checks.collect()
}

/// Whether a controller leads or follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeadershipHealth {
    /// `leader` or `follower`.
    pub role: String,
    /// The current term; without a value no controller leads at the moment.
    pub term: Option<Term>,
    /// The URL of the leader.
    pub leader: Option<String>,
    /// The URL of this controller.
    pub url: String,
    /// The version of the program.
    pub version: String,
}

impl LeadershipHealth {
    /// Returns the current role of `controller`.
    pub(crate) fn new(controller: &Controller) -> Self {
        let url = controller.url().to_owned();
        let (role, term, leader) = match controller.role() {
            LeadershipState::Leads(term) => ("leader", Some(term), Some(url.clone())),
            LeadershipState::Follows(Some(leader)) => {
                ("follower", Some(leader.term), Some(leader.url))
            }
            LeadershipState::Follows(None) => ("follower", None, None),
        };
        Self {
            role: role.to_owned(),
            term,
            leader,
            url,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// Returns the role and the leader from memory, even if the store cannot be reached.
pub(super) async fn health(State(controller): State<Controller>) -> Json<LeadershipHealth> {
    Json(LeadershipHealth::new(&controller))
}

/// The versions of a controller, and the store that it uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ControllerVersion {
    /// The version of the program.
    pub version: String,
    /// The newest version of the protocol with agents that the controller supports.
    pub protocol: u32,
    /// The oldest version of the protocol with agents that the controller supports.
    pub oldest_protocol: u32,
    /// The random id of the control store.
    pub incarnation: String,
}

/// Returns the versions from memory, even if the store cannot be reached.
pub(super) async fn version(State(controller): State<Controller>) -> Json<ControllerVersion> {
    Json(ControllerVersion {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: NEWEST_PROTOCOL,
        oldest_protocol: OLDEST_PROTOCOL,
        incarnation: controller.store().incarnation().to_owned(),
    })
}
