//! Requests to a controller over HTTP, as all parts of Shardwright send them: with a token, with verified certificates,
//! and redirected to the leading controller.
//!
//! A follower redirects requests that only the leader can answer. HTTP libraries drop the token when a redirect leads
//! to another address. This crate keeps it, because the redirect comes from a controller that has already received the
//! token. The crate repeats nothing, and does not choose between several controllers.

mod machine;
mod trust;

use reqwest::header::{AUTHORIZATION, HeaderValue, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, IntoUrl, Method, Request, RequestBuilder, Response, StatusCode};
use std::path::{Path, PathBuf};

pub use machine::token_file;

/// The maximum number of redirects for one request. There can be several: the leader may change meanwhile.
const MAX_REDIRECTS: u32 = 4;

/// Why a client could not be created.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A file could not be read.
    #[error("could not read {what} {path}: {source}")]
    File {
        /// The kind of file: the token or the certificates.
        what: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The token contains invalid characters.
    #[error("the token contains characters that an HTTP header must not contain")]
    Token,
    /// The file of certificates contains none.
    #[error("{path} contains no usable certificate: {reason}")]
    Certificates {
        /// The file.
        path: PathBuf,
        /// The error message of the library.
        reason: String,
    },
    /// TLS cannot be set up.
    #[error("TLS could not be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// The error of the HTTP library.
    #[error("HTTP could not be set up: {0}")]
    Http(#[from] reqwest::Error),
}

/// Creates a client of the HTTP library without a token. It trusts the certificate authorities in `ca_file`, or those
/// of the system.
///
/// # Errors
/// [`SetupError`]
pub fn client(redirect: Policy, ca_file: Option<&Path>) -> Result<Client, SetupError> {
    let config = trust::config(ca_file)?;
    let builder = Client::builder().redirect(redirect);
    Ok(builder.tls_backend_preconfigured(config).build()?)
}

/// The token and the trusted authorities of a caller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// The file with the token; `None`: that of this machine's controllers, which is sent only to loopback
    /// ([`token_file`]).
    pub token_file: Option<PathBuf>,
    /// The PEM file with the trusted authorities; `None`: those of the system.
    pub ca_file: Option<PathBuf>,
}

impl Identity {
    /// Reads the variables `SHARDWRIGHT_TOKEN_FILE` and `SHARDWRIGHT_CA_FILE`.
    #[must_use]
    pub fn from_environment() -> Self {
        let path = |name| std::env::var_os(name).map(PathBuf::from);
        Self {
            token_file: path("SHARDWRIGHT_TOKEN_FILE"),
            ca_file: path("SHARDWRIGHT_CA_FILE"),
        }
    }
}

/// A client of controllers.
#[derive(Debug, Clone)]
pub struct ControllerClient {
    http: Client,
    token: Option<HeaderValue>,
}

impl ControllerClient {
    /// Creates a client with the token and the authorities of `identity`. Sends nothing.
    ///
    /// # Errors
    /// [`SetupError`]
    pub fn new(identity: &Identity) -> Result<Self, SetupError> {
        Ok(Self {
            http: client(Policy::none(), identity.ca_file.as_deref())?,
            token: identity.token_file.as_deref().map(read_token).transpose()?,
        })
    }

    /// Creates a request with the token.
    pub fn request(&self, method: Method, url: impl IntoUrl) -> RequestBuilder {
        let request = self.http.request(method, url);
        match &self.token {
            Some(token) => request.header(AUTHORIZATION, token.clone()),
            None => request,
        }
    }

    /// Sends a request, and follows redirects.
    ///
    /// # Errors
    /// An error of the HTTP library.
    pub async fn send(&self, request: RequestBuilder) -> reqwest::Result<Response> {
        let mut request = request.build()?;
        for _ in 0..MAX_REDIRECTS {
            self.set_local_token(&mut request);
            let copy = request.try_clone();
            let response = self.http.execute(request).await?;
            match copy.and_then(|copy| redirected_request(&response, copy)) {
                Some(redirected) => request = redirected,
                None => return Ok(response),
            }
        }
        self.set_local_token(&mut request);
        self.http.execute(request).await
    }

    /// If no token was configured: adds the token of this machine's controllers to a request to this machine, and
    /// removes it from a request to any other address.
    fn set_local_token(&self, request: &mut Request) {
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

/// Returns `request` with the address to which `response` redirects; `None` if it does not redirect.
fn redirected_request(response: &Response, mut request: Request) -> Option<Request> {
    if response.status() != StatusCode::TEMPORARY_REDIRECT {
        return None;
    }
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    *request.url_mut() = response.url().join(location).ok()?;
    Some(request)
}

/// Reads a token file, and returns the value of the header `Authorization`.
fn read_token(path: &Path) -> Result<HeaderValue, SetupError> {
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
