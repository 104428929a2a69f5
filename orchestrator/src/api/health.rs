//! Probes.

use super::ApiError;
use crate::controller::{Controller, Role};
use crate::store::Term;
use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The process answers.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// The store answers.
pub(super) async fn ready(State(controller): State<Controller>) -> Result<&'static str, ApiError> {
    controller.store().ping().await?;
    Ok("ready\n")
}

/// Which part a controller has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
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

impl Health {
    /// The part of `controller` for the moment.
    pub(crate) fn new(controller: &Controller) -> Self {
        let url = controller.url().to_owned();
        let (role, term, leader) = match controller.role() {
            Role::Leads(term) => ("leader", Some(term), Some(url.clone())),
            Role::Follows(Some(leader)) => ("follower", Some(leader.term), Some(leader.url)),
            Role::Follows(None) => ("follower", None, None),
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
pub(super) async fn health(State(controller): State<Controller>) -> Json<Health> {
    Json(Health::new(&controller))
}

/// Which version this is, and of which store.
pub(super) async fn version(State(controller): State<Controller>) -> Json<Value> {
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "protocol": plans::wire::PROTOCOL,
        "incarnation": controller.store().incarnation(),
    }))
}
