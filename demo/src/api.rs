//! The controller's HTTP interface, as far as the demo uses it.

use crate::forecast::StepForecast;
use controller_client::{ControllerClient, Identity};
use plans::failure::Failure;
use plans::id::MapName;
use plans::inspection::reconcile::Contradiction;
use plans::plan::Plan;
use plans::request::Request;
use plans::shard_map::{Mapping, ShardMap};
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::StepKind;
use plans::wire::Progress;
use reqwest::{Method, RequestBuilder, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The controller did not answer.
    #[error("the controller did not answer {call}")]
    Unreachable {
        /// Method and path.
        call: String,
        /// The reason.
        #[source]
        source: reqwest::Error,
    },
    /// The HTTP client could not be created.
    #[error(transparent)]
    ClientSetup(#[from] controller_client::SetupError),
    /// The controller refused the request.
    #[error("the controller refused {call} with {status}: {problem}")]
    Refused {
        /// Method and path.
        call: String,
        /// The HTTP status.
        status: u16,
        /// The text of the response.
        problem: String,
    },
}

/// A migration, as the controller reports it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct MigrationStatus {
    pub(crate) id: String,
    pub(crate) state: MigrationState,
    /// What the migration waits for before it starts.
    #[serde(default)]
    pub(crate) waiting_for: Option<String>,
    #[serde(default)]
    pub(crate) failure: Option<Failure>,
    /// How the operator ended the hold, if it has ended.
    #[serde(default)]
    pub(crate) hold_end: Option<String>,
    /// The agent that performs its steps.
    #[serde(default)]
    pub(crate) owner: Option<MigrationOwner>,
    #[serde(default)]
    pub(crate) steps: Vec<StepStatus>,
}

/// The agent that owns a migration.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct MigrationOwner {
    pub(crate) agent: String,
}

/// A step of a migration.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct StepStatus {
    pub(crate) kind: StepKind,
    pub(crate) state: StepState,
    #[serde(default)]
    pub(crate) attempt: i64,
    #[serde(default)]
    pub(crate) output: Option<Value>,
    #[serde(default)]
    pub(crate) progress: Option<Progress>,
    #[serde(default)]
    pub(crate) failure: Option<Failure>,
}

impl MigrationStatus {
    pub(crate) fn step(&self, kind: StepKind) -> Option<&StepStatus> {
        self.steps.iter().find(|step| step.kind == kind)
    }

    pub(crate) fn is_done(&self, kind: StepKind) -> bool {
        self.step(kind)
            .is_some_and(|step| step.state == StepState::Done)
    }

    /// Returns true if the target has the rows that existed when the move began.
    pub(crate) fn has_rows(&self) -> bool {
        self.is_done(StepKind::Copy) || self.is_done(StepKind::Promote)
    }

    /// Reswitches the result of a step that is done.
    pub(crate) fn output<T: DeserializeOwned>(&self, kind: StepKind) -> Option<T> {
        let output = self.step(kind)?.output.clone()?;
        serde_json::from_value(output).ok()
    }

    /// Reswitches in one line why the migration stopped.
    pub(crate) fn reason(&self) -> String {
        match &self.failure {
            Some(failure) => failure.message.clone(),
            None => "the controller reports no reason".to_owned(),
        }
    }
}

/// The results of the last probes of the shards, and the repairs that were made.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct FleetReport {
    pub(crate) shards: Vec<ShardProbe>,
    pub(crate) findings: Vec<Contradiction>,
    #[serde(default)]
    pub(crate) done: Vec<String>,
}

/// The last probe of a shard.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ShardProbe {
    pub(crate) failure: Option<String>,
}

/// The state of a controller.
#[derive(Debug, Clone, Deserialize)]
struct ControllerHealth {
    leader: Option<String>,
}

/// The controller's report of an operation, as far as the demo reads it.
#[derive(Debug, Clone, Deserialize)]
struct OperationReport {
    moves: Vec<ReportedMove>,
}

#[derive(Debug, Clone, Deserialize)]
struct ReportedMove {
    #[serde(rename = "foreseen")]
    forecasts: Vec<StepForecast>,
}

