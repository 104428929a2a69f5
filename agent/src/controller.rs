//! The HTTP client of the agent for the controller. The agent always opens the connection.
//!
//! If there are several controllers, one leads, and each of them can name the leader. The agent sends its calls to the
//! leader until it stops answering or another controller leads. If the leader changes during a call, the agent abandons
//! the call: its outcome is unknown, as after any lost answer.

use std::sync::Arc;
use std::time::Duration;

use controller_client::ControllerClient;
use plans::failure::StepCode;
use plans::fleet::{NewStandby, ShardRef, StandbySlot};
use plans::id::{MigrationId, ShardName};
use plans::wire::{
    Claim, CutoverAnswer, CutoverCall, Dispatch, Heartbeat, HeartbeatReply, Report, SECRET_HEADER,
    WireSecret, Work,
};
use reqwest::Method;
use reqwest::header::HeaderValue;
use serde::Deserialize;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::error::StepError;

/// Time limit of a claim, which is a long poll: a little longer than the controller lets it wait.
const CLAIM_TIMEOUT: Duration = Duration::from_secs(30);
/// Time limit of every other call.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit of the registration of a shard: an agent connects to the shard meanwhile.
const REGISTER_TIMEOUT: Duration = Duration::from_secs(60);
/// While a heartbeat has no answer, the agent queries at this interval which controller leads.
const LEADER_CHECK_INTERVAL: Duration = Duration::from_millis(1200);
/// Time limit of the query which controller leads.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(1);
/// HTTP status: the controller no longer leads, and did nothing.
const MISDIRECTED: u16 = 421;
/// Problem code: the epoch is not the current one.
const STALE_EPOCH: &str = StepCode::EpochStale.name();
/// Problem code: the token or the secret is not that of the migration's owner.
const NOT_OWNER: &str = "agent.not_owner";
/// Problem code: the target does not have the records that a cutover requires.
const EVIDENCE: &str = StepCode::CutoverEvidence.name();

/// The reason for which a call failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ControllerError {
    /// The agent has no answer, or cannot read it: the outcome of the call is unknown.
    #[error("the controller at {url} did not answer: {reason}")]
    Unreachable {
        /// The URL of the controller.
        url: String,
        /// The error.
        reason: String,
    },
    /// The controller refused the call.
    #[error("the controller refused {path} with status {status}: {detail}")]
    Refused {
        /// The path of the call.
        path: &'static str,
        /// HTTP status.
        status: u16,
        /// The stable code of the problem; empty if the answer has none.
        code: String,
        /// The description of the problem.
        detail: String,
    },
    /// The controller assigned work that this version does not understand.
    #[error("the controller assigned work that this version does not understand: {reason}")]
    UnknownWork {
        /// The work as the controller sent it.
        work: String,
        /// The error of the decoder.
        reason: String,
    },
}

impl ControllerError {
    /// Returns true if this process does not have the lease of the migration (any more).
    pub fn is_superseded(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if [STALE_EPOCH, NOT_OWNER].contains(&code.as_str()))
    }

    /// Returns the controller's description of the records that the target lacks, if that is the error.
    pub fn missing_evidence(&self) -> Option<&str> {
        match self {
            Self::Refused { code, detail, .. } if code == EVIDENCE => Some(detail),
            Self::Refused { .. } | Self::Unreachable { .. } | Self::UnknownWork { .. } => None,
        }
    }

    /// Returns true if the controller refused the call, and would refuse a repetition too.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Refused { status, .. }
            if (400..500).contains(status) && *status != MISDIRECTED)
    }
}

impl From<ControllerError> for StepError {
    fn from(error: ControllerError) -> Self {
        if error.is_superseded() {
            return Self::superseded_with(error.to_string());
        }
        if let Some(missing) = error.missing_evidence() {
            return Self::listed(StepCode::CutoverEvidence, missing);
        }
        Self::passing(StepCode::Controller, error.to_string())
    }
}

