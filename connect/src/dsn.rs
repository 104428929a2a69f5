//! A connection string with its secrets unresolved.
//!
//! Both libpq forms are read, `key=value` words and `postgres://` URIs; one host per string.
//! `Debug` and `Display` print a canonical form in which an inline password is `****`.
//! Absent: `.pgpass`, service files and `PG*` variables; a reference says where a secret comes from.

mod parse;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::reference::{ReferenceError, Template};
use crate::session::DEFAULT_CONNECT_TIMEOUT;
use crate::{ConnectError, DsnError};

/// A parsed connection string; references in it (`${env:NAME}`, `${file:PATH}`) are not yet read.
#[derive(Clone, PartialEq, Eq)]
pub struct Dsn {
    text: String,
    host: Template,
    port: Option<Template>,
    user: Template,
    password: Option<Template>,
    dbname: Option<Template>,
    options: Option<Template>,
    connect_timeout: Duration,
}

/// The parts of a connection string with every reference read. Keep it no longer than needed.
#[derive(Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Host name, address, or the directory of a Unix socket (starts with `/`).
    pub host: String,
    /// TCP port, 5432 by default.
    pub port: u16,
    /// Role.
    pub user: String,
    /// Password, if any.
    pub password: Option<String>,
    /// Database; the role's name by default.
    pub dbname: String,
    /// Startup options (`-c name=value`), if any.
    pub options: Option<String>,
    /// Limit on connecting, authentication included.
    pub connect_timeout: Duration,
}

impl Dsn {
    /// Parses either form.
    ///
    /// # Errors
    /// [`DsnError`]: malformed text, an unknown parameter, no host or user, or a TLS mode.
    pub fn parse(text: &str) -> Result<Self, DsnError> {
        let mut values = parse::words(text.trim())?;
        let ssl = values.take("sslmode");
        check_sslmode(ssl.as_ref())?;
        values.take("application_name"); // the session names itself
        let dsn = Self {
            text: text.trim().to_owned(),
            host: values
                .take("host")
                .ok_or(DsnError::Missing { key: "host" })?,
            port: values.take("port"),
            user: values
                .take("user")
                .ok_or(DsnError::Missing { key: "user" })?,
            password: values.take("password"),
            dbname: values.take("dbname"),
            options: values.take("options"),
            connect_timeout: connect_timeout(values.take("connect_timeout").as_ref())?,
        };
        dsn.check_literals()?;
        Ok(dsn)
    }

    /// The text as given, references unresolved. It holds the password if
    /// [`has_inline_password`](Self::has_inline_password) says so: for storing, not for showing.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// True if a password is written in the string itself rather than referred to.
    pub fn has_inline_password(&self) -> bool {
        self.password.as_ref().is_some_and(Template::is_inline)
    }

    /// Limit on connecting, authentication included.
    pub fn connect_timeout(&self) -> Duration {
        self.connect_timeout
    }

    /// The server as `host:port/dbname`, references as written.
    pub fn server(&self) -> String {
        let port = self
            .port
            .as_ref()
            .map_or_else(|| "5432".to_owned(), Template::to_string);
        let dbname = self.dbname.as_ref().unwrap_or(&self.user);
        format!("{}:{port}/{dbname}", self.host)
    }

    /// Reads the references.
    ///
    /// # Errors
    /// [`ConnectError::Reference`] if one cannot be read, [`ConnectError::Dsn`] if a value that
    /// came out of one cannot be used.
    pub fn resolve(&self) -> Result<Resolved, ConnectError> {
        let part = |key, value: &Template| self.part(key, value);
        let host = part("host", &self.host)?;
        let port = self
            .port
            .as_ref()
            .map(|value| part("port", value))
            .transpose()?;
        let user = part("user", &self.user)?;
        let dbname = self
            .dbname
            .as_ref()
            .map(|value| part("dbname", value))
            .transpose()?;
        let password = self
            .password
            .as_ref()
            .map(|value| part("password", value))
            .transpose()?;
        let options = self
            .options
            .as_ref()
            .map(|value| part("options", value))
            .transpose()?;
        check_host(&host).map_err(|source| self.invalid(source))?;
        let port = parse_port(port.as_deref()).map_err(|source| self.invalid(source))?;
        let dbname = dbname.unwrap_or_else(|| user.clone());
        let connect_timeout = self.connect_timeout;
        Ok(Resolved {
            host,
            port,
            user,
            password,
            dbname,
            options,
            connect_timeout,
        })
    }