/// A client of the controllers. It uses the first one until that does not answer.
#[derive(Debug, Clone)]
pub(crate) struct Api {
    caller: ControllerClient,
    bases: Arc<[String]>,
    /// Incremented each time the client switches to the next controller.
    switches: Arc<AtomicUsize>,
}

impl Api {
    /// Creates a client. `bases` has at least one URL.
    pub(crate) fn new(bases: Vec<String>, identity: &Identity) -> Result<Self, ApiError> {
        Ok(Self {
            caller: ControllerClient::new(identity)?,
            bases: bases.into(),
            switches: Arc::default(),
        })
    }

    fn base(&self) -> &str {
        &self.bases[self.switches.load(Ordering::Relaxed) % self.bases.len()]
    }

    /// Switches to the next controller, if there is one.
    pub(crate) fn switch_controller(&self) {
        self.switches.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) async fn is_ready(&self) -> bool {
        let request = self.request(Method::GET, "/readyz");
        let answer = self.caller.send(request).await;
        if answer.is_err() {
            self.switch_controller();
        }
        answer.is_ok_and(|response| response.status().is_success())
    }

    /// Reswitches the URL of the leader, if a controller leads.
    pub(crate) async fn leader(&self) -> Result<Option<String>, ApiError> {
        let health: ControllerHealth = self.get("/api/v1/health").await?;
        Ok(health.leader)
    }

    pub(crate) async fn register_shard(&self, name: &str, dsn: &str) -> Result<(), ApiError> {
        let body = json!({"name": name, "dsn": dsn});
        self.post("/api/v1/shards", |call| call.json(&body)).await?;
        Ok(())
    }

    /// Changes the connection string of a registered shard.
    pub(crate) async fn set_dsn(&self, name: &str, dsn: &str) -> Result<(), ApiError> {
        let path = format!("/api/v1/shards/{name}");
        let call = format!("PATCH {path}");
        let request = self.request(Method::PATCH, &path);
        let body = json!({ "dsn": dsn });
        self.send(&call, request.json(&body)).await?;
        Ok(())
    }

    pub(crate) async fn register_map(&self, map: &ShardMap) -> Result<(), ApiError> {
        let mapping = |mapping: &Mapping| json!({"keys": mapping.keys, "shard": mapping.shard});
        let mappings: Vec<Value> = map.mappings.iter().map(mapping).collect();
        let buckets = (map.buckets > 0).then_some(map.buckets);
        let body = json!({
            "name": map.name, "strategy": map.strategy, "key": map.key, "buckets": buckets,
            "settings": map.settings, "mappings": mappings,
        });
        self.post("/api/v1/maps", |call| call.json(&body)).await?;
        Ok(())
    }

    pub(crate) fn map_url(&self, map: &MapName) -> String {
        format!("{}/api/v1/maps/{map}", self.base())
    }

    pub(crate) async fn map(&self, map: &MapName) -> Result<ShardMap, ApiError> {
        self.get(&format!("/api/v1/maps/{map}")).await
    }

    pub(crate) async fn plan(&self, request: &Request) -> Result<Plan, ApiError> {
        let text = json!(request).to_string();
        let answer = self
            .post("/api/v1/plans", |call| {
                call.header("content-type", "application/yaml").body(text)
            })
            .await?;
        decode("POST /api/v1/plans", answer).await
    }

    pub(crate) async fn submit(&self, plan: &Plan) -> Result<String, ApiError> {
        let answer = self
            .post("/api/v1/migrations", |call| call.json(plan))
            .await?;
        let created: Value = decode("POST /api/v1/migrations", answer).await?;
        Ok(created["id"].as_str().unwrap_or_default().to_owned())
    }

    /// Reswitches why attempts of the migration's cutover were given up, in order.
    pub(crate) async fn give_up_reasons(&self, id: &str) -> Result<Vec<String>, ApiError> {
        let events: Vec<Value> = self.get(&format!("/api/v1/migrations/{id}/events")).await?;
        let attempts = events
            .iter()
            .map(|event| &event["data"])
            .filter(|data| data["attempt"].is_number());
        let reasons = attempts.filter_map(|data| data["reason"].as_str());
        Ok(reasons.map(str::to_owned).collect())
    }

