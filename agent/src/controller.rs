//! The controller as an agent sees it: five calls over HTTP, always from here to there.

use std::time::Duration;

use plans::id::MigrationId;
use plans::wire::{Claim, CutoverAnswer, CutoverCall, Heartbeat, HeartbeatReply, Report, Work};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// How long a claim may be kept waiting by the controller, and then some.
const CLAIM_TIMEOUT: Duration = Duration::from_secs(30);
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

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
        /// Its words.
        detail: String,
    },
}

impl ControllerError {
    /// True when the controller answered and will not change its mind.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Refused { status, .. } if (400..500).contains(status))
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

/// The controller behind one URL.
#[derive(Debug, Clone)]
pub struct Controller {
    url: String,
    http: reqwest::Client,
}

impl Controller {
    /// A controller at `url`, for example `http://127.0.0.1:7432`; nothing is sent yet.
    pub fn new(url: &str) -> Self {
        Self {
            url: url.trim_end_matches('/').to_owned(),
            http: reqwest::Client::new(),
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
        self.read(response).await.map(Some)
    }

    /// Shows a sign of life.
    ///
    /// # Errors
    /// [`ControllerError`]
    pub async fn heartbeat(&self, beat: &Heartbeat) -> Result<HeartbeatReply, ControllerError> {
        let response = self
            .send("/api/v1/agents/heartbeat", beat, CALL_TIMEOUT)
            .await?;
        self.read(response).await
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
        self.read(response).await
    }

    /// Records what is about to be created.
    ///
    /// # Errors
    /// [`ControllerError`]; nothing may be created then.
    pub async fn record_cleanup(
        &self,
        migration: &MigrationId,
        records: &[CleanupRecord],
    ) -> Result<(), ControllerError> {
        self.post_to(migration, "cleanup-records", records).await
    }

    /// Records that what was created is gone.
    ///
    /// # Errors
    /// [`ControllerError`]
    pub async fn cleanup_done(
        &self,
        migration: &MigrationId,
        records: &[CleanupRecord],
    ) -> Result<(), ControllerError> {
        self.post_to(migration, "cleanup-records/done", records)
            .await
    }

    async fn post_to(
        &self,
        migration: &MigrationId,
        what: &'static str,
        records: &[CleanupRecord],
    ) -> Result<(), ControllerError> {
        let url = format!("{}/api/v1/migrations/{migration}/{what}", self.url);
        let request = self.http.post(url).json(records).timeout(CALL_TIMEOUT);
        self.answer(what, request.send().await).await.map(|_| ())
    }

    async fn send(
        &self,
        path: &'static str,
        body: &(impl Serialize + Sync),
        timeout: Duration,
    ) -> Result<reqwest::Response, ControllerError> {
        let url = format!("{}{path}", self.url);
        let sent = self.http.post(url).json(body).timeout(timeout).send().await;
        self.answer(path, sent).await
    }

    async fn answer(
        &self,
        path: &'static str,
        sent: Result<reqwest::Response, reqwest::Error>,
    ) -> Result<reqwest::Response, ControllerError> {
        let response = sent.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let detail = response.text().await.unwrap_or_default();
        Err(ControllerError::Refused {
            path,
            status: status.as_u16(),
            detail,
        })
    }

    async fn read<T: DeserializeOwned>(
        &self,
        response: reqwest::Response,
    ) -> Result<T, ControllerError> {
        response
            .json()
            .await
            .map_err(|error| self.unreachable(&error))
    }

    fn unreachable(&self, error: &reqwest::Error) -> ControllerError {
        ControllerError::Unreachable {
            url: self.url.clone(),
            reason: error.to_string(),
        }
    }
}
