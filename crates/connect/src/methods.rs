//! The authentication methods that a server may request, as libpq's `require_auth`.
//!
//! The first message of a server names its method. It is checked before any other code reads it. Therefore neither a
//! password nor its hash is sent to a server that requests a method that is not allowed.

use std::fmt;
use std::io;

use crate::DsnError;

/// An authentication method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    /// The password in clear text.
    Password,
    /// An MD5 hash of the password, which gives the same access as the password.
    Md5,
    /// SCRAM, a proof that does not reveal the password.
    Scram,
    /// The server requests nothing, or only a TLS certificate.
    None,
}

const WORDS: [(&str, Method); 4] = [
    ("password", Method::Password),
    ("md5", Method::Md5),
    ("scram-sha-256", Method::Scram),
    ("none", Method::None),
];

/// Methods that libpq knows and that this crate never uses.
const UNSUPPORTED: [&str; 2] = ["gss", "sspi"];

const EXPECTED: &str =
    "password, md5, scram-sha-256 and none with commas, or each of them with ! before it";

/// The methods that a connection string allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Methods {
    allowed: Vec<Method>,
    is_set: bool,
}

/// A server requested a method that is not allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MethodRefused(pub(crate) Method);

impl Methods {
    /// Parses `require_auth`. Without a value, SCRAM and servers that request nothing are allowed.
    ///
    /// # Errors
    /// [`DsnError::Invalid`]: an unknown word, or words with and without `!`.
    pub(crate) fn read(value: Option<&str>) -> Result<Self, DsnError> {
        let Some(value) = value else {
            return Ok(Self {
                allowed: vec![Method::Scram, Method::None],
                is_set: false,
            });
        };
        let invalid = || DsnError::Invalid {
            key: "require_auth",
            expected: EXPECTED,
        };
        let words: Vec<&str> = value.split(',').map(str::trim).collect();
        let is_negated = words[0].starts_with('!');
        let mut listed = Vec::new();
        for word in words {
            let word_name = word.strip_prefix('!').unwrap_or(word);
            if word.starts_with('!') != is_negated {
                return Err(invalid());
            }
            match WORDS.iter().find(|(known, _)| *known == word_name) {
                Some((_, method)) => listed.push(*method),
                None if UNSUPPORTED.contains(&word_name) => {}
                None => return Err(invalid()),
            }
        }
        let all = WORDS.iter().map(|(_, method)| *method);
        Ok(Self {
            allowed: all
                .filter(|method| listed.contains(method) != is_negated)
                .collect(),
            is_set: true,
        })
    }

    /// Returns true if the connection string, its service or the process sets them.
    #[must_use]
    pub const fn are_named(&self) -> bool {
        self.is_set
    }

    /// Returns the methods for one connection. `verified` is true if TLS has verified the server's name.
    pub(crate) fn of_connection(&self, verified: bool) -> Vec<Method> {
        let mut allowed = self.allowed.clone();
        match (verified, self.is_set) {
            (true, false) => allowed.extend([Method::Md5, Method::Password]),
            (true, true) => {}
            (false, _) => allowed.retain(|method| *method != Method::Password),
        }
        allowed
    }

    /// Returns them in the form of `require_auth`.
    pub(crate) fn spelled(&self, verified: bool) -> String {
        let allowed = self.of_connection(verified);
        let words = WORDS.iter().filter(|(_, method)| allowed.contains(method));
        let words: Vec<&str> = words.map(|(word, _)| *word).collect();
        words.join(",")
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Password => "the password in clear text",
            Self::Md5 => "an MD5 hash of the password",
            Self::Scram => "a proof by SCRAM-SHA-256",
            Self::None => "no proof of the password",
        })
    }
}

impl fmt::Display for MethodRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server asks for {}", self.0)
    }
}

impl std::error::Error for MethodRefused {}

impl MethodRefused {
    pub(crate) fn method_in(error: &io::Error) -> Option<Method> {
        let refused = error.get_ref()?.downcast_ref::<Self>()?;
        Some(refused.0)
    }
}

/// Checks the first message of a server.
#[derive(Debug)]
pub(crate) struct Gate {
    allowed: Vec<Method>,
    head: Vec<u8>,
}

/// The length of kind, length and code of the first message.
const HEAD_LENGTH: usize = 9;

impl Gate {
    pub(crate) fn new(allowed: Vec<Method>) -> Self {
        let head = Vec::with_capacity(HEAD_LENGTH);
        Self { allowed, head }
    }

    /// Adds received bytes. Returns true once the message was checked and its method is allowed.
    ///
    /// # Errors
    /// [`MethodRefused`].
    pub(crate) fn admit(&mut self, bytes: &[u8]) -> io::Result<bool> {
        let missing = HEAD_LENGTH - self.head.len();
        self.head.extend(bytes.iter().take(missing));
        let [kind, _, _, _, _, code @ ..] = self.head.as_slice() else {
            return Ok(false);
        };
        if *kind != b'R' {
            return Ok(true); // an error, or another message to which no password is sent
        }
        let Ok(code) = <[u8; 4]>::try_from(code) else {
            return Ok(false);
        };
        let method = match u32::from_be_bytes(code) {
            0 => Method::None,
            3 => Method::Password,
            5 => Method::Md5,
            10 => Method::Scram,
            _ => return Ok(true), // the code that reads the message next reports an unknown method
        };
        match self.allowed.contains(&method) {
            true => Ok(true),
            false => Err(io::Error::other(MethodRefused(method))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(value: &str, verified: bool) -> Vec<Method> {
        let present = Some(value).filter(|value| !value.is_empty());
        let mut allowed = Methods::read(present).expect(value).of_connection(verified);
        allowed.sort();
        allowed
    }

    #[test]
    fn a_password_in_clear_text_needs_a_verified_server() {
        use Method::{Md5, None, Password, Scram};
        assert_eq!(allowed("", false), [Scram, None]);
        assert_eq!(allowed("", true), [Password, Md5, Scram, None]);
        assert_eq!(allowed("scram-sha-256", true), [Scram]);
        assert_eq!(allowed("md5", false), [Md5]);
        assert_eq!(allowed("password,gss", false), []);
        assert_eq!(allowed("password", true), [Password]);
        assert_eq!(allowed("!none,!sspi", false), [Md5, Scram]);
        for wrong in ["scram", "md5,!none", ",", "!!md5"] {
            assert!(Methods::read(Some(wrong)).is_err(), "{wrong}");
        }
        assert_eq!(
            Methods::read(Option::None).expect("read").spelled(false),
            "scram-sha-256,none"
        );
    }

    #[test]
    fn a_message_is_checked_wherever_it_is_split() {
        let clear = [b'R', 0, 0, 0, 8, 0, 0, 0, 3];
        for cut in 0..=clear.len() {
            let mut gate = Gate::new(vec![Method::Scram]);
            let first = gate.admit(&clear[..cut]);
            let refused = match first {
                Ok(checked) => {
                    assert!(!checked);
                    gate.admit(&clear[cut..]).expect_err("refused")
                }
                Err(error) => error,
            };
            assert_eq!(MethodRefused::method_in(&refused), Some(Method::Password));
        }
        let mut gate = Gate::new(vec![Method::Scram]);
        assert!(
            gate.admit(&[b'R', 0, 0, 0, 23, 0, 0, 0, 10, b'S'])
                .expect("admitted")
        );
    }
}
