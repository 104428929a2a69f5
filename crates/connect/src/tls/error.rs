//! Why a connection could not be protected, and what mends it.

use std::io;
use std::path::PathBuf;

use rustls::{AlertDescription, CertificateError};

use crate::Class;

/// Why a connection could not be protected.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The server does not do TLS.
    #[error("the server offers no TLS")]
    NotOffered,
    /// The mode verifies, and no authority is known.
    #[error("no root certificate is known to verify the server with")]
    NoRoots,
    /// The operating system's authorities could not be read.
    #[error("the system's root certificates could not be read: {0}")]
    SystemRoots(String),
    /// A file of certificates or keys could not be used.
    #[error("{parameter} {} could not be read: {reason}", path.display())]
    File {
        /// The parameter that names it.
        parameter: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A private key that others may read.
    #[error("sslkey {} may be used by its group or by others", path.display())]
    KeyMode {
        /// The file.
        path: PathBuf,
    },
    /// The certificate and the key do not belong together.
    #[error("sslcert {} and sslkey {} cannot be used together", certificate.display(), key.display())]
    Pair {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// What is wrong.
        #[source]
        source: rustls::Error,
    },
    /// A name that cannot stand in a certificate.
    #[error("{0:?} is no name that a certificate can be verified for")]
    Name(String),
    /// The server's certificate was not accepted.
    #[error("the server's certificate was not accepted: {0}")]
    Certificate(CertificateError),
    /// The server did not accept our certificate, or wants one.
    #[error("the server refused our certificate: {0:?}")]
    Refused(AlertDescription),
    /// The two could not agree.
    #[error("the TLS handshake failed")]
    Handshake(#[source] rustls::Error),
    /// The connection broke.
    #[error("the TLS handshake broke off")]
    Broken(#[source] io::Error),
}

impl TlsError {
    /// What broke a handshake.
    pub(crate) fn from_io(error: io::Error) -> Self {
        Self::tls_cause(&error).unwrap_or(Self::Broken(error))
    }

    /// What TLS says behind an error of a protected stream, if it says anything.
    pub(crate) fn tls_cause(error: &io::Error) -> Option<Self> {
        let inner = error.get_ref()?.downcast_ref::<rustls::Error>()?.clone();
        if let rustls::Error::InvalidCertificate(reason) = inner {
            return Some(Self::Certificate(reason));
        }
        if let rustls::Error::AlertReceived(alert) = inner
            && blames_us(alert)
        {
            return Some(Self::Refused(alert));
        }
        Some(Self::Handshake(inner))
    }

    /// What a retry is worth: what was verified and failed stays as it is.
    pub fn class(&self) -> Class {
        match self {
            Self::Broken(_) => Class::Transient,
            Self::NotOffered
            | Self::NoRoots
            | Self::SystemRoots(_)
            | Self::File { .. }
            | Self::KeyMode { .. }
            | Self::Pair { .. }
            | Self::Name(_)
            | Self::Certificate(_)
            | Self::Refused(_)
            | Self::Handshake(_) => Class::Permanent,
        }
    }

    /// What mends it, if that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotOffered => {
                Some("set ssl = on with a certificate on the server, or choose another sslmode")
            }
            Self::NoRoots => Some(
                "name the authority's certificate with sslrootcert, or sslrootcert=system for those of the system",
            ),
            Self::SystemRoots(_) => Some("install the package ca-certificates"),
            Self::File { .. } => Some("give the path of a PEM file that this process may read"),
            Self::KeyMode { .. } => Some("chmod 600 the key, or 640 if root owns it"),
            Self::Pair { .. } => Some("give the key that the certificate was made for"),
            Self::Name(_) | Self::Certificate(_) => Some(certificate_hint(self)),
            Self::Refused(_) => Some(
                "give sslcert and sslkey of a certificate that the server's ssl_ca_file has signed",
            ),
            Self::Handshake(_) | Self::Broken(_) => None,
        }
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an open list, and the message names the reason"
)]
fn certificate_hint(error: &TlsError) -> &'static str {
    let TlsError::Certificate(reason) = error else {
        return "connect by a name or an address that stands in the certificate";
    };
    match reason {
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "connect by a name or an address from the certificate's subject alternative names, or sslmode=verify-ca"
        }
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "name the certificate of the authority that signed it with sslrootcert"
        }
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => {
            "renew the server's certificate, or set the clock right"
        }
        _ => {
            "give the server a version 3 certificate that an authority in sslrootcert has signed; a self-signed one cannot be its own authority"
        }
    }
}

fn blames_us(alert: AlertDescription) -> bool {
    [
        AlertDescription::CertificateRequired,
        AlertDescription::NoCertificate,
        AlertDescription::BadCertificate,
        AlertDescription::UnsupportedCertificate,
        AlertDescription::CertificateRevoked,
        AlertDescription::CertificateExpired,
        AlertDescription::CertificateUnknown,
        AlertDescription::UnknownCA,
        AlertDescription::AccessDenied,
    ]
    .contains(&alert)
}
