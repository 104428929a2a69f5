//! A connection string with everything filled in: which servers, as whom, how protected.

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

/// The limit on connecting to one address if nothing names another.
pub(crate) const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How a connection is protected, as libpq's `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SslMode {
    /// No TLS.
    Disable,
    /// Without TLS, and with it where the server insists.
    Allow,
    /// With TLS where the server has it; the certificate is not looked at.
    Prefer,
    /// With TLS; the certificate's authority is verified only where a root certificate is known.
    Require,
    /// The certificate comes from a known authority.
    VerifyCa,
    /// And it was made for the host's name.
    VerifyFull,
}

/// Whether the proof of the password is bound to the TLS session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelBinding {
    /// Never.
    Disable,
    /// Where the server offers it.
    Prefer,
    /// Always; everything else is refused.
    Require,
}

/// What a server must be for the session, as libpq's `target_session_attrs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Anything.
    Any,
    /// It takes writes.
    ReadWrite,
    /// It takes none.
    ReadOnly,
    /// It is not in recovery.
    Primary,
    /// It is in recovery.
    Standby,
    /// A standby if there is one among the hosts.
    PreferStandby,
}

impl Target {
    /// In words, for a message.
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
    /// Host name, address, or the directory of a Unix socket (starts with `/`).
    pub name: String,
    /// The address to use, where it is given beside the name.
    pub address: Option<IpAddr>,
    /// TCP port, 5432 by default.
    pub port: u16,
    /// Password, if any is known.
    pub password: Option<String>,
}

impl Host {
    /// True for the directory of a Unix socket.
    pub fn is_socket(&self) -> bool {
        self.name.starts_with('/')
    }
}

/// Where certificates and keys are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificates {
    /// The authorities to trust, `None` if none are known.
    pub roots: Option<Roots>,
    /// Our own certificate and its key.
    pub own: Option<(PathBuf, PathBuf)>,
}

/// Which authorities are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Roots {
    /// Those of the operating system.
    System,
    /// Those in a PEM file.
    File(PathBuf),
}

/// The parts of a connection string with every reference read. Keep it no longer than needed.
#[derive(Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The servers, in the order in which they are tried; at least one.
    pub hosts: Vec<Host>,
    /// Role.
    pub user: String,
    /// Database; the role's name by default.
    pub dbname: String,
    /// Startup options (`-c name=value`), if any.
    pub options: Option<String>,
    /// Limit on connecting to one address, authentication included.
    pub connect_timeout: Duration,
    /// How the connection is protected.
    pub ssl_mode: SslMode,
    /// TLS from the first byte on, which PostgreSQL 17 and later understand.
    pub ssl_direct: bool,
    /// Certificates and keys.
    pub certificates: Certificates,
    /// The ways of logging in that a server may ask for.
    pub methods: Methods,
    /// Whether the password's proof is bound to the TLS session.
    pub channel_binding: ChannelBinding,
    /// What the server must be.
    pub target: Target,
    /// True if hosts and addresses are tried in random order.
    pub random_order: bool,
    /// The password file that was read, if any.
    pub passfile: Option<PathBuf>,
    /// The password file that was passed over because of its mode.
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

    /// The servers as `host:port,host:port/dbname`.
    pub fn server(&self) -> String {
        let hosts: Vec<String> = self.hosts.iter().map(Host::to_string).collect();
        format!("{}/{}", hosts.join(","), self.dbname)
    }

    /// The same connection for a program that uses libpq: variables to set, and (without a value)
    /// those to take away, so that nothing else decides.
    pub fn variables(&self) -> Vec<(&'static str, Option<String>)> {
        let set = values::variables(self);
        let rest = values::names().filter(|name| set.iter().all(|(other, _)| other != name));
        let rest: Vec<_> = rest.map(|name| (name, None)).collect();
        let set = set.into_iter().map(|(name, value)| (name, Some(value)));
        set.chain(rest).collect()
    }
}

/// `host:port/dbname` of lists as they are written.
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
