//! What proves who speaks: texts of 256 random bits, never printed.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The header of calls whose body has no room for the secret of a dispatch.
pub const SECRET_HEADER: &str = "x-shardwright-dispatch";

/// A random text that only its two sides know: the secret of a dispatch, or the key of an agent's process.
///
/// It stands in messages alone. The control store keeps its SHA-256; views, pages, logs, journals and the audit trail
/// keep nothing of it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WireSecret(String);

impl WireSecret {
    /// The secret that these random bits make.
    #[must_use]
    pub fn of(bits: [u8; 32]) -> Self {
        Self(bits.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// One that somebody shows.
    #[must_use]
    pub fn shown(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The secret itself, for the other side.
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
        let secret = WireSecret::of(std::array::from_fn(|place| {
            u8::try_from(place).unwrap_or_default()
        }));
        assert_eq!(secret.reveal().len(), 64);
        assert!(secret.reveal().starts_with("000102"));
        assert_eq!(format!("{secret:?}"), "WireSecret(****)");
    }
}
