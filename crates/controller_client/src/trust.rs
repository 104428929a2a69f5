//! The trusted certificates: those of a file, or those of the system. TLS uses rustls with `ring`.

use crate::SetupError;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::path::Path;
use std::sync::Arc;

/// Returns the TLS configuration of a client that trusts the certificate authorities in `ca_file`, or those of the
/// system.
pub(crate) fn config(ca_file: Option<&Path>) -> Result<ClientConfig, SetupError> {
    let mut roots = RootCertStore::empty();
    match ca_file {
        Some(path) => {
            for certificate in read_certificates(path)? {
                roots.add(certificate)?;
            }
        }
        None => {
            // A system without certificates can still use controllers without TLS.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, SetupError> {
    let unreadable = |reason: String| SetupError::Certificates {
        path: path.to_owned(),
        reason,
    };
    let certificates =
        CertificateDer::pem_file_iter(path).map_err(|error| unreadable(error.to_string()))?;
    let certificates: Result<Vec<_>, _> = certificates.collect();
    let certificates = certificates.map_err(|error| unreadable(error.to_string()))?;
    if certificates.is_empty() {
        return Err(unreadable(
            "the file has no PEM block with a certificate".to_owned(),
        ));
    }
    Ok(certificates)
}