/// An object that a migration is about to create. The agent reports it to the controller before it creates it.
#[derive(Debug, Clone, Serialize)]
pub struct CleanupRecord {
    /// The shard on which the object will be.
    pub shard: String,
    /// The kind of object: slot, publication, guard, schema, tables, rows or backend.
    pub kind: String,
    /// The name of the object on the shard.
    pub name: String,
    /// When the object must be removed: `on_failure` (if the migration is unwound) or `always`.
    pub policy: String,
}

/// Controllers at one or more URLs, of which one leads.
#[derive(Debug, Clone)]
pub struct Controller {
    urls: Arc<[String]>,
    /// The URL of the leader, as far as the agent knows.
    leader: watch::Sender<String>,
    client: ControllerClient,
}

/// One call to a controller.
struct ControllerCall<'a> {
    /// The name of the call in errors.
    endpoint: &'static str,
    path: &'a str,
    /// The secret of the dispatch, if the body has no field for it.
    secret: Option<&'a WireSecret>,
    timeout: Duration,
}

/// The fields of a problem description that the agent evaluates.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ProblemDetails {
    code: String,
    detail: String,
}

/// The fields of a controller's health that the agent evaluates.
#[derive(Debug, Deserialize)]
struct ControllerHealth {
    term: Option<i64>,
    leader: Option<String>,
}

impl Controller {
    /// Returns a client for the controllers at `urls`, separated by commas, for example `http://127.0.0.1:7432`. It
    /// sends nothing yet.
    pub fn new(urls: &str, client: ControllerClient) -> Self {
        let urls = urls.split(',').map(|url| url.trim().trim_end_matches('/'));
        let urls: Arc<[String]> = urls.map(str::to_owned).collect();
        let first = urls.first().cloned().unwrap_or_default();
        Self {
            urls,
            leader: watch::Sender::new(first),
            client,
        }
    }

    /// Requests work. Returns `None` if the controller had none for the time of a long poll.
    ///
    /// # Errors
    /// [`ControllerError`]
    pub async fn claim(&self, claim: &Claim) -> Result<Option<Work>, ControllerError> {
        let path = "/api/v1/agents/claim";
        let response = self.send(path, claim, CLAIM_TIMEOUT).await?;
        if response.status() == reqwest::StatusCode::NO_CONTENT {
            return Ok(None);
        }
        let url = response.url().origin().ascii_serialization();
        let text = response.text().await;
        let work = text.map_err(|error| unreachable_error(&url, &error))?;
        match serde_json::from_str(&work) {
            Ok(work) => Ok(Some(work)),
            Err(error) => Err(ControllerError::UnknownWork {
                work,
                reason: error.to_string(),
            }),
        }
    }

    /// Sends a heartbeat. While the answer is missing, the agent queries repeatedly which controller leads.
    ///
    /// # Errors
    /// [`ControllerError`]
    pub async fn heartbeat(&self, beat: &Heartbeat) -> Result<HeartbeatReply, ControllerError> {
        let leader_checks = async {
            loop {
                tokio::time::sleep(LEADER_CHECK_INTERVAL).await;
                self.find_leader().await;
            }
        };
        let response = self.send("/api/v1/agents/heartbeat", beat, CALL_TIMEOUT);
        // If another controller leads, the select below ends with an error.
        let response = tokio::select! {
            answer = response => answer?,
            () = leader_checks => unreachable!("the checks never end"),
        };
        self.read_json(response).await
    }

    /// Reports the outcome of a step or of an inspection.
    ///
    /// # Errors
    /// [`ControllerError`]; the controller refuses the report if the epoch is stale.
    pub async fn report(&self, report: &Report) -> Result<(), ControllerError> {
        self.send("/api/v1/agents/report", report, CALL_TIMEOUT)
            .await
            .map(|_| ())
    }

