//! The controller as an agent sees it: five calls over HTTP, always from here to there.
//!
//! Of several controllers one leads. Any of them names it; calls go there until it falls silent or another one
//! leads. A call that is under way when the leader changes is given up: its outcome is unknown, as of any lost answer.

use std::sync::Arc;
use std::time::Duration;

use controller_client::ControllerClient;
use plans::id::MigrationId;
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

/// How long a claim may be kept waiting by the controller, and then some.
const CLAIM_TIMEOUT: Duration = Duration::from_secs(30);
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// A heartbeat without an answer for this long makes the agent ask who leads.
const LEADER_CHECK_INTERVAL: Duration = Duration::from_millis(1200);
/// Longest wait for a controller that is to say who leads.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(1);
/// The call was sent to a controller that lost the lead meanwhile; nothing was done.
const MISDIRECTED: u16 = 421;
/// The epoch is not the owner's.
const STALE: &str = "epoch.stale";
/// The token or the secret is not the owner's.
const NOT_OWNER: &str = "agent.not_owner";
/// What the target must have is not shown.
const EVIDENCE: &str = "cutover.evidence";
/// The fix for a target that does not show what was compared.
const EVIDENCE_HINT: &str = "check whether the target's connection string leads to the database that was compared; then `verify` again";

/// Why a call came to nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ControllerError {
    /// No answer.
    #[error("the controller at {url} did not answer: {reason}")]
    Unreachable {
        /// Its address.
        url: String,
        /// What happened.
        reason: String,
    },
    /// It said no, or something that this version does not understand.
    #[error("the controller refused {path} with status {status}: {detail}")]
    Refused {
        /// Which call.
        path: &'static str,
        /// HTTP status.
        status: u16,
        /// The problem's stable code; empty where the answer has none.
        code: String,
        /// Its words.
        detail: String,
    },
    /// It gave work that this version does not understand.
    #[error("the controller gave work that this version does not understand: {reason}")]
    UnknownWork {
        /// The work, as it came.
        work: String,
        /// What is not understood.
        reason: String,
    },
}

impl ControllerError {
    /// True when another process owns the migration by now, or always did.
    pub fn is_superseded(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if [STALE, NOT_OWNER].contains(&code.as_str()))
    }

    /// What the controller misses of the target, in its words, where it does.
    pub fn missing_evidence(&self) -> Option<&str> {
        match self {
            Self::Refused { code, detail, .. } if code == EVIDENCE => Some(detail),
            Self::Refused { .. } | Self::Unreachable { .. } | Self::UnknownWork { .. } => None,
        }
    }

    /// True when the controller answered and will not change its mind.
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
            return Self::refused(EVIDENCE, missing, EVIDENCE_HINT);
        }
        Self::passing("controller", error.to_string())
    }
}

/// A thing that a migration is about to create, told before it is created.
#[derive(Debug, Clone, Serialize)]
pub struct CleanupRecord {
    /// The shard it will be on.
    pub shard: String,
    /// slot, publication, guard, schema, tables, rows or backend.
    pub kind: String,
    /// Its name there.
    pub name: String,
    /// When it must go: `on_failure` (an unwound migration) or `always`.
    pub policy: String,
}

/// The controllers behind some URLs, of which one leads.
#[derive(Debug, Clone)]
pub struct Controller {
    urls: Arc<[String]>,
    /// Where the leader is, as far as is known.
    leader: watch::Sender<String>,
    client: ControllerClient,
}

/// A call.
struct ControllerCall<'a> {
    /// By this name it is reported.
    endpoint: &'static str,
    path: &'a str,
    /// Of the dispatch, where the body has no room for it.
    secret: Option<&'a WireSecret>,
    timeout: Duration,
}

/// What a refusal says; the rest is for people.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ProblemDetails {
    code: String,
    detail: String,
}

/// What a controller says of itself; the rest does not matter here.
#[derive(Debug, Deserialize)]
struct ControllerHealth {
    term: Option<i64>,
    leader: Option<String>,
}

impl Controller {
    /// Controllers at `urls`, separated by commas, for example `http://127.0.0.1:7432`; nothing is sent yet.
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

    /// Asks for work; `None` when there was none for a while.
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

