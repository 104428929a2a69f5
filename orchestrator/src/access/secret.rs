//! Secrets of 256 random bits, and what is kept of them.
//!
//! A slow hash is for what people think up; what is random is found by its SHA-256 alone.

use plans::wire::WireSecret;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::fmt;
use std::fmt::Write;
use subtle::ConstantTimeEq;

/// By this a token, or the cookie of a session, is known for one where it should not be.
const PREFIX: &str = "swt_";
/// By this a code that begins one session is told from a token.
const CODE: &str = "swc_";
/// Hexadecimal digits of a secret.
const DIGITS: usize = 64;

/// A token, the cookie of a session, or a code for one; shown once and never kept.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A new one.
    #[must_use]
    pub fn random() -> Self {
        Self(format!("{PREFIX}{}", hex(&rand::random::<[u8; 32]>())))
    }

    /// A new code for one session.
    #[must_use]
    pub fn code() -> Self {
        Self(format!("{CODE}{}", hex(&rand::random::<[u8; 32]>())))
    }

    /// Whether it may hold 128 random bits: long enough for its characters, and not one of them again and again.
    #[must_use]
    pub fn is_long_enough(&self) -> bool {
        let text = self.0.strip_prefix(PREFIX).unwrap_or(&self.0);
        let hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let different: BTreeSet<u8> = text.bytes().collect();
        text.len() * if hex { 4 } else { 6 } >= 128 && different.len() >= 8
    }

    /// Whether it is written as codes are.
    #[must_use]
    pub fn is_code(&self) -> bool {
        self.has_form(CODE)
    }

    /// Whether it is written as the cookies of sessions are.
    #[must_use]
    pub fn is_cookie(&self) -> bool {
        self.has_form(PREFIX)
    }

    fn has_form(&self, prefix: &str) -> bool {
        let digits = self.0.strip_prefix(prefix).unwrap_or_default();
        digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    /// One that somebody shows.
    #[must_use]
    pub fn shown(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// What is kept of it.
    #[must_use]
    pub fn digest(&self) -> SecretDigest {
        SecretDigest::of(&[&self.0])
    }

    /// What a form must carry that was sent to the browser with this cookie; it does not tell the cookie.
    #[must_use]
    pub fn csrf(&self) -> String {
        hex(&SecretDigest::of(&["form", self.0.as_str()]).0)
    }

    /// The secret itself, for its holder.
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

/// What is kept of a secret: its SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SecretDigest(pub [u8; 32]);

impl SecretDigest {
    /// Of a secret that an agent shows, as the store keeps it.
    #[must_use]
    pub fn of_wire(secret: &WireSecret) -> Self {
        Self::of(&["wire", secret.reveal()])
    }

    /// Whether both are the same; how long that takes tells nothing of where they differ.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }

    /// Of several parts, each with its length.
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
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_random_known_by_its_digest_and_never_printed() {
        let (one, other) = (Secret::random(), Secret::random());
        assert_ne!(one, other);
        assert_eq!(one.reveal().len(), PREFIX.len() + 64);
        assert_eq!(
            Secret::shown(&format!(" {}\n", one.reveal())).digest(),
            one.digest()
        );
        assert_ne!(one.digest(), other.digest());
        assert!(!format!("{one:?}").contains(&one.reveal()[4..]));
    }

    #[test]
    fn a_secret_of_128_bits_is_long_enough() {
        for good in [
            Secret::random().reveal(),
            "0123456789abcdef0123456789abcdef",
            "kZ3-_tq8Vb1XcY0pLmNoQa",
        ] {
            assert!(Secret::shown(good).is_long_enough(), "{good}");
        }
        let one = "a".repeat(64);
        for bad in ["", "hunter2", "0123456789abcdef0123456789abcde", &one] {
            assert!(!Secret::shown(bad).is_long_enough(), "{bad}");
        }
    }

    #[test]
    fn what_a_form_carries_is_another_for_each_cookie() {
        let (one, other) = (Secret::random(), Secret::random());
        assert_ne!(one.csrf(), other.csrf());
        assert_ne!(one.csrf(), hex(&one.digest().0));
    }
}
