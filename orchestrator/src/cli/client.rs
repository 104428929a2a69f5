//! The client of the controller's API for the command line.
//!
//! If there are several controllers, requests go to the first one that can be reached. A controller that is not the
//! leader forwards requests that only the leader can answer.

use super::error::CliError;
use crate::api::{IDEMPOTENCY_HEADER, IN_PROGRESS, Problem, REASON_HEADER};
use controller_client::ControllerClient;
use reqwest::header::HeaderValue;
use reqwest::{Method, RequestBuilder, Response};
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How many times a command is sent if its connection is lost, and the pause before it is sent again.
const MAX_SENDS: u32 = 4;
const RESEND_PAUSE: Duration = Duration::from_millis(500);

/// The controllers at a list of URLs.
#[derive(Debug, Clone)]
pub(super) struct Client {
    urls: Vec<String>,
    http: ControllerClient,
    keys: Arc<IdempotencyKeys>,
}

/// The idempotency keys of the requests of this command. Each request has its own key, and keeps it if it is sent
/// again.
#[derive(Debug)]
struct IdempotencyKeys {
    /// The key that the user chose.
    chosen: Option<String>,
    /// How many keys were used.
    used: AtomicU32,
}

impl IdempotencyKeys {
    fn next(&self) -> String {
        let number = self.used.fetch_add(1, Ordering::Relaxed);
        match (&self.chosen, number) {
            (Some(key), 0) => key.clone(),
            (Some(key), number) => format!("{key}-{number}"),
            (None, _) => uuid::Uuid::now_v7().to_string(),
        }
    }
}

impl Client {
    /// Creates a client for the controllers at `urls`, separated by commas. Does not send anything.
    ///
    /// `key` is the idempotency key of the first request. Without it, each request has a random key.
    pub(super) fn new(urls: &str, http: ControllerClient, key: Option<String>) -> Self {
        let urls = urls.split(',').map(|url| url.trim().trim_end_matches('/'));
        Self {
            urls: urls.map(str::to_owned).collect(),
            http,
            keys: Arc::new(IdempotencyKeys {
                chosen: key,
                used: AtomicU32::new(0),
            }),
        }
    }

    /// Returns the URL of the controller to which requests are sent first.
    pub(super) fn url(&self) -> &str {
        self.urls.first().map_or("", String::as_str)
    }

