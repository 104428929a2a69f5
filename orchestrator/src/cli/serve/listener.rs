//! Which clients are admitted, and how: tokens, TLS, read-only.

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
    /// Know no tokens but those of the store; without it a controller on loopback has a token of this machine, which
    /// commands and agents of the same account find by themselves.
    #[arg(long, env = "SHARDWRIGHT_TOKENS", conflicts_with = "open")]
    tokens: bool,
    /// The file of a token that opens everything, made anew if it is not there.
    #[arg(
        long,
        value_name = "FILE",
        env = "SHARDWRIGHT_ADMIN_TOKEN_FILE",
        conflicts_with = "open"
    )]
    admin_token_file: Option<PathBuf>,
    /// Ask for no token, on loopback: every account of this machine may then do everything.
    #[arg(long)]
    open: bool,
    /// PEM file of the certificate that is shown, with those between it and a root.
    #[arg(
        long,
        value_name = "FILE",
        env = "SHARDWRIGHT_TLS_CERT",
        requires = "tls_key"
    )]
    tls_cert: Option<PathBuf>,
    /// PEM file of its key.
    #[arg(
        long,
        value_name = "FILE",
        env = "SHARDWRIGHT_TLS_KEY",
        requires = "tls_cert"
    )]
    tls_key: Option<PathBuf>,
    /// Speak HTTP without TLS beyond loopback, because something in front of it speaks TLS.
    #[arg(long, env = "SHARDWRIGHT_PLAIN_HTTP")]
    plain_http: bool,
    /// What becomes of a command whose line in the audit trail cannot be written: it is carried out and noted in the log,
    /// or refused.
    #[arg(long, value_enum, env = "SHARDWRIGHT_AUDIT", default_value_t)]
    pub(super) audit: AuditRule,
    /// Refuse every change through this controller; agents continue.
    #[arg(long, env = "SHARDWRIGHT_READ_ONLY")]
    pub(super) read_only: bool,
}

impl ListenerArgs {
    /// Who must show a token.
    pub(super) fn rule(&self) -> AccessRule {
        match self.open {
            true => AccessRule::Open,
            false => AccessRule::Tokens,
        }
    }

    /// Refuses what would let everybody in, or send tokens in clear; the settings of TLS.
    pub(super) fn check(
        &self,
        address: SocketAddr,
        advertised: Option<&str>,
    ) -> Result<Option<Arc<ServerConfig>>, ServeError> {
        let certificate = self.tls_cert.clone().zip(self.tls_key.clone());
        let beyond = !address.ip().is_loopback();
        if beyond && !self.tokens && self.admin_token_file.is_none() {
            return Err(ServeError::NotLoopback { address });
        }
        if beyond && certificate.is_none() && !self.plain_http {
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

    /// The file of the token that opens everything, if there is one.
    pub(super) fn admin_file(&self) -> Option<PathBuf> {
        match &self.admin_token_file {
            Some(path) => Some(path.clone()),
            None if self.tokens || self.open => None,
            None => Some(controller_client::token_file()),
        }
    }

    /// What is known of the admin token; its file is made where it is not there.
    pub(super) fn admin(&self) -> Result<Option<SecretDigest>, CliError> {
        let Some(path) = self.admin_file() else {
            return Ok(None);
        };
        let text = files::read_or_make_secret(&path, || Secret::random().reveal().to_owned())?;
        files::check_private(&path)?;
        let secret = Secret::presented(&text);
        if !secret.is_long_enough() {
            let what = format!(
                "the token in {} can be guessed: it takes 128 random bits, as of `openssl rand -hex 32`; remove the \
                 file, and another is made",
                path.display()
            );
            return Err(CliError::Usage(what));
        }
        Ok(Some(secret.digest()))
    }
}
