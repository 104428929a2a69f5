//! A connection string with its secrets unresolved.
//!
//! It accepts both forms of libpq: `key=value` words and `postgres://` URIs. Values that the string omits are added
//! when the connection is opened ([`Dsn::resolve`]). `Debug` and `Display` print a canonical form, with `****` in place
//! of an inline password.

mod parse;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::environment::{Environment, VARIABLES};
use crate::reference::{self, Template};
use crate::resolved::{self, Resolved};
use crate::source::service;
use crate::{ConnectError, DsnError, ReferenceError};

/// Parameters whose value is the path of a file with a secret.
const HOLD_SECRETS: [&str; 2] = ["passfile", "sslkey"];

/// SQL statements that a new session runs first, to prove that it is in the expected database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// A fast check. If its last row is `t`, the database is proved. Any other result decides nothing, and `proof` is
    /// run.
    pub quick_check: String,
    /// The full check. It fails if the session is in another database.
    pub proof: String,
}

/// A parsed connection string. References in its password (`${env:NAME}`, `${file:PATH}`) are not resolved yet.
#[derive(Clone, PartialEq, Eq)]
pub struct Dsn {
    text: String,
    words: parse::DsnParameters,
    opening: Option<Arc<Opening>>,
}

impl Dsn {
    /// Parses a connection string in either form, and checks the values in it.
    ///
    /// # Errors
    /// [`DsnError`]: malformed text, an unknown parameter, an invalid value, or a reference outside the password.
    pub fn parse(text: &str) -> Result<Self, DsnError> {
        let text = text.trim();
        let words = parse::words(text)?;
        for (key, value) in words.iter() {
            match value.literal() {
                Some(literal) => resolved::check(key, &literal)?,
                // The referenced secret would become visible, because servers repeat the names of databases and roles.
                None if key != "password" => return Err(DsnError::MisplacedReference { key }),
                None => {}
            }
        }
        Ok(Self {
            text: text.to_owned(),
            words,
            opening: None,
        })
    }

    /// Sets the statements that each session on it runs first.
    #[must_use]
    pub fn opened_by(self, opening: Opening) -> Self {
        Self {
            opening: Some(Arc::new(opening)),
            ..self
        }
    }

    /// Returns the statements of [`opened_by`](Self::opened_by), for a session that is opened in another way.
    #[must_use]
    pub fn opening(&self) -> Option<&Opening> {
        self.opening.as_deref()
    }

    /// Returns the original text with unresolved references. If [`has_inline_password`](Self::has_inline_password)
    /// returns true, it contains the password: it may be stored, but not shown.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// Returns true if the string itself contains a password, and not only a reference to one.
    pub fn has_inline_password(&self) -> bool {
        self.words.get("password").is_some_and(Template::is_inline)
    }

    /// Returns the server as `host:port/dbname`. Parts that the string omits are left out.
    pub fn server(&self) -> String {
        let shown = |key| self.words.get(key).map(Template::to_string);
        let Some(host) = shown("host").or_else(|| shown("hostaddr")) else {
            return match shown("service") {
                Some(service) => format!("service {service}"),
                None => "the server of PGHOST".to_owned(),
            };
        };
        let port = shown("port").unwrap_or_else(|| "5432".to_owned());
        let dbname = shown("dbname").or_else(|| shown("user"));
        resolved::named(&host, &port, dbname.as_deref().unwrap_or(""))
    }

    /// Returns the parameters whose values differ from those in `other`, or that only one of both has.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let differs = |key: &&'static str| self.words.get(key) != other.words.get(key);
        parse::KNOWN.into_iter().filter(differs).collect()
    }

    /// Returns host, port and database if the string itself contains them; for routers and poolers.
    #[must_use]
    pub fn place(&self) -> Option<(String, String, String)> {
        let literal = |key| self.words.get(key).and_then(Template::literal);
        let host = literal("host").or_else(|| literal("hostaddr"))?;
        let port = match self.words.get("port") {
            Some(port) => port.literal()?,
            None => "5432".to_owned(),
        };
        Some((host, port, literal("dbname").or_else(|| literal("user"))?))
    }

    /// Resolves the references, and adds values that the string omits: from the service file, then from the `PG*`
    /// variables, and a host's password last from the password file.
    ///
    /// # Errors
    /// [`ConnectError::Reference`] if a reference cannot be read, [`ConnectError::Service`] if the service is not
    /// found, [`ConnectError::Dsn`] if a value is invalid or host or user are missing.
    pub fn resolve(&self) -> Result<Resolved, ConnectError> {
        self.resolve_in(&Environment::of_process())
    }

    /// Does the same as [`resolve`](Self::resolve) with the given environment.
    ///
    /// # Errors
    /// Those of [`resolve`](Self::resolve).
    pub fn resolve_in(&self, environment: &Environment) -> Result<Resolved, ConnectError> {
        let mut values = BTreeMap::new();
        let secrets = environment.secrets();
        for (key, value) in self.words.iter() {
            let mut value = value
                .resolve(key, secrets)
                .map_err(|source| self.unreadable(source))?;
            if HOLD_SECRETS.contains(&key) {
                let file = reference::admitted(key, &value, secrets);
                let file = file.map_err(|source| self.unreadable(source))?;
                value = file.display().to_string();
            }
            values.insert(key, value);
        }
        self.fill_from_service(&mut values, environment)?;
        for (key, name) in VARIABLES {
            if let Some(value) = environment.get(name) {
                values.entry(key).or_insert_with(|| value.to_owned());
            }
        }
        Resolved::from_values(&values, environment).map_err(|source| self.invalid(source))
    }

    fn fill_from_service(
        &self,
        values: &mut BTreeMap<&'static str, String>,
        environment: &Environment,
    ) -> Result<(), ConnectError> {
        let named = values.get("service").map(String::as_str);
        let Some(name) = named.or_else(|| environment.get("PGSERVICE")) else {
            return Ok(());
        };
        let found = service(name, environment).map_err(|source| ConnectError::Service {
            server: self.server(),
            source,
        })?;
        for (key, value) in found {
            match parse::known(&key).map_err(|source| self.invalid(source))? {
                Some("service") => {
                    let nested = DsnError::Malformed {
                        reason: "a service cannot name another service",
                    };
                    return Err(self.invalid(nested));
                }
                Some(key) => {
                    values.entry(key).or_insert(value);
                }
                None => {}
            }
        }
        Ok(())
    }

    fn unreadable(&self, source: ReferenceError) -> ConnectError {
        ConnectError::Reference {
            server: self.server(),
            source,
        }
    }

    fn invalid(&self, source: DsnError) -> ConnectError {
        ConnectError::Dsn {
            server: self.server(),
            source,
        }
    }
}

impl fmt::Display for Dsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut space = "";
        for key in parse::KNOWN {
            let Some(value) = self.words.get(key) else {
                continue;
            };
            if key == "password" && value.is_inline() {
                write!(f, "{space}password=****")?;
            } else {
                write!(f, "{space}{key}={value}")?;
            }
            space = " ";
        }
        Ok(())
    }
}

impl fmt::Debug for Dsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dsn({self})")
    }
}

impl FromStr for Dsn {
    type Err = DsnError;
    fn from_str(text: &str) -> Result<Self, DsnError> {
        Self::parse(text)
    }
}
