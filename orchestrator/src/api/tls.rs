//! HTTP over TLS with rustls: the server's certificate.

use super::ServeError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A server's certificate and its key, as PEM files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCertificate {
    /// The file with the certificate and the intermediate certificates.
    pub chain: PathBuf,
    /// The file with the private key.
    pub key: PathBuf,
}

impl ServerCertificate {
    /// Returns the rustls configuration with this certificate.
    ///
    /// # Errors
    /// Returns [`ServeError::Certificate`] if a file cannot be used.
    pub fn config(&self) -> Result<Arc<ServerConfig>, ServeError> {
        let certificate_error =
            |path: &Path, reason: &dyn std::fmt::Display| ServeError::Certificate {
                path: path.to_owned(),
                reason: reason.to_string(),
            };
        let chain = CertificateDer::pem_file_iter(&self.chain);
        let chain: Result<Vec<_>, _> = chain.and_then(Iterator::collect);
        let chain = chain.map_err(|error| certificate_error(&self.chain, &error))?;
        let key = PrivateKeyDer::from_pem_file(&self.key);
        let key = key.map_err(|error| certificate_error(&self.key, &error))?;
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| certificate_error(&self.chain, &error))?;
        let config = builder.with_no_client_auth().with_single_cert(chain, key);
        config
            .map(Arc::new)
            .map_err(|error| certificate_error(&self.chain, &error))
    }
}