    /// Sends a request of a cutover to the control store, through the controller.
    ///
    /// # Errors
    /// [`ControllerError`]; after an unreachable controller the outcome is unknown.
    pub async fn cutover(&self, call: &CutoverCall) -> Result<CutoverAnswer, ControllerError> {
        let response = self
            .send("/api/v1/agents/cutover", call, CALL_TIMEOUT)
            .await?;
        self.read_json(response).await
    }

    /// Returns whether a migration has ended, or `None` if the controller does not know it.
    ///
    /// # Errors
    /// [`ControllerError`]
    pub async fn has_ended(
        &self,
        migration: &MigrationId,
    ) -> Result<Option<bool>, ControllerError> {
        #[derive(Deserialize)]
        struct MigrationView {
            finished_at: Option<String>,
        }
        let base = self.leader.borrow().clone();
        let url = format!("{base}/api/v1/migrations/{migration}");
        let request = self.client.request(Method::GET, url);
        let response = self.client.send(request.timeout(CALL_TIMEOUT));
        let response = response
            .await
            .map_err(|error| unreachable_error(&base, &error))?;
        if response.status() == reqwest::StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let view = response.json::<MigrationView>().await;
        view.map(|view| Some(view.finished_at.is_some()))
            .map_err(|error| unreachable_error(&base, &error))
    }

    /// Returns a registered shard, or `None` if no shard has this name.
    ///
    /// # Errors
    /// [`ControllerError`]
    pub async fn shard(&self, name: &ShardName) -> Result<Option<ShardRef>, ControllerError> {
        let base = self.leader.borrow().clone();
        let url = format!("{base}/api/v1/shards/{name}");
        let request = self.client.request(Method::GET, url).timeout(CALL_TIMEOUT);
        let response = self.client.send(request).await;
        let response = response.map_err(|error| unreachable_error(&base, &error))?;
        match response.status() {
            reqwest::StatusCode::NOT_FOUND => Ok(None),
            status if status.is_success() => self.read_json(response).await.map(Some),
            _ => Err(refused_error("/api/v1/shards", response).await),
        }
    }

    /// Records the replication slot of a standby that is about to be created. Returns the slot, whose name is new.
    ///
    /// # Errors
    /// [`ControllerError`]; nothing may be created then.
    pub async fn record_standby_slot(
        &self,
        new: &NewStandby,
    ) -> Result<StandbySlot, ControllerError> {
        let response = self.send("/api/v1/standbys", new, CALL_TIMEOUT).await?;
        self.read_json(response).await
    }

