//! PEM files: certificate chains, and private keys that no other user may read.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::TlsError;

/// Returns all certificates of a file, at least one.
pub(super) fn chain(
    parameter: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let failed = |reason: String| TlsError::File {
        parameter,
        path: path.to_owned(),
        reason,
    };
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .map_err(|error| failed(error.to_string()))?
        .collect();
    let found = found.map_err(|error| failed(error.to_string()))?;
    if found.is_empty() {
        return Err(failed("it holds no certificate".to_owned()));
    }
    Ok(found)
}

/// Returns the private key of a file. Its mode is checked as libpq does: 0600 or less, or 0640 if root owns it.
pub(super) fn key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let failed = |reason: String| TlsError::File {
        parameter: "sslkey",
        path: path.to_owned(),
        reason,
    };
    let meta = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    let refused = if meta.uid() == 0 { 0o027 } else { 0o077 };
    if meta.mode() & refused != 0 {
        return Err(TlsError::KeyMode {
            path: path.to_owned(),
        });
    }
    let text = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    if text.windows(9).any(|word| word == b"ENCRYPTED") {
        return Err(failed("keys with a passphrase are not read".to_owned()));
    }
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| failed(error.to_string()))
}
