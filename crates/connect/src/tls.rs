//! TLS by rustls, with the `ring` provider and no process-wide default.
//!
//! Order: [`config`] reads roots, certificate and key anew for each connection, so that they can be
//! renewed under a running program; [`handshake`] verifies as much as the mode asks for.
//! Absent: TLS before 1.2, revocation lists, keys with a passphrase.

mod binding;
mod error;
mod files;
mod verify;

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::resolved::{Certificates, Host, SslMode};
pub(crate) use binding::server_end_point;
pub use error::TlsError;

/// What PostgreSQL calls its protocol inside TLS; a direct handshake needs it.
const PROTOCOL: &[u8] = b"postgresql";

/// The settings of a handshake in `mode`.
pub(crate) fn config(
    mode: SslMode,
    certificates: &Certificates,
) -> Result<Arc<ClientConfig>, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let verifier = verify::verifier(mode, certificates.roots.as_ref(), &provider)?;
    let builder = builder(provider)?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match &certificates.own {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = files::chain("sslcert", certificate)?;
            let key_of = files::key(key)?;
            builder
                .with_client_auth_cert(chain, key_of)
                .map_err(|source| TlsError::Pair {
                    certificate: certificate.clone(),
                    key: key.clone(),
                    source,
                })?
        }
    };
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(Arc::new(config))
}

fn builder(
    provider: Arc<CryptoProvider>,
) -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, TlsError> {
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Handshake)
}

/// Makes a plain connection a protected one.
pub(crate) async fn handshake(
    stream: TcpStream,
    host: &Host,
    config: Arc<ClientConfig>,
) -> Result<TlsStream<TcpStream>, TlsError> {
    let name = ServerName::try_from(host.name.clone());
    let name = match (name, host.address) {
        (Ok(name), _) => name,
        (Err(_), Some(address)) => ServerName::from(address),
        (Err(_), None) => return Err(TlsError::Name(host.name.clone())),
    };
    TlsConnector::from(config)
        .connect(name, stream)
        .await
        .map_err(TlsError::from_io)
}
