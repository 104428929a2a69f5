//! Why TLS could not be established, with hints.

use std::io;
use std::path::PathBuf;

use rustls::{AlertDescription, CertificateError};

use crate::Class;

/// Why TLS could not be established.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The server does not support TLS.
    #[error("the server offers no TLS")]
    NotOffered,
    /// The mode verifies certificates, and no root certificate is known.
    #[error("no root certificate is known to verify the server with")]
    NoRoots,
    /// The operating system's root certificates could not be read.
    #[error("the system's root certificates could not be read: {0}")]
    SystemRoots(String),
    /// A file of certificates or keys could not be used.
    #[error("{parameter} {} could not be read: {reason}", path.display())]
    File {
        /// The parameter that names the file.
        parameter: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it cannot be used.
        reason: String,
    },
    /// Other users may read a private key.
    #[error("sslkey {} may be used by its group or by others", path.display())]
    KeyMode {
        /// The file.
        path: PathBuf,
    },
    /// The client's certificate and its key do not belong together.
    #[error("sslcert {} and sslkey {} cannot be used together", certificate.display(), key.display())]
    Pair {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// The error of the TLS library.
        #[source]
        source: rustls::Error,
    },
    /// The host name cannot occur in a certificate.
    #[error("{0:?} is no name that a certificate can be verified for")]
    Name(String),
    /// The server's certificate is not valid.
    #[error("the server's certificate was not accepted: {0}")]
    Certificate(CertificateError),
    /// The server refused the client's certificate, or requires one.
    #[error("the server refused our certificate: {0:?}")]
    Refused(AlertDescription),
    /// Client and server have no common TLS version or algorithm, or another error of the handshake.
    #[error("the TLS handshake failed")]
    Handshake(#[source] rustls::Error),
    /// The connection was lost.
    #[error("the TLS handshake broke off")]
    Broken(#[source] io::Error),
}

impl TlsError {
    /// Converts an error of the handshake.
    pub(crate) fn from_io(error: io::Error) -> Self {
        Self::tls_cause(&error).unwrap_or(Self::Broken(error))
    }

    /// Returns the TLS error that caused an error of an established TLS stream, if there is one.
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

    /// Returns whether a retry is useful. A failed verification fails again.
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

    /// Returns what the user can do, if that is known.
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
