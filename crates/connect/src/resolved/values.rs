//! Values of parameters: valid values and defaults.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::{
    Certificates, ChannelBinding, DEFAULT_CONNECT_TIMEOUT, Host, Resolved, Roots, SslMode, Target,
};
use crate::DsnError;
use crate::environment::{Environment, VARIABLES};
use crate::methods::Methods;

const MODES: [(&str, SslMode); 6] = [
    ("disable", SslMode::Disable),
    ("allow", SslMode::Allow),
    ("prefer", SslMode::Prefer),
    ("require", SslMode::Require),
    ("verify-ca", SslMode::VerifyCa),
    ("verify-full", SslMode::VerifyFull),
];

pub(super) const BINDINGS: [(&str, ChannelBinding); 3] = [
    ("disable", ChannelBinding::Disable),
    ("prefer", ChannelBinding::Prefer),
    ("require", ChannelBinding::Require),
];

pub(super) const TARGETS: [(&str, Target); 6] = [
    ("any", Target::Any),
    ("read-write", Target::ReadWrite),
    ("read-only", Target::ReadOnly),
    ("primary", Target::Primary),
    ("standby", Target::Standby),
    ("prefer-standby", Target::PreferStandby),
];

/// Returns the value that a word denotes.
pub(super) fn word<T: Copy>(words: &[(&str, T)], value: Option<&str>) -> Option<T> {
    let (_, found) = words.iter().find(|(word, _)| Some(*word) == value)?;
    Some(*found)
}

/// Returns the word that denotes a value.
pub(super) fn spelled<T: PartialEq>(
    words: &[(&'static str, T)],
    value: &T,
) -> Option<&'static str> {
    let (word, _) = words.iter().find(|(_, of)| of == value)?;
    Some(word)
}

/// Returns an error if a value can never be valid. An empty value counts as not set.
pub(crate) fn check(key: &'static str, value: &str) -> Result<(), DsnError> {
    let present = Some(value).filter(|value| !value.is_empty());
    let Some(value) = present else { return Ok(()) };
    let known = |possible: bool, expected| match possible {
        true => Ok(()),
        false => Err(DsnError::Invalid { key, expected }),
    };
    match key {
        "host" => known(value.split(',').all(|host| !host.is_empty()), HOSTS),
        "hostaddr" => addresses(value).map(drop),
        "port" => ports(value).map(drop),
        "connect_timeout" => connect_timeout(present).map(drop),
        "sslmode" => known(word(&MODES, present).is_some(), SSL_MODES),
        "sslnegotiation" => known(
            ["postgres", "direct"].contains(&value),
            "postgres or direct",
        ),
        "require_auth" => Methods::read(present).map(drop),
        "channel_binding" => known(
            word(&BINDINGS, present).is_some(),
            "disable, prefer or require",
        ),
        "target_session_attrs" => known(word(&TARGETS, present).is_some(), TARGET_WORDS),
        "load_balance_hosts" => known(["disable", "random"].contains(&value), "disable or random"),
        "gssencmode" => known(["disable", "prefer"].contains(&value), "disable or prefer"),
        _ => Ok(()),
    }
}

const HOSTS: &str = "a name, an address or a socket's folder for each host";
const SSL_MODES: &str = "disable, allow, prefer, require, verify-ca or verify-full";
const TARGET_WORDS: &str = "any, read-write, read-only, primary, standby or prefer-standby";

/// Returns the hosts of the lists, without passwords.
pub(super) fn hosts(
    names: Option<&str>,
    addresses: Option<&str>,
    ports: Option<&str>,
) -> Result<Vec<Host>, DsnError> {
    let present = names.or(addresses);
    let names: Vec<&str> = present
        .ok_or(DsnError::Missing { key: "host" })?
        .split(',')
        .collect();
    let addresses = match addresses {
        Some(list) => self::addresses(list)?.into_iter().map(Some).collect(),
        None => vec![None; names.len()],
    };
    let mut ports = self::ports(ports.unwrap_or(""))?;
    if ports.len() == 1 {
        ports = vec![ports[0]; names.len()];
    }
    for (key, length) in [("hostaddr", addresses.len()), ("port", ports.len())] {
        if length != names.len() {
            let expected = "one for each host";
            return Err(DsnError::Invalid { key, expected });
        }
    }
    let hosts = names.into_iter().zip(addresses).zip(ports);
    Ok(hosts
        .map(|((name, address), port)| Host {
            name: name.to_owned(),
            address,
            port,
            password: None,
        })
        .collect())
}

fn addresses(list: &str) -> Result<Vec<IpAddr>, DsnError> {
    let invalid = |_| DsnError::Invalid {
        key: "hostaddr",
        expected: "a numeric address for each host",
    };
    list.split(',')
        .map(|text| text.parse().map_err(invalid))
        .collect()
}

fn ports(list: &str) -> Result<Vec<u16>, DsnError> {
    list.split(',')
        .map(|text| match text.parse() {
            _ if text.is_empty() => Ok(5432),
            Ok(port) if port > 0 => Ok(port),
            _ => Err(DsnError::Invalid {
                key: "port",
                expected: "a number from 1 to 65535",
            }),
        })
        .collect()
}

pub(super) fn connect_timeout(value: Option<&str>) -> Result<Duration, DsnError> {
    match value.map(str::parse) {
        None => Ok(DEFAULT_CONNECT_TIMEOUT),
        Some(Ok(seconds @ 1..=3600)) => Ok(Duration::from_secs(seconds)),
        Some(_) => Err(DsnError::Invalid {
            key: "connect_timeout",
            expected: "1 to 3600 seconds",
        }),
    }
}

/// Parses `sslmode`. With the system's authorities the name must be verified, because anyone can get a certificate from
/// them.
pub(super) fn ssl_mode(
    value: Option<&str>,
    certificates: &Certificates,
) -> Result<SslMode, DsnError> {
    match (word(&MODES, value), &certificates.roots) {
        (None | Some(SslMode::VerifyFull), Some(Roots::System)) => Ok(SslMode::VerifyFull),
        (Some(_), Some(Roots::System)) => Err(DsnError::Invalid {
            key: "sslmode",
            expected: "verify-full with sslrootcert=system",
        }),
        (present, _) => Ok(present.unwrap_or(SslMode::Prefer)),
    }
}

/// Returns the configured files, or those in `~/.postgresql`.
pub(super) fn certificates<'a>(
    value: &impl Fn(&'static str) -> Option<&'a str>,
    environment: &Environment,
) -> Result<Certificates, DsnError> {
    let usual = |name: &str| {
        let path = environment.path_below_home(&format!(".postgresql/{name}"))?;
        path.exists().then_some(path)
    };
    let roots = match value("sslrootcert") {
        Some("system") => Some(Roots::System),
        Some(path) => Some(Roots::File(path.into())),
        None => usual("root.crt").map(Roots::File),
    };
    let named = |key| value(key).map(PathBuf::from);
    let certificate = named("sslcert").or_else(|| usual("postgresql.crt"));
    let key = named("sslkey").or_else(|| usual("postgresql.key"));
    let own = match (certificate, key) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (Some(_), None) => return Err(DsnError::Missing { key: "sslkey" }),
        (None, _) => None,
    };
    Ok(Certificates { roots, own })
}

