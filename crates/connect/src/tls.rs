//! TLS with rustls, with the `ring` provider and without a process-wide default.
//!
//! [`config`] reads roots, certificate and key for each connection, so that they can be renewed while the program runs.
//! [`handshake`] verifies what the mode requires. TLS before 1.2, revocation lists and keys with a passphrase are not
//! supported.

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

/// The name of PostgreSQL's protocol in TLS (ALPN), which a direct handshake needs.
const PROTOCOL: &[u8] = b"postgresql";

/// Returns the TLS configuration for `mode`.
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

/// Establishes TLS on a plain connection.
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
