//! Secrets that prove the identity of a sender: texts of 256 random bits, which are never printed.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The header for the secret of a dispatch, in calls whose body has no field for it.
pub const SECRET_HEADER: &str = "x-shardwright-dispatch";

/// A random text that only its two sides know: the secret of a dispatch, or the key of an agent's process.
///
/// Only messages contain it. The control store keeps its SHA-256. Views, pages, logs, journals and the audit trail
/// contain no part of it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WireSecret(String);

impl WireSecret {
    /// Creates a secret from random bits.
    #[must_use]
    pub fn from_bits(bits: [u8; 32]) -> Self {
        Self(bits.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Creates a secret from the text that a sender presents.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// Returns the text of the secret, to send it to the other side.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for WireSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WireSecret(****)")
    }
}

#[cfg(test)]
mod tests {
    use super::WireSecret;

    #[test]
    fn a_secret_has_all_its_bits_and_is_never_printed() {
        let secret = WireSecret::from_bits(std::array::from_fn(|index| {
            u8::try_from(index).unwrap_or_default()
        }));
        assert_eq!(secret.reveal().len(), 64);
        assert!(secret.reveal().starts_with("000102"));
        assert_eq!(format!("{secret:?}"), "WireSecret(****)");
    }
}
