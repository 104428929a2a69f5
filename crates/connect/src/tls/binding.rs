//! The data to which a password's proof is bound (channel binding): the hash of the server's certificate (RFC 5929).

use sha2::{Digest, Sha256, Sha384, Sha512};
use x509_cert::Certificate;
use x509_cert::der::Decode;

/// The object identifiers of the signature algorithms with SHA-384: ECDSA and RSA.
const SHA384: [&str; 2] = ["1.2.840.10045.4.3.3", "1.2.840.113549.1.1.12"];
const SHA512: [&str; 2] = ["1.2.840.10045.4.3.4", "1.2.840.113549.1.1.13"];
/// The same with SHA-256, and the old algorithms for which SHA-256 is used instead.
const SHA256: [&str; 5] = [
    "1.2.840.10045.4.3.2",
    "1.2.840.113549.1.1.11",
    "1.2.840.113549.1.1.5",
    "1.2.840.10045.4.1",
    "1.2.840.113549.1.1.4",
];

/// Returns the `tls-server-end-point` data; `None` for signature algorithms for which they are not defined, such as
/// Ed25519.
pub(crate) fn server_end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let parsed = Certificate::from_der(certificate).ok()?;
    let signature = parsed.signature_algorithm().oid.to_string();
    let signature = signature.as_str();
    if SHA256.contains(&signature) {
        Some(Sha256::digest(certificate).to_vec())
    } else if SHA384.contains(&signature) {
        Some(Sha384::digest(certificate).to_vec())
    } else if SHA512.contains(&signature) {
        Some(Sha512::digest(certificate).to_vec())
    } else {
        None
    }
}
