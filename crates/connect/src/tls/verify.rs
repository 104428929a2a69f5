//! How the server's certificate is verified in each mode.
//!
//! The signature of the handshake is verified in every mode. Otherwise another server could present the server's own
//! certificate, and channel binding would prove nothing.

use std::sync::{Arc, OnceLock};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::{TlsError, files};
use crate::resolved::{Roots, SslMode};

/// Returns the verifier for `mode`.
pub(super) fn verifier(
    mode: SslMode,
    roots: Option<&Roots>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
    let verify_mode = match mode {
        SslMode::Disable | SslMode::Allow | SslMode::Prefer => VerifyMode::Nowhere,
        // As in libpq: if root certificates are known, `require` verifies the chain.
        SslMode::Require if roots.is_none() => VerifyMode::Nowhere,
        SslMode::Require | SslMode::VerifyCa => VerifyMode::Authority,
        SslMode::VerifyFull => VerifyMode::Everywhere,
    };
    let web = match verify_mode {
        VerifyMode::Nowhere => None,
        VerifyMode::Authority | VerifyMode::Everywhere => Some(web(roots, provider)?),
    };
    match (verify_mode, web) {
        (VerifyMode::Everywhere, Some(web)) => Ok(web),
        (VerifyMode::Authority | VerifyMode::Nowhere | VerifyMode::Everywhere, web) => {
            Ok(Arc::new(LenientVerifier {
                web,
                provider: Arc::clone(provider),
            }))
        }
    }
}

#[derive(Clone, Copy)]
enum VerifyMode {
    Nowhere,
    Authority,
    Everywhere,
}

fn web(
    roots: Option<&Roots>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, TlsError> {
    let store = match roots.ok_or(TlsError::NoRoots)? {
        Roots::System => system()?,
        Roots::File(path) => {
            let mut store = RootCertStore::empty();
            for certificate in files::chain("sslrootcert", path)? {
                store.add(certificate).map_err(|error| TlsError::File {
                    parameter: "sslrootcert",
                    path: path.clone(),
                    reason: error.to_string(),
                })?;
            }
            Arc::new(store)
        }
    };
    WebPkiServerVerifier::builder_with_provider(store, Arc::clone(provider))
        .build()
        .map_err(|error| TlsError::SystemRoots(error.to_string()))
}

/// Returns the operating system's root certificates, which are read once per process.
fn system() -> Result<Arc<RootCertStore>, TlsError> {
    static STORE: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    if let Some(store) = STORE.get() {
        return Ok(Arc::clone(store));
    }
    let found = rustls_native_certs::load_native_certs();
    let mut store = RootCertStore::empty();
    let (added, _) = store.add_parsable_certificates(found.certs);
    if added == 0 {
        let reasons: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        return Err(TlsError::SystemRoots(reasons.join("; ")));
    }
    Ok(Arc::clone(STORE.get_or_init(|| Arc::new(store))))
}

/// Verifies the certificate chain but not the name, or neither.
#[derive(Debug)]
struct LenientVerifier {
    web: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for LenientVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(web) = &self.web else {
            return Ok(ServerCertVerified::assertion());
        };
        let verified =
            web.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            // The name is checked last, so everything else was valid.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
