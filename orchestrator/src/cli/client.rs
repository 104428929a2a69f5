//! The API from the command line's side.
//!
//! Of several controllers the first that can be reached is asked; a follower sends on what only the leader answers.

use super::error::CliError;
use crate::api::Problem;
use caller::Caller;
use reqwest::{Method, RequestBuilder, Response};
use serde::de::DeserializeOwned;

/// The controllers behind some URLs.
#[derive(Debug, Clone)]
pub(super) struct Client {
    urls: Vec<String>,
    caller: Caller,
}

impl Client {
    /// Controllers at `urls`, separated by commas; nothing is sent yet.
    pub(super) fn new(urls: &str, caller: Caller) -> Self {
        let urls = urls.split(',').map(|url| url.trim().trim_end_matches('/'));
        Self {
            urls: urls.map(str::to_owned).collect(),
            caller,
        }
    }

    /// Reads.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        self.read(self.send(Method::GET, path, |r| r).await?).await
    }

    /// Reads text.
    pub(super) async fn text(&self, path: &str) -> Result<String, CliError> {
        let answer = self.send(Method::GET, path, |r| r).await?;
        let url = answer.url().origin().ascii_serialization();
        answer.text().await.map_err(|error| CliError::Answer {
            url,
            reason: error.to_string(),
        })
    }

    /// Sends text, for an answer.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: String,
    ) -> Result<T, CliError> {
        let sent = self.send(Method::POST, path, |r| r.body(body.clone()));
        self.read(sent.await?).await
    }

    /// Sends a change, for an answer.
    pub(super) async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: String,
    ) -> Result<T, CliError> {
        let sent = self.send(Method::PATCH, path, |r| r.body(body.clone()));
        self.read(sent.await?).await
    }

    /// Removes, and says why.
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

    /// The first answer; another controller is asked only where nothing can have been done.
    async fn send(
        &self,
        method: Method,
        path: &str,
        fill: impl Fn(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, CliError> {
        let mut last = CliError::Usage("no controller is named".to_owned());
        for url in &self.urls {
            let mut request = self.caller.request(method.clone(), format!("{url}{path}"));
            if let Ok(user) = std::env::var("USER")
                && !user.is_empty()
            {
                request = request.header(crate::api::ACTOR_HEADER, user);
            }
            let response = match self.caller.send(fill(request)).await {
                Ok(response) if response.status().is_success() => return Ok(response),
                Ok(response) => response,
                Err(error) if error.is_connect() => {
                    last = unreachable(url, &error);
                    continue;
                }
                Err(error) => return Err(unreachable(url, &error)),
            };
            let error = refusal(url, response).await;
            if !matches!(&error, CliError::Problem(problem) if problem.is_elsewhere()) {
                return Err(error);
            }
            last = error;
        }
        Err(last)
    }

    async fn read<T: DeserializeOwned>(&self, response: Response) -> Result<T, CliError> {
        let url = response.url().origin().ascii_serialization();
        response.json().await.map_err(|error| CliError::Answer {
            url,
            reason: error.to_string(),
        })
    }
}

/// A connection that broke, or never was.
fn unreachable(url: &str, error: &reqwest::Error) -> CliError {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |e| e.source());
    let reason = causes.last().map_or_else(String::new, ToString::to_string);
    CliError::Unreachable {
        url: url.to_owned(),
        reason,
    }
}

async fn refusal(url: &str, response: Response) -> CliError {
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
