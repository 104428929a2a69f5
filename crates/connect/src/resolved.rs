//! A complete connection string: the servers, the role, and how the connection is protected.

mod values;

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::DsnError;
use crate::environment::Environment;
use crate::methods::Methods;
use crate::source::{PasswordQuery, Passwords};
pub(crate) use values::check;
use values::{hosts, word};

/// The limit for connecting to one address, if none is set.
pub(crate) const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How a connection is protected, as libpq's `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SslMode {
    /// Without TLS.
    Disable,
    /// No TLS at first; with TLS if the server requires it.
    Allow,
    /// With TLS if the server offers it. The certificate is not verified.
    Prefer,
    /// With TLS. The certificate is verified only if root certificates are known.
    Require,
    /// With TLS. The certificate must be signed by a trusted authority.
    VerifyCa,
    /// As `VerifyCa`, and the certificate must be valid for the host's name.
    VerifyFull,
}

/// Whether the password's proof (SCRAM) is bound to the TLS session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelBinding {
    /// Never.
    Disable,
    /// If the server offers it.
    Prefer,
    /// Always. A server that does not offer it is refused.
    Require,
}

/// The property that a server must have, as libpq's `target_session_attrs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// No property is required.
    Any,
    /// It accepts writes.
    ReadWrite,
    /// It accepts no writes.
    ReadOnly,
    /// It is a primary (not in recovery).
    Primary,
    /// It is a standby (in recovery).
    Standby,
    /// It is a standby, if one of the hosts is a standby.
    PreferStandby,
}

impl Target {
    /// Returns the text for a message.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Any => "anything",
            Self::ReadWrite => "a server that takes writes",
            Self::ReadOnly => "a server that only reads",
            Self::Primary => "a primary",
            Self::Standby | Self::PreferStandby => "a standby",
        }
    }
}

/// One server of the list.
#[derive(Clone, PartialEq, Eq)]
pub struct Host {
    /// The host name, the address, or the directory of a Unix socket (which begins with `/`).
    pub name: String,
    /// The address to which to connect, if `hostaddr` is set.
    pub address: Option<IpAddr>,
    /// The TCP port, 5432 by default.
    pub port: u16,
    /// The password, if one is known.
    pub password: Option<String>,
}

impl Host {
    /// Returns true if the name is the directory of a Unix socket.
    pub fn is_socket(&self) -> bool {
        self.name.starts_with('/')
    }
}

/// The certificates and keys of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificates {
    /// The trusted authorities; `None`: none are known.
    pub roots: Option<Roots>,
    /// The client's own certificate and its key.
    pub own: Option<(PathBuf, PathBuf)>,
}

/// The trusted certificate authorities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Roots {
    /// Those of the operating system.
    System,
    /// Those in a PEM file.
    File(PathBuf),
}

/// A connection string with all values resolved. It contains secrets, so drop it soon.
#[derive(Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The servers, in the order in which they are tried; at least one.
    pub hosts: Vec<Host>,
    /// The role.
    pub user: String,
    /// The database. Its default is the name of the role.
    pub dbname: String,
    /// Startup options (`-c name=value`), if any.
    pub options: Option<String>,
    /// The limit for connecting to one address, including authentication.
    pub connect_timeout: Duration,
    /// How the connection is protected.
    pub ssl_mode: SslMode,
    /// TLS from the first byte on, which PostgreSQL 17 and later support.
    pub ssl_direct: bool,
    /// Certificates and keys.
    pub certificates: Certificates,
    /// The authentication methods that a server may request.
    pub methods: Methods,
    /// Whether the password's proof is bound to the TLS session.
    pub channel_binding: ChannelBinding,
    /// The property that the server must have.
    pub target: Target,
    /// True to try hosts and addresses in random order.
    pub random_order: bool,
    /// The password file that was read, if any.
    pub passfile: Option<PathBuf>,
    /// The password file that was ignored because of its mode.
    pub ignored_passfile: Option<PathBuf>,
}

impl Resolved {
    pub(crate) fn from_values(
        values: &BTreeMap<&'static str, String>,
        environment: &Environment,
    ) -> Result<Self, DsnError> {
        let value = |key| {
            values
                .get(key)
                .map(String::as_str)
                .filter(|v| !v.is_empty())
        };
        for (key, text) in values {
            check(key, text)?;
        }
        let user = value("user").ok_or(DsnError::Missing { key: "user" })?;
        let dbname = value("dbname").unwrap_or(user);
        let passwords = match value("password") {
            Some(_) => Passwords::default(),
            None => Passwords::read(value("passfile"), environment),
        };
        let mut hosts = hosts(value("host"), value("hostaddr"), value("port"))?;
        for host in &mut hosts {
            host.password = value("password").map(str::to_owned).or_else(|| {
                passwords.find(&PasswordQuery {
                    host: &host.name,
                    port: host.port,
                    dbname,
                    user,
                })
            });
        }
        let certificates = values::certificates(&value, environment)?;
        Ok(Self {
            hosts,
            user: user.to_owned(),
            dbname: dbname.to_owned(),
            options: value("options").map(str::to_owned),
            connect_timeout: values::connect_timeout(value("connect_timeout"))?,
            ssl_mode: values::ssl_mode(value("sslmode"), &certificates)?,
            ssl_direct: value("sslnegotiation") == Some("direct"),
            certificates,
            methods: Methods::read(value("require_auth"))?,
            channel_binding: word(&values::BINDINGS, value("channel_binding"))
                .unwrap_or(ChannelBinding::Prefer),
            target: word(&values::TARGETS, value("target_session_attrs")).unwrap_or(Target::Any),
            random_order: value("load_balance_hosts") == Some("random"),
            passfile: passwords.path().map(PathBuf::from),
            ignored_passfile: passwords.ignored,
        })
    }

    /// Returns the servers as `host:port,host:port/dbname`.
    pub fn server(&self) -> String {
        let hosts: Vec<String> = self.hosts.iter().map(Host::to_string).collect();
        format!("{}/{}", hosts.join(","), self.dbname)
    }

    /// Returns the same connection as environment variables for a program that uses libpq. Variables without a value
    /// must be removed, so that they have no effect.
    pub fn variables(&self) -> Vec<(&'static str, Option<String>)> {
        let set = values::variables(self);
        let rest = values::names().filter(|name| set.iter().all(|(other, _)| other != name));
        let rest: Vec<_> = rest.map(|name| (name, None)).collect();
        let set = set.into_iter().map(|(name, value)| (name, Some(value)));
        set.chain(rest).collect()
    }
}

/// Returns `host:port/dbname` for lists in their original form.
pub(crate) fn named(hosts: &str, ports: &str, dbname: &str) -> String {
    let ports: Vec<&str> = ports.split(',').collect();
    let hosts: Vec<String> = hosts
        .split(',')
        .enumerate()
        .map(|(at, host)| {
            let port = ports.get(at).or(ports.first()).copied().unwrap_or("");
            format!("{host}:{}", if port.is_empty() { "5432" } else { port })
        })
        .collect();
    format!("{}/{dbname}", hosts.join(","))
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.port)
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Host({self})")
    }
}

impl fmt::Debug for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Resolved({} as {})", self.server(), self.user)
    }
}
