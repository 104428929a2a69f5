//! The options of `serve` about clients: tokens, TLS, read-only.

use crate::access::{AccessRule, AuditRule, Secret, SecretDigest};
use crate::api::{ServeError, ServerCertificate};
use crate::cli::error::CliError;
use crate::cli::files;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_rustls::rustls::ServerConfig;

/// Options of `serve` about which clients are admitted.
#[derive(Debug, Args)]
pub(super) struct ListenerArgs {
    /// Accept only tokens of the store. Without this option a controller on loopback also has a token of this machine,
    /// which commands and agents of the same account find by themselves.
    #[arg(long, env = "SHARDWRIGHT_TOKENS", conflicts_with = "open")]
    tokens: bool,
    /// The file with a token of the role admin. If the file does not exist, it is created with a new token.
    #[arg(
        long,
        value_name = "FILE",
        env = "SHARDWRIGHT_ADMIN_TOKEN_FILE",
        conflicts_with = "open"
    )]
    admin_token_file: Option<PathBuf>,
    /// Require no token. For loopback only; every account of this machine may then do everything.
    #[arg(long)]
    open: bool,
    /// The PEM file with the certificate of the server and the intermediate certificates.
    #[arg(
        long,
        value_name = "FILE",
        env = "SHARDWRIGHT_TLS_CERT",
        requires = "tls_key"
    )]
    tls_cert: Option<PathBuf>,
    /// The PEM file with the private key of the certificate.
    #[arg(
        long,
        value_name = "FILE",
        env = "SHARDWRIGHT_TLS_KEY",
        requires = "tls_cert"
    )]
    tls_key: Option<PathBuf>,
    /// Use HTTP without TLS also on other addresses than loopback, because a proxy in front of the controller uses TLS.
    #[arg(long, env = "SHARDWRIGHT_PLAIN_HTTP")]
    plain_http: bool,
    /// What happens to a command whose line cannot be written to the audit trail: `noted`: the controller carries it
    /// out, and writes the line to the log; `required`: the controller refuses it.
    #[arg(long, value_enum, env = "SHARDWRIGHT_AUDIT", default_value_t)]
    pub(super) audit: AuditRule,
    /// Refuse every change through this controller; agents continue.
    #[arg(long, env = "SHARDWRIGHT_READ_ONLY")]
    pub(super) read_only: bool,
}

impl ListenerArgs {
    /// Returns which callers must present a token.
    pub(super) fn rule(&self) -> AccessRule {
        match self.open {
            true => AccessRule::Open,
            false => AccessRule::Tokens,
        }
    }

    /// Checks that other hosts need a token and TLS. Returns the TLS configuration, if a certificate was named.
    pub(super) fn check(
        &self,
        address: SocketAddr,
        advertised: Option<&str>,
    ) -> Result<Option<Arc<ServerConfig>>, ServeError> {
        let certificate = self.tls_cert.clone().zip(self.tls_key.clone());
        let is_reachable_by_others = !address.ip().is_loopback();
        if is_reachable_by_others && !self.tokens && self.admin_token_file.is_none() {
            return Err(ServeError::NotLoopback { address });
        }
        if is_reachable_by_others && certificate.is_none() && !self.plain_http {
            return Err(ServeError::NoTls { address });
        }
        if address.ip().is_unspecified() && advertised.is_none() {
            return Err(ServeError::NoName { address });
        }
        let certificate = certificate.map(|(chain, key)| ServerCertificate { chain, key });
        certificate
            .map(|certificate| certificate.config())
            .transpose()
    }

    /// Returns the file with the token of the role admin, if there is one.
    pub(super) fn admin_file(&self) -> Option<PathBuf> {
        match &self.admin_token_file {
            Some(path) => Some(path.clone()),
            None if self.tokens || self.open => None,
            None => Some(controller_client::token_file()),
        }
    }

    /// Returns the digest of the admin token. Creates the file if it does not exist.
    pub(super) fn admin_digest(&self) -> Result<Option<SecretDigest>, CliError> {
        let Some(path) = self.admin_file() else {
            return Ok(None);
        };
        let text = files::read_or_create_secret(&path, || Secret::random().reveal().to_owned())?;
        files::check_private(&path)?;
        let secret = Secret::presented(&text);
        if !secret.is_long_enough() {
            let what = format!(
                "the token in {} can be guessed: a token needs 128 random bits, such as from `openssl rand -hex 32`; if \
                 you remove the file, the controller creates a new token",
                path.display()
            );
            return Err(CliError::Usage(what));
        }
        Ok(Some(secret.digest()))
    }
}
