//! Secrets of 256 random bits, and the digests that the store keeps of them.
//!
//! A slow password hash is only needed for secrets that people choose. For random secrets a SHA-256 digest is enough.

use plans::wire::WireSecret;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::fmt;
use std::fmt::Write;
use subtle::ConstantTimeEq;

/// The prefix of tokens and session cookies. It makes them easy to recognize in places where they must not be.
const TOKEN_PREFIX: &str = "swt_";
/// The prefix of sign-in codes. It distinguishes them from tokens.
const CODE_PREFIX: &str = "swc_";
/// The number of hexadecimal digits of a secret.
const DIGITS: usize = 64;

/// A token, a session cookie or a sign-in code. It is displayed once and never stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Returns a new token or cookie.
    #[must_use]
    pub fn random() -> Self {
        Self(format!(
            "{TOKEN_PREFIX}{}",
            hex(&rand::random::<[u8; 32]>())
        ))
    }

    /// Returns a new sign-in code.
    #[must_use]
    pub fn code() -> Self {
        Self(format!("{CODE_PREFIX}{}", hex(&rand::random::<[u8; 32]>())))
    }

    /// Returns whether the text may contain 128 random bits: it is long enough (a character counts 4 bits in
    /// hexadecimal text, and 6 bits in any other), and has at least 8 different characters.
    #[must_use]
    pub fn is_long_enough(&self) -> bool {
        let text = self.0.strip_prefix(TOKEN_PREFIX).unwrap_or(&self.0);
        let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let different: BTreeSet<u8> = text.bytes().collect();
        text.len() * if is_hex { 4 } else { 6 } >= 128 && different.len() >= 8
    }

    /// Returns whether the text has the form of a sign-in code.
    #[must_use]
    pub fn is_code(&self) -> bool {
        self.has_form(CODE_PREFIX)
    }

    /// Returns whether the text has the form of a session cookie.
    #[must_use]
    pub fn is_cookie(&self) -> bool {
        self.has_form(TOKEN_PREFIX)
    }

    /// Returns whether the text is `prefix`, followed by as many hexadecimal digits as a secret has.
    fn has_form(&self, prefix: &str) -> bool {
        let digits = self.0.strip_prefix(prefix).unwrap_or_default();
        digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    /// Returns the secret that a caller presents.
    #[must_use]
    pub fn presented(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// Returns the digest, which the store keeps.
    #[must_use]
    pub fn digest(&self) -> SecretDigest {
        SecretDigest::of(&[&self.0])
    }

    /// Returns the value that the forms of the session with this cookie must contain. The cookie cannot be derived from
    /// it.
    #[must_use]
    pub fn csrf(&self) -> String {
        hex(&SecretDigest::of(&["form", self.0.as_str()]).0)
    }

    /// Returns the secret itself, for its user.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(****)")
    }
}

/// The SHA-256 digest of a secret; only the digest is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SecretDigest(pub [u8; 32]);

impl SecretDigest {
    /// Returns the digest of a secret that an agent presents.
    #[must_use]
    pub fn of_wire(secret: &WireSecret) -> Self {
        Self::of(&["wire", secret.reveal()])
    }

    /// Returns whether both digests are equal. The time for this does not depend on the position of a difference.
    #[must_use]
    pub fn is_equal(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }

    /// Returns the digest of several parts, each hashed with its length.
    pub(crate) fn of(parts: &[impl AsRef<[u8]>]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts.iter().map(AsRef::as_ref) {
            hasher.update(part.len().to_le_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // A write to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_random_known_by_its_digest_and_never_printed() {
        let (a, b) = (Secret::random(), Secret::random());
        assert_ne!(a, b);
        assert_eq!(a.reveal().len(), TOKEN_PREFIX.len() + 64);
        assert_eq!(
            Secret::presented(&format!(" {}\n", a.reveal())).digest(),
            a.digest()
        );
        assert_ne!(a.digest(), b.digest());
        assert!(!format!("{a:?}").contains(&a.reveal()[4..]));
    }

    #[test]
    fn a_secret_of_128_bits_is_long_enough() {
        for good in [
            Secret::random().reveal(),
            "0123456789abcdef0123456789abcdef",
            "kZ3-_tq8Vb1XcY0pLmNoQa",
        ] {
            assert!(Secret::presented(good).is_long_enough(), "{good}");
        }
        let repeated = "a".repeat(64);
        for bad in ["", "hunter2", "0123456789abcdef0123456789abcde", &repeated] {
            assert!(!Secret::presented(bad).is_long_enough(), "{bad}");
        }
    }

    #[test]
    fn each_cookie_has_another_csrf_token() {
        let (a, b) = (Secret::random(), Secret::random());
        assert_ne!(a.csrf(), b.csrf());
        assert_ne!(a.csrf(), hex(&a.digest().0));
    }
}
