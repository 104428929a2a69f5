//! Probes.

use super::ApiError;
use super::extract::Query;
use crate::controller::{Controller, LeadershipState};
use crate::store::Term;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use plans::wire::{OLDEST_PROTOCOL, PROTOCOL};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The process answers.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// How it is asked.
#[derive(Debug, Deserialize)]
pub(super) struct HealthQuery {
    verbose: Option<String>,
}

/// Whether this controller is of use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Readiness {
    /// It is.
    pub ready: bool,
    /// By what that shows.
    pub checks: Vec<ReadinessCheck>,
}

/// One thing that a controller needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadinessCheck {
    /// store, schema or leader.
    pub name: String,
    /// It is as it must be.
    pub ok: bool,
    /// How it is.
    pub detail: String,
}

/// Store, schema and leader are as they must be.
pub(super) async fn ready(
    State(controller): State<Controller>,
    Query(wanted): Query<HealthQuery>,
) -> Result<Response, ApiError> {
    let checks = checks(&controller).await;
    if checks.iter().any(|check| !check.ok) {
        return Err(ApiError::not_ready(checks));
    }
    if wanted.verbose.is_none() {
        return Ok("ready\n".into_response());
    }
    let ready = true;
    Ok(Json(Readiness { ready, checks }).into_response())
}

async fn checks(controller: &Controller) -> Vec<ReadinessCheck> {
    let (store, schema) = match controller.store().schema().await {
        Err(error) => {
            // What the driver says may name hosts and accounts: that is for the log.
            tracing::debug!(%error, "the store was not reached");
            (Err(error.to_string()), Err("not known".to_owned()))
        }
        Ok(schema) if schema.found == schema.known => (
            Ok("it answers".to_owned()),
            Ok(format!("version {}", schema.known)),
        ),
        Ok(schema) => (
            Ok("it answers".to_owned()),
            Err(format!(
                "version {}, and this program is for version {}: run the same version everywhere",
                schema.found, schema.known
            )),
        ),
    };
    let leader = match controller.role() {
        LeadershipState::Leads(term) => Ok(format!("this controller, under term {term}")),
        LeadershipState::Follows(Some(leader)) => Ok(format!(
            "the one at {}, under term {}",
            leader.url, leader.term
        )),
        LeadershipState::Follows(None) => Err("nobody leads for the moment".to_owned()),
    };
    let all = [("store", store), ("schema", schema), ("leader", leader)];
    let all = all.into_iter().map(|(name, state)| ReadinessCheck {
        name: name.to_owned(),
        ok: state.is_ok(),
        detail: state.unwrap_or_else(|why| why),
    });
    all.collect()
}

/// Which part a controller has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeadershipHealth {
    /// `leader` or `follower`.
    pub role: String,
    /// The term in force; none: nobody leads for the moment.
    pub term: Option<Term>,
    /// Where the leader is reached.
    pub leader: Option<String>,
    /// Where this controller is reached.
    pub url: String,
    /// Its version.
    pub version: String,
}

impl LeadershipHealth {
    /// The part of `controller` for the moment.
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

/// Whether it leads, under which term, and who does; answered from memory, also while the store is away.
pub(super) async fn health(State(controller): State<Controller>) -> Json<LeadershipHealth> {
    Json(LeadershipHealth::new(&controller))
}

/// What a controller is, and what it works together with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ControllerVersion {
    /// Of the program.
    pub version: String,
    /// The newest version of the agents' messages that it speaks.
    pub protocol: u32,
    /// The oldest one that it understands.
    pub oldest_protocol: u32,
    /// Random id of the control store.
    pub incarnation: String,
}

/// Which version this is, and of which store; answered from memory, also while the store is away.
pub(super) async fn version(State(controller): State<Controller>) -> Json<ControllerVersion> {
    Json(ControllerVersion {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: PROTOCOL,
        oldest_protocol: OLDEST_PROTOCOL,
        incarnation: controller.store().incarnation().to_owned(),
    })
}