    /// Sends a GET request and returns the JSON of the answer.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        self.read(self.send(Method::GET, path, |r| r).await?).await
    }

    /// Reads the newest `limit` entries of a list. Also returns whether there are more.
    pub(super) async fn newest<T: DeserializeOwned>(
        &self,
        path: &str,
        limit: u32,
    ) -> Result<(Vec<T>, bool), CliError> {
        let path = format!("{path}?limit={limit}");
        let answer = self.send(Method::GET, &path, |r| r).await?;
        let has_more = answer.headers().contains_key("link");
        Ok((self.read(answer).await?, has_more))
    }

    /// Sends a GET request and returns the text of the answer.
    pub(super) async fn text(&self, path: &str) -> Result<String, CliError> {
        let answer = self.send(Method::GET, path, |r| r).await?;
        let url = answer.url().origin().ascii_serialization();
        answer.text().await.map_err(|error| CliError::Answer {
            url,
            reason: error.to_string(),
        })
    }

    /// Sends a POST request with this text and returns the JSON of the answer.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: String,
    ) -> Result<T, CliError> {
        let sent = self.send(Method::POST, path, |r| r.body(body.clone()));
        self.read(sent.await?).await
    }

    /// Sends a POST request with this text, and with the reason outside of the body, for bodies without a field for it.
    pub(super) async fn post_with_reason<T: DeserializeOwned>(
        &self,
        path: &str,
        body: String,
        reason: Option<&str>,
    ) -> Result<T, CliError> {
        let header = reason.map(|text| {
            HeaderValue::from_bytes(text.as_bytes())
                .map_err(|_| CliError::Usage("a reason must be one line of text".to_owned()))
        });
        let header = header.transpose()?;
        let add_reason = |request: RequestBuilder| match &header {
            Some(value) => request.header(REASON_HEADER, value),
            None => request,
        };
        let sent = self.send(Method::POST, path, |r| add_reason(r).body(body.clone()));
        self.read(sent.await?).await
    }

    /// Sends a PATCH request with the changed fields and returns the JSON of the answer.
    pub(super) async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: String,
    ) -> Result<T, CliError> {
        let sent = self.send(Method::PATCH, path, |r| r.body(body.clone()));
        self.read(sent.await?).await
    }

    /// Sends a DELETE request with the reason.
    pub(super) async fn delete(&self, path: &str, reason: Option<&str>) -> Result<(), CliError> {
        let body = serde_json::json!({ "reason": reason }).to_string();
        self.send(Method::DELETE, path, |r| r.body(body.clone()))
            .await?;
        Ok(())
    }

    /// Opens a stream of events.
    pub(super) async fn events(&self, path: &str) -> Result<Response, CliError> {
        let accept = |r: RequestBuilder| r.header("accept", "text/event-stream");
        self.send(Method::GET, path, accept).await
    }

    /// Sends a request and returns the first answer. If the connection is lost, a request with an idempotency key is
    /// sent again, because the controller does not execute it twice.
    async fn send(
        &self,
        method: Method,
        path: &str,
        fill: impl Fn(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, CliError> {
        if !takes_key(&method, path) {
            return self.send_once(&method, path, &fill).await;
        }
        let key = self.keys.next();
        let fill = |request: RequestBuilder| fill(request).header(IDEMPOTENCY_HEADER, &key);
        for _ in 1..MAX_SENDS {
            let sent = self.send_once(&method, path, &fill).await;
            let must_send_again = match &sent {
                Err(CliError::Unreachable { .. }) => true,
                Err(CliError::Problem(problem)) => problem.code == IN_PROGRESS,
                Ok(_) | Err(_) => false,
            };
            if !must_send_again {
                return sent;
            }
            tokio::time::sleep(RESEND_PAUSE).await;
        }
        self.send_once(&method, path, &fill).await
    }

    /// Sends a request and returns the first answer. Sends it to another controller only if the previous one cannot
    /// have executed it.
    async fn send_once(
        &self,
        method: &Method,
        path: &str,
        fill: &impl Fn(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, CliError> {
        let mut last = CliError::Usage("no URL of a controller is named".to_owned());
        for url in &self.urls {
            let mut request = self.http.request(method.clone(), format!("{url}{path}"));
            if let Ok(user) = std::env::var("USER")
                && !user.is_empty()
            {
                request = request.header(crate::api::ACTOR_HEADER, user);
            }
            let response = match self.http.send(fill(request)).await {
                Ok(response) if response.status().is_success() => return Ok(response),
                Ok(response) => response,
                Err(error) if error.is_connect() => {
                    last = unreachable_error(url, &error);
                    continue;
                }
                Err(error) => return Err(unreachable_error(url, &error)),
            };
            let error = error_of_response(url, response).await;
            if !matches!(&error, CliError::Problem(problem) if problem.is_not_leading()) {
                return Err(error);
            }
            last = error;
        }
        Err(last)
    }

    /// Parses the JSON of a response.
    async fn read<T: DeserializeOwned>(&self, response: Response) -> Result<T, CliError> {
        let url = response.url().origin().ascii_serialization();
        response.json().await.map_err(|error| CliError::Answer {
            url,
            reason: error.to_string(),
        })
    }
}

/// Returns whether a request to this path can have an idempotency key.
fn takes_key(method: &Method, path: &str) -> bool {
    if method == Method::GET {
        return false;
    }
    let path = path.split('?').next().unwrap_or_default();
    let pattern = crate::api::document()["paths"]
        .as_object()
        .and_then(|paths| {
            let mut patterns = paths.keys();
            patterns.find(|pattern| matches_pattern(pattern, path))
        });
    pattern.is_some_and(|pattern| crate::api::takes_key(method.as_str(), pattern))
}

/// Returns whether the path matches the pattern. A `{part}` of the pattern matches any segment.
fn matches_pattern(pattern: &str, path: &str) -> bool {
    let (mut pattern_parts, mut parts) = (pattern.split('/'), path.split('/'));
    loop {
        match (pattern_parts.next(), parts.next()) {
            (None, None) => return true,
            (Some(expected), Some(part)) if expected == part || expected.starts_with('{') => {}
            (Some(_) | None, _) => return false,
        }
    }
}

/// Returns the error for a connection that was lost or could not be opened.
fn unreachable_error(url: &str, error: &reqwest::Error) -> CliError {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |e| e.source());
    let reason = causes.last().map_or_else(String::new, ToString::to_string);
    CliError::Unreachable {
        url: url.to_owned(),
        reason,
        sent: !error.is_connect(),
    }
}

/// Returns the error in a response.
async fn error_of_response(url: &str, response: Response) -> CliError {
    let status = response.status();
    let text = response.text().await.unwrap_or_default();
    let problem: Result<Problem, _> = serde_json::from_str(&text);
    match problem {
        Ok(problem) => CliError::Problem(Box::new(problem)),
        Err(_) => CliError::Answer {
            url: url.to_owned(),
            reason: format!("status {status}"),
        },
    }
}