/// Returns the names of all variables of parameters.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    VARIABLES.iter().map(|(_, name)| *name)
}

/// Returns the variables with which libpq connects as `of` describes.
pub(super) fn variables(of: &Resolved) -> Vec<(&'static str, String)> {
    let list = |part: &dyn Fn(&Host) -> String| {
        let parts: Vec<String> = of.hosts.iter().map(part).collect();
        parts.join(",")
    };
    let path = |path: &PathBuf| path.display().to_string();
    let mut set = vec![
        ("PGHOST", list(&|host| host.name.clone())),
        ("PGPORT", list(&|host| host.port.to_string())),
        ("PGUSER", of.user.clone()),
        ("PGDATABASE", of.dbname.clone()),
        (
            "PGCONNECT_TIMEOUT",
            of.connect_timeout.as_secs().to_string(),
        ),
        (
            "PGREQUIREAUTH",
            of.methods.spelled(of.ssl_mode == SslMode::VerifyFull),
        ),
    ];
    let words = [
        ("PGSSLMODE", spelled(&MODES, &of.ssl_mode)),
        ("PGCHANNELBINDING", spelled(&BINDINGS, &of.channel_binding)),
        ("PGTARGETSESSIONATTRS", spelled(&TARGETS, &of.target)),
        ("PGSSLNEGOTIATION", of.ssl_direct.then_some("direct")),
    ];
    let words = words.into_iter();
    set.extend(words.filter_map(|(name, word)| Some((name, word?.to_owned()))));
    if of.hosts.iter().all(|host| host.address.is_some()) {
        let address = |host: &Host| host.address.map(|a| a.to_string()).unwrap_or_default();
        set.push(("PGHOSTADDR", list(&address)));
    }
    match (&of.passfile, of.hosts.first().map(|host| &host.password)) {
        (Some(file), _) => set.push(("PGPASSFILE", path(file))),
        (None, Some(Some(password))) => set.push(("PGPASSWORD", password.clone())),
        (None, _) => {}
    }
    match &of.certificates.roots {
        Some(Roots::System) => set.push(("PGSSLROOTCERT", "system".to_owned())),
        Some(Roots::File(file)) => set.push(("PGSSLROOTCERT", path(file))),
        None => {}
    }
    if let Some((certificate, key)) = &of.certificates.own {
        set.push(("PGSSLCERT", path(certificate)));
        set.push(("PGSSLKEY", path(key)));
    }
    set.extend(of.options.clone().map(|options| ("PGOPTIONS", options)));
    set
}
