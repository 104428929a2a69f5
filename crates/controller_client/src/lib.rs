//! How any part of Shardwright asks a controller over HTTP: with its token, by its certificate authority, and to the
//! controller that leads.
//!
//! A follower redirects what only the leader answers. The libraries drop a token on the way to another address; here
//! it goes along, because whoever was shown it sent us there.
//! Absent: retries, the choice between several controllers.

mod machine;
mod trust;

use reqwest::header::{AUTHORIZATION, HeaderValue, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, IntoUrl, Method, Request, RequestBuilder, Response, StatusCode};
use std::path::{Path, PathBuf};

pub use machine::token_file;

/// Redirects that are followed for one call: the leader may change on the way.
const REDIRECTS: u32 = 4;

/// Why nothing can be asked.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A file could not be read.
    #[error("could not read {what} {path}: {source}")]
    File {
        /// the token or the certificates.
        what: &'static str,
        /// Where it should be.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The token has characters that no token has.
    #[error("the token has characters that no token has")]
    Token,
    /// A file of certificates that holds none.
    #[error("{path} holds no certificate that can be read: {reason}")]
    Certificates {
        /// The file.
        path: PathBuf,
        /// The library's words.
        reason: String,
    },
    /// TLS cannot be set up.
    #[error("TLS could not be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// The HTTP library refused.
    #[error("HTTP could not be set up: {0}")]
    Http(#[from] reqwest::Error),
}

/// A client of the HTTP library that shows no token, and trusts the authorities of `ca_file`, or those of the system.
///
/// # Errors
/// [`SetupError`]
pub fn client(redirect: Policy, ca_file: Option<&Path>) -> Result<Client, SetupError> {
    let config = trust::config(ca_file)?;
    let builder = Client::builder().redirect(redirect);
    Ok(builder.tls_backend_preconfigured(config).build()?)
}

/// What a caller shows, and whom it trusts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// The file of its token; none: that of this machine's controllers, shown on loopback ([`token_file`]).
    pub token_file: Option<PathBuf>,
    /// PEM file of the authorities that it trusts; none: those of the system.
    pub ca_file: Option<PathBuf>,
}

impl Identity {
    /// As the environment says: `SHARDWRIGHT_TOKEN_FILE` and `SHARDWRIGHT_CA_FILE`.
    #[must_use]
    pub fn from_environment() -> Self {
        let path = |name| std::env::var_os(name).map(PathBuf::from);
        Self {
            token_file: path("SHARDWRIGHT_TOKEN_FILE"),
            ca_file: path("SHARDWRIGHT_CA_FILE"),
        }
    }
}

/// Asks controllers.
#[derive(Debug, Clone)]
pub struct ControllerClient {
    http: Client,
    token: Option<HeaderValue>,
}

impl ControllerClient {
    /// One that shows and trusts what `identity` says; nothing is sent yet.
    ///
    /// # Errors
    /// [`SetupError`]
    pub fn new(identity: &Identity) -> Result<Self, SetupError> {
        Ok(Self {
            http: client(Policy::none(), identity.ca_file.as_deref())?,
            token: identity.token_file.as_deref().map(token).transpose()?,
        })
    }

    /// A call, with the token.
    pub fn request(&self, method: Method, url: impl IntoUrl) -> RequestBuilder {
        let request = self.http.request(method, url);
        match &self.token {
            Some(token) => request.header(AUTHORIZATION, token.clone()),
            None => request,
        }
    }

    /// Sends a call, and sends it on where a follower says so.
    ///
    /// # Errors
    /// What the HTTP library says.
    pub async fn send(&self, request: RequestBuilder) -> reqwest::Result<Response> {
        let mut request = request.build()?;
        for _ in 0..REDIRECTS {
            self.show(&mut request);
            let again = request.try_clone();
            let response = self.http.execute(request).await?;
            match again.and_then(|again| elsewhere(&response, again)) {
                Some(redirected) => request = redirected,
                None => return Ok(response),
            }
        }
        self.show(&mut request);
        self.http.execute(request).await
    }

    /// The token of this machine goes with a call to it, and with no other.
    fn show(&self, request: &mut Request) {
        if self.token.is_some() {
            return;
        }
        let token = machine::token_for(request.url());
        let headers = request.headers_mut();
        match token {
            Some(token) => drop(headers.insert(AUTHORIZATION, token)),
            None => drop(headers.remove(AUTHORIZATION)),
        }
    }
}

/// The same call to where the answer points.
fn elsewhere(response: &Response, mut again: Request) -> Option<Request> {
    if response.status() != StatusCode::TEMPORARY_REDIRECT {
        return None;
    }
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    *again.url_mut() = response.url().join(location).ok()?;
    Some(again)
}

fn token(path: &Path) -> Result<HeaderValue, SetupError> {
    let text = std::fs::read_to_string(path).map_err(|source| SetupError::File {
        what: "the token",
        path: path.to_owned(),
        source,
    })?;
    let value = HeaderValue::from_str(&format!("Bearer {}", text.trim()));
    let mut value = value.map_err(|_| SetupError::Token)?;
    value.set_sensitive(true);
    Ok(value)
}