    /// Registers a shard, which an agent then examines.
    ///
    /// # Errors
    /// [`ControllerError`]
    pub async fn add_shard(&self, name: &ShardName, dsn: &str) -> Result<(), ControllerError> {
        #[derive(Serialize)]
        struct NewShard<'a> {
            name: &'a ShardName,
            dsn: &'a str,
        }
        let shard = NewShard { name, dsn };
        let added = self.send("/api/v1/shards", &shard, REGISTER_TIMEOUT).await;
        added.map(|_| ())
    }

    /// Records objects that the agent is about to create.
    ///
    /// # Errors
    /// [`ControllerError`]; nothing may be created then.
    pub async fn record_cleanup(
        &self,
        dispatch: &Dispatch,
        records: &[CleanupRecord],
    ) -> Result<(), ControllerError> {
        let endpoint = "cleanup-records";
        let path = format!("/api/v1/migrations/{}/{endpoint}", dispatch.migration);
        let call = ControllerCall {
            endpoint,
            path: &path,
            secret: dispatch.secret.as_ref(),
            timeout: CALL_TIMEOUT,
        };
        self.post(call, records).await.map(|_| ())
    }

    /// Sends a call without a secret.
    async fn send(
        &self,
        path: &'static str,
        body: &(impl Serialize + Sync),
        timeout: Duration,
    ) -> Result<reqwest::Response, ControllerError> {
        let call = ControllerCall {
            endpoint: path,
            path,
            secret: None,
            timeout,
        };
        self.post(call, body).await
    }

    /// Sends a call to the leader. After a failure it queries which controller leads.
    async fn post(
        &self,
        call: ControllerCall<'_>,
        body: &(impl Serialize + Sync + ?Sized),
    ) -> Result<reqwest::Response, ControllerError> {
        let path = call.path;
        let mut leaders = self.leader.subscribe();
        let base = leaders.borrow_and_update().clone();
        let request = self.client.request(Method::POST, format!("{base}{path}"));
        let mut request = request.json(body).timeout(call.timeout);
        if let Some(secret) = call.secret {
            let value = HeaderValue::from_str(secret.reveal());
            let mut value = value.map_err(|_| ControllerError::Unreachable {
                url: base.clone(),
                reason: "the secret of the dispatch is not a valid header value".to_owned(),
            })?;
            value.set_sensitive(true);
            request = request.header(SECRET_HEADER, value);
        }
        let response = tokio::select! {
            response = self.client.send(request) => response,
            // `changed` cannot fail: the sender lives as long as `self`.
            _ = leaders.changed() => return Err(ControllerError::Unreachable {
                url: base,
                reason: "another controller leads now".to_owned(),
            }),
        };
        let response = match response {
            Ok(response) => response,
            Err(error) => {
                self.find_leader().await;
                return Err(unreachable_error(&base, &error));
            }
        };
        let status = response.status();
        // A follower redirects the request to the leader.
        let answered = response.url().as_str().strip_suffix(path);
        if let Some(answered) = answered.filter(|url| *url != base && status.is_success()) {
            self.set_leader(answered.to_owned());
        }
        if status.is_success() {
            return Ok(response);
        }
        if status.is_server_error() || status == MISDIRECTED {
            self.find_leader().await;
        }
        Err(refused_error(call.endpoint, response).await)
    }

    /// Queries all controllers which one leads. The answer with the highest term decides.
    async fn find_leader(&self) {
        let known = self.leader.borrow().clone();
        let other_urls = self.urls.iter().filter(|url| **url != known);
        let requests = std::iter::once(&known)
            .chain(other_urls)
            .map(|url| async move {
                let request = self
                    .client
                    .request(Method::GET, format!("{url}/api/v1/health"));
                let response = self.client.send(request.timeout(HEALTH_TIMEOUT)).await;
                let response = response.ok()?.error_for_status().ok()?;
                let health: ControllerHealth = response.json().await.ok()?;
                Some((health.term?, health.leader?))
            });
        let answers = futures::future::join_all(requests).await;
        let latest = answers.into_iter().flatten().max_by_key(|(term, _)| *term);
        if let Some((term, leader)) = latest {
            tracing::debug!(term, leader, "leader of the controllers");
            self.set_leader(leader);
        }
    }

    /// Sets the URL of the leader. A change ends the calls in progress.
    fn set_leader(&self, leader: String) {
        self.leader.send_if_modified(|known| {
            let has_changed = *known != leader;
            if has_changed {
                tracing::info!(from = %known, to = %leader, "another controller leads");
                *known = leader;
            }
            has_changed
        });
    }

    /// Decodes the body of a response.
    async fn read_json<T: DeserializeOwned>(
        &self,
        response: reqwest::Response,
    ) -> Result<T, ControllerError> {
        let url = response.url().origin().ascii_serialization();
        response
            .json()
            .await
            .map_err(|error| unreachable_error(&url, &error))
    }
}

/// Returns the error of a response without success.
async fn refused_error(path: &'static str, response: reqwest::Response) -> ControllerError {
    let status = response.status().as_u16();
    let text = response.text().await.unwrap_or_default();
    let problem: ProblemDetails = serde_json::from_str(&text).unwrap_or_default();
    let is_problem = !problem.detail.is_empty();
    ControllerError::Refused {
        path,
        status,
        code: problem.code,
        detail: if is_problem { problem.detail } else { text },
    }
}

fn unreachable_error(url: &str, error: &reqwest::Error) -> ControllerError {
    ControllerError::Unreachable {
        url: url.to_owned(),
        reason: error.to_string(),
    }
}
