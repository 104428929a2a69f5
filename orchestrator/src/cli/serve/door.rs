//! Who is let in, and by which door: tokens, TLS, read-only.

use crate::access::{Digest, Rule, Secret};
use crate::api::{Certificate, ServeError};
use crate::cli::error::CliError;
use crate::cli::files;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_rustls::rustls::ServerConfig;

/// Options of `serve` about who is let in.
#[derive(Debug, Args)]
pub(super) struct Door {
    /// Ask everybody for a token; without it, who reaches the loopback address may do everything.
    #[arg(long, env = "SHARDWRIGHT_TOKENS")]
    tokens: bool,
    /// The file of a token that opens everything, made anew if it is not there; asks everybody for a token.
    #[arg(long, value_name = "FILE", env = "SHARDWRIGHT_ADMIN_TOKEN_FILE")]
    admin_token_file: Option<PathBuf>,
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
    /// Let nobody change anything through this controller; agents go on.
    #[arg(long, env = "SHARDWRIGHT_READ_ONLY")]
    pub(super) read_only: bool,
}

impl Door {
    /// Who must show a token.
    pub(super) fn rule(&self) -> Rule {
        if self.tokens || self.admin_token_file.is_some() {
            Rule::Tokens
        } else {
            Rule::Open
        }
    }

    /// Refuses what would let everybody in, or send tokens in clear; the settings of TLS.
    pub(super) fn check(
        &self,
        address: SocketAddr,
        advertised: Option<&str>,
    ) -> Result<Option<Arc<ServerConfig>>, ServeError> {
        let certificate = self.tls_cert.clone().zip(self.tls_key.clone());
        let beyond = self.rule() == Rule::Tokens && !address.ip().is_loopback();
        if beyond && certificate.is_none() && !self.plain_http {
            return Err(ServeError::NoTls { address });
        }
        if address.ip().is_unspecified() && advertised.is_none() {
            return Err(ServeError::NoName { address });
        }
        let certificate = certificate.map(|(chain, key)| Certificate { chain, key });
        certificate
            .map(|certificate| certificate.config())
            .transpose()
    }

    /// What is known of the admin token; its file is made where it is not there.
    pub(super) fn admin(&self) -> Result<Option<Digest>, CliError> {
        let Some(path) = &self.admin_token_file else {
            return Ok(None);
        };
        if !path.exists() {
            let secret = Secret::random();
            files::write_secret(path, secret.reveal())?;
            eprintln!("admin token written to {}", path.display());
            return Ok(Some(secret.digest()));
        }
        let text = files::read(path)?;
        if text.trim().is_empty() {
            let what = format!("the admin token file {} is empty", path.display());
            return Err(CliError::Usage(what));
        }
        Ok(Some(Secret::shown(&text).digest()))
    }
}
