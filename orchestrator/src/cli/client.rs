//! The API from the command line's side.

use super::error::CliError;
use crate::api::Problem;
use reqwest::{Method, RequestBuilder, Response};
use serde::de::DeserializeOwned;

/// The controller behind one URL.
#[derive(Debug, Clone)]
pub(super) struct Client {
    url: String,
    http: reqwest::Client,
}

impl Client {
    /// Nothing is sent yet.
    pub(super) fn new(url: &str) -> Self {
        Self {
            url: url.trim_end_matches('/').to_owned(),
            http: reqwest::Client::new(),
        }
    }

    /// Reads.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        let response = self.send(self.request(Method::GET, path)).await?;
        self.read(response).await
    }

    /// Sends text, for an answer.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: String,
    ) -> Result<T, CliError> {
        let request = self.request(Method::POST, path).body(body);
        let response = self.send(request).await?;
        self.read(response).await
    }

    /// Sends a change, for an answer.
    pub(super) async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: String,
    ) -> Result<T, CliError> {
        let request = self.request(Method::PATCH, path).body(body);
        let response = self.send(request).await?;
        self.read(response).await
    }

    /// Removes.
    pub(super) async fn delete(&self, path: &str) -> Result<(), CliError> {
        self.send(self.request(Method::DELETE, path)).await?;
        Ok(())
    }

    /// Opens a stream of events.
    pub(super) async fn events(&self, path: &str) -> Result<Response, CliError> {
        let request = self.request(Method::GET, path);
        self.send(request.header("accept", "text/event-stream"))
            .await
    }

    /// A connection that broke.
    pub(super) fn unreachable(&self, error: &reqwest::Error) -> CliError {
        let causes = std::iter::successors(Some(error as &dyn std::error::Error), |e| e.source());
        let reason = causes.last().map_or_else(String::new, ToString::to_string);
        CliError::Unreachable {
            url: self.url.clone(),
            reason,
        }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.url));
        match std::env::var("USER") {
            Ok(user) if !user.is_empty() => request.header(crate::api::ACTOR_HEADER, user),
            _ => request,
        }
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, CliError> {
        let response = request.send().await.map_err(|e| self.unreachable(&e))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let text = response.text().await.unwrap_or_default();
        let problem: Result<Problem, _> = serde_json::from_str(&text);
        Err(match problem {
            Ok(problem) => CliError::Problem(Box::new(problem)),
            Err(_) => CliError::Answer {
                url: self.url.clone(),
                reason: format!("status {status}"),
            },
        })
    }

    async fn read<T: DeserializeOwned>(&self, response: Response) -> Result<T, CliError> {
        response.json().await.map_err(|error| CliError::Answer {
            url: self.url.clone(),
            reason: error.to_string(),
        })
    }
}