    pub(crate) async fn migration(&self, id: &str) -> Result<MigrationStatus, ApiError> {
        self.get(&format!("/api/v1/migrations/{id}")).await
    }

    /// Reswitches the id of the newest operation.
    pub(crate) async fn newest_operation(&self) -> Result<Option<String>, ApiError> {
        let all: Vec<Value> = self.get("/api/v1/operations?limit=1").await?;
        let id = all.first().and_then(|newest| newest["id"].as_str());
        Ok(id.map(str::to_owned))
    }

    /// Reswitches the errors of the estimated end times of an operation's steps.
    pub(crate) async fn forecasts(&self, id: &str) -> Result<Vec<StepForecast>, ApiError> {
        let report: OperationReport = self.get(&format!("/api/v1/operations/{id}/report")).await?;
        Ok(report.moves.into_iter().flat_map(|m| m.forecasts).collect())
    }

    /// Reswitches the report of an operation as one HTML file.
    pub(crate) async fn html_report(&self, id: &str) -> Result<String, ApiError> {
        let path = format!("/api/v1/operations/{id}/report?format=html");
        let call = format!("GET {path}");
        let request = self.request(Method::GET, &path);
        let answer = self.send(&call, request).await?;
        answer.text().await.map_err(unreachable(&call))
    }

    pub(crate) async fn command(&self, id: &str, verb: &str) -> Result<(), ApiError> {
        let path = format!("/api/v1/migrations/{id}/{verb}");
        self.post(&path, |call| call.json(&json!({}))).await?;
        Ok(())
    }

    /// Reswitches the results of the last probes of the shards.
    pub(crate) async fn fleet(&self) -> Result<FleetReport, ApiError> {
        self.get("/api/v1/fleet").await
    }

    /// Makes the controller probe every shard. `apply`: lost flips are added to a store that is older than the fleet.
    /// `accept`: shards whose servers the operator accepts.
    pub(crate) async fn reconcile(
        &self,
        apply: bool,
        accept: &[&str],
    ) -> Result<FleetReport, ApiError> {
        let path = "/api/v1/fleet/reconcile";
        let reason = "restored from a copy";
        let body = json!({"apply": apply, "accept": accept, "reason": reason});
        let answer = self.post(path, |call| call.json(&body)).await?;
        decode(&format!("POST {path}"), answer).await
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ApiError> {
        let call = format!("GET {path}");
        let request = self.request(Method::GET, path);
        decode(&call, self.send(&call, request).await?).await
    }

    async fn post(
        &self,
        path: &str,
        fill: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, ApiError> {
        let request = fill(self.request(Method::POST, path));
        self.send(&format!("POST {path}"), request).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.base());
        self.caller.request(method, url)
    }

    /// Sends a request. If the controller does not answer, later requests go to the next controller.
    async fn send(&self, call: &str, request: RequestBuilder) -> Result<Response, ApiError> {
        let answered = send(call, &self.caller, request).await;
        if matches!(answered, Err(ApiError::Unreachable { .. })) {
            self.switch_controller();
        }
        answered
    }
}

/// Sends a request. Returns the response if the controller accepted the request.
async fn send(
    call: &str,
    caller: &ControllerClient,
    request: RequestBuilder,
) -> Result<Response, ApiError> {
    let response = caller.send(request).await.map_err(unreachable(call))?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    Err(ApiError::Refused {
        call: call.to_owned(),
        status: status.as_u16(),
        problem: response.text().await.unwrap_or_default(),
    })
}

async fn decode<T: DeserializeOwned>(call: &str, response: Response) -> Result<T, ApiError> {
    response.json().await.map_err(unreachable(call))
}

fn unreachable(call: &str) -> impl FnOnce(reqwest::Error) -> ApiError {
    move |source| ApiError::Unreachable {
        call: call.to_owned(),
        source,
    }
}