    /// Shows a sign of life.
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
        // A leader that was found elsewhere ends the call.
        let response = tokio::select! {
            answer = response => answer?,
            () = leader_checks => unreachable!("the checks never end"),
        };
        self.read_json(response).await
    }

    /// Reports how a step or a survey ended.
    ///
    /// # Errors
    /// [`ControllerError`]; refused when the epoch is stale.
    pub async fn report(&self, report: &Report) -> Result<(), ControllerError> {
        self.send("/api/v1/agents/report", report, CALL_TIMEOUT)
            .await
            .map(|_| ())
    }

    /// Asks the control store on behalf of a cutover.
    ///
    /// # Errors
    /// [`ControllerError`]; after an unreachable controller the outcome is unknown.
    pub async fn cutover(&self, call: &CutoverCall) -> Result<CutoverAnswer, ControllerError> {
        let response = self
            .send("/api/v1/agents/cutover", call, CALL_TIMEOUT)
            .await?;
        self.read_json(response).await
    }

    /// Whether a migration has ended; `None` when the controller does not know it.
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

    /// Records what is about to be created.
    ///
    /// # Errors
    /// [`ControllerError`]; nothing may be created then.
    pub async fn record_cleanup(
        &self,
        dispatch: &Dispatch,
        records: &[CleanupRecord],
    ) -> Result<(), ControllerError> {
        self.post_cleanup_records(dispatch, "cleanup-records", records)
            .await
    }

    /// Records that what was created is gone.
    ///
    /// # Errors
    /// [`ControllerError`]
    pub async fn cleanup_done(
        &self,
        dispatch: &Dispatch,
        records: &[CleanupRecord],
    ) -> Result<(), ControllerError> {
        self.post_cleanup_records(dispatch, "cleanup-records/done", records)
            .await
    }

    async fn post_cleanup_records(
        &self,
        dispatch: &Dispatch,
        endpoint: &'static str,
        records: &[CleanupRecord],
    ) -> Result<(), ControllerError> {
        let path = format!("/api/v1/migrations/{}/{endpoint}", dispatch.migration);
        let call = ControllerCall {
            endpoint,
            path: &path,
            secret: dispatch.secret.as_ref(),
            timeout: CALL_TIMEOUT,
        };
        self.post(call, records).await.map(|_| ())
    }

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
                reason: "the secret of the dispatch is no header".to_owned(),
            })?;
            value.set_sensitive(true);
            request = request.header(SECRET_HEADER, value);
        }
        let response = tokio::select! {
            response = self.client.send(request) => response,
            // The sender lives as long as `self`.
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
        // A follower redirects what the leader is asked.
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
        let text = response.text().await.unwrap_or_default();
        let problem: ProblemDetails = serde_json::from_str(&text).unwrap_or_default();
        let is_problem = !problem.detail.is_empty();
        let detail = if is_problem { problem.detail } else { text };
        Err(ControllerError::Refused {
            path: call.endpoint,
            status: status.as_u16(),
            code: problem.code,
            detail,
        })
    }

    /// Asks all controllers who leads; the highest term counts.
    async fn find_leader(&self) {
        let known = self.leader.borrow().clone();
        let other_urls = self.urls.iter().filter(|url| **url != known);
        let requested = std::iter::once(&known)
            .chain(other_urls)
            .map(|url| async move {
                let health = self
                    .client
                    .request(Method::GET, format!("{url}/api/v1/health"));
                let requested = self.client.send(health.timeout(HEALTH_TIMEOUT));
                let answer = requested.await.ok()?;
                let health: ControllerHealth = answer.error_for_status().ok()?.json().await.ok()?;
                Some((health.term?, health.leader?))
            });
        let answers = futures::future::join_all(requested).await;
        let latest = answers.into_iter().flatten().max_by_key(|(term, _)| *term);
        if let Some((term, leader)) = latest {
            tracing::debug!(term, leader, "leader of the controllers");
            self.set_leader(leader);
        }
    }

    fn set_leader(&self, leader: String) {
        self.leader.send_if_modified(|known| {
            let moved = *known != leader;
            if moved {
                tracing::info!(from = %known, to = %leader, "another controller leads");
                *known = leader;
            }
            moved
        });
    }

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

fn unreachable_error(url: &str, error: &reqwest::Error) -> ControllerError {
    ControllerError::Unreachable {
        url: url.to_owned(),
        reason: error.to_string(),
    }
}
