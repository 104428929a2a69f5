//! Signatures of messages in the form of Standard Webhooks, so that existing libraries can verify them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The prefix of a secret that is written in base64.
const BASE64_PREFIX: &str = "whsec_";

/// Returns the value of the signature header: an HMAC-SHA256 of id, time and body.
///
/// # Errors
/// The secret has the prefix of base64, but the rest of it is not base64.
pub(super) fn signature(
    secret: &str,
    id: &str,
    timestamp: i64,
    body: &str,
) -> Result<String, String> {
    let key = match secret.strip_prefix(BASE64_PREFIX) {
        Some(encoded) => STANDARD
            .decode(encoded)
            .map_err(|_| format!("the text after {BASE64_PREFIX} in the secret is not base64"))?,
        None => secret.as_bytes().to_vec(),
    };
    let mac = Hmac::<Sha256>::new_from_slice(&key);
    let mut mac = mac.map_err(|_| "the secret has an invalid length".to_owned())?;
    mac.update(format!("{id}.{timestamp}.{body}").as_bytes());
    Ok(format!(
        "v1,{}",
        STANDARD.encode(mac.finalize().into_bytes())
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_of_the_reference_example_is_reproduced() {
        // The example of the specification's reference libraries.
        let signed = signature(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            "{\"test\": 2432232314}",
        );
        assert_eq!(
            signed.unwrap(),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }
}