    /// Reads the references and makes a configuration for tokio-postgres.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    pub fn config(&self) -> Result<tokio_postgres::Config, ConnectError> {
        Ok(self.resolve()?.config())
    }

    fn part(&self, key: &'static str, value: &Template) -> Result<String, ConnectError> {
        value
            .resolve(key)
            .map_err(|source: ReferenceError| ConnectError::Reference {
                server: self.server(),
                source,
            })
    }

    fn invalid(&self, source: DsnError) -> ConnectError {
        ConnectError::Dsn {
            server: self.server(),
            source,
        }
    }

    /// What can be checked without reading a reference is checked at once.
    fn check_literals(&self) -> Result<(), DsnError> {
        if let Some(host) = self.host.literal() {
            check_host(&host)?;
        }
        if let Some(port) = self.port.as_ref().and_then(Template::literal) {
            parse_port(Some(&port))?;
        }
        Ok(())
    }
}

impl Resolved {
    /// The server as `host:port/dbname`.
    pub fn server(&self) -> String {
        format!("{}:{}/{}", self.host, self.port, self.dbname)
    }

    /// A configuration for tokio-postgres, without TLS, with keepalives.
    pub fn config(&self) -> tokio_postgres::Config {
        let mut config = tokio_postgres::Config::new();
        config
            .host(&self.host)
            .port(self.port)
            .user(&self.user)
            .dbname(&self.dbname)
            .ssl_mode(tokio_postgres::config::SslMode::Disable)
            .connect_timeout(self.connect_timeout)
            .tcp_user_timeout(Duration::from_secs(60))
            .keepalives_idle(Duration::from_secs(30))
            .keepalives_interval(Duration::from_secs(10))
            .keepalives_retries(3);
        if let Some(password) = &self.password {
            config.password(password);
        }
        if let Some(options) = &self.options {
            config.options(options);
        }
        config
    }
}

impl fmt::Display for Dsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host={}", self.host)?;
        if let Some(port) = &self.port {
            write!(f, " port={port}")?;
        }
        write!(f, " user={}", self.user)?;
        match &self.password {
            Some(_) if self.has_inline_password() => write!(f, " password=****")?,
            Some(password) => write!(f, " password={password}")?,
            None => {}
        }
        match &self.dbname {
            Some(dbname) => write!(f, " dbname={dbname}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Dsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dsn({self})")
    }
}

impl fmt::Debug for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Resolved({} as {})", self.server(), self.user)
    }
}

impl FromStr for Dsn {
    type Err = DsnError;
    fn from_str(text: &str) -> Result<Self, DsnError> {
        Self::parse(text)
    }
}

fn check_sslmode(mode: Option<&Template>) -> Result<(), DsnError> {
    let Some(mode) = mode else { return Ok(()) };
    match mode.literal().as_deref() {
        Some("disable" | "prefer") => Ok(()),
        Some(mode @ ("require" | "verify-ca" | "verify-full")) => Err(DsnError::TlsNotBuilt {
            mode: mode.to_owned(),
        }),
        _ => Err(DsnError::Invalid {
            key: "sslmode",
            expected: "disable or prefer",
        }),
    }
}

fn connect_timeout(value: Option<&Template>) -> Result<Duration, DsnError> {
    let Some(value) = value else {
        return Ok(DEFAULT_CONNECT_TIMEOUT);
    };
    match value.literal().and_then(|seconds| seconds.parse().ok()) {
        Some(seconds @ 1..=3600) => Ok(Duration::from_secs(seconds)),
        _ => Err(DsnError::Invalid {
            key: "connect_timeout",
            expected: "1 to 3600 seconds",
        }),
    }
}

fn check_host(host: &str) -> Result<(), DsnError> {
    if host.is_empty() || host.contains(',') {
        return Err(DsnError::Invalid {
            key: "host",
            expected: "exactly one host",
        });
    }
    Ok(())
}

fn parse_port(port: Option<&str>) -> Result<u16, DsnError> {
    match port {
        None | Some("") => Ok(5432),
        Some(port) => match port.parse() {
            Ok(port) if port > 0 => Ok(port),
            _ => Err(DsnError::Invalid {
                key: "port",
                expected: "a number from 1 to 65535",
            }),
        },
    }
}
