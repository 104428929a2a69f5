//! Splits a connection string into parameters. A `${...}` is never split, regardless of its content.

use std::collections::BTreeMap;

use crate::DsnError;
use crate::reference::Template;

/// All parameters, in the order in which they are printed.
pub(super) const KNOWN: [&str; 20] = [
    "service",
    "host",
    "hostaddr",
    "port",
    "user",
    "password",
    "passfile",
    "dbname",
    "options",
    "connect_timeout",
    "sslmode",
    "sslnegotiation",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "require_auth",
    "channel_binding",
    "target_session_attrs",
    "load_balance_hosts",
    "gssencmode",
];

/// Parameters that are accepted and ignored, because Shardwright sets them for every session.
const IGNORED: [&str; 8] = [
    "application_name",
    "fallback_application_name",
    "client_encoding",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_count",
    "tcp_user_timeout",
];

/// Returns the canonical name of a parameter, or `None` for one that is ignored.
///
/// # Errors
/// [`DsnError::UnknownParameter`].
pub(crate) fn known(key: &str) -> Result<Option<&'static str>, DsnError> {
    match KNOWN.into_iter().find(|known| *known == key) {
        Some(known) => Ok(Some(known)),
        None if IGNORED.contains(&key) => Ok(None),
        None => Err(DsnError::UnknownParameter {
            key: key.to_owned(),
        }),
    }
}

/// The parameters of a connection string by name.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct DsnParameters(BTreeMap<&'static str, Template>);

impl DsnParameters {
    pub(super) fn get(&self, key: &str) -> Option<&Template> {
        self.0.get(key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &Template)> {
        self.0.iter().map(|(key, value)| (*key, value))
    }

    fn put(&mut self, key: &str, value: Template) -> Result<(), DsnError> {
        if let Some(key) = known(key)? {
            self.0.insert(key, value);
        }
        Ok(())
    }

    fn put_uri(&mut self, key: &str, raw: &str) -> Result<(), DsnError> {
        if raw.is_empty() {
            return Ok(());
        }
        self.put(key, Template::parse(raw, percent_decode)?)
    }
}

/// Parses either form.
pub(super) fn words(text: &str) -> Result<DsnParameters, DsnError> {
    match text
        .strip_prefix("postgres://")
        .or_else(|| text.strip_prefix("postgresql://"))
    {
        Some(rest) => uri(rest),
        None => key_values(text),
    }
}

/// Parses `[user[:password]@][host][:port][,...][/dbname][?key=value&...]`.
fn uri(rest: &str) -> Result<DsnParameters, DsnError> {
    let mut words = DsnParameters::default();
    let (rest, query) = split(rest, '?');
    let (authority, dbname) = split(rest, '/');
    words.put_uri("dbname", dbname.unwrap_or(""))?;
    let (userinfo, address) = match split(authority, '@') {
        (userinfo, Some(address)) => (userinfo, address),
        (address, None) => ("", address),
    };
    let (user, password) = split(userinfo, ':');
    words.put_uri("user", user)?;
    words.put_uri("password", password.unwrap_or(""))?;
    let (hosts, ports) = hosts_and_ports(address)?;
    words.put_uri("host", &hosts)?;
    words.put_uri("port", &ports)?;
    let mut query = query.unwrap_or("");
    while !query.is_empty() {
        let (pair, more) = split(query, '&');
        let (key, value) = split(pair, '=');
        let value = value.ok_or(DsnError::Malformed {
            reason: "expected key=value after ?",
        })?;
        // The JDBC parameter `ssl`, which libpq accepts too.
        let (key, value) = match (key, value) {
            ("ssl", "true") => ("sslmode", "require"),
            pair => pair,
        };
        words.put_uri(key, value)?;
        query = more.unwrap_or("");
    }
    Ok(words)
}

/// Returns the lists of hosts and of ports in the form of the parameters `host` and `port`.
fn hosts_and_ports(addresses: &str) -> Result<(String, String), DsnError> {
    let (mut hosts, mut ports) = (Vec::new(), Vec::new());
    let mut rest = Some(addresses);
    while let Some(text) = rest {
        let (address, more) = split(text, ',');
        let (host, port) = host_and_port(address)?;
        hosts.push(host);
        ports.push(port);
        rest = more;
    }
    let ports = match ports.iter().all(|port| port.is_empty()) {
        true => String::new(),
        false => ports.join(","),
    };
    Ok((hosts.join(","), ports))
}

fn host_and_port(address: &str) -> Result<(&str, &str), DsnError> {
    let Some(inside) = address.strip_prefix('[') else {
        let (host, port) = split(address, ':');
        return Ok((host, port.unwrap_or("")));
    };
    let unclosed = DsnError::Malformed {
        reason: "expected ] after an IPv6 address",
    };
    let (host, after) = inside.split_once(']').ok_or(unclosed)?;
    match after.strip_prefix(':') {
        Some(port) => Ok((host, port)),
        None if after.is_empty() => Ok((host, "")),
        None => Err(DsnError::Malformed {
            reason: "expected :port after ]",
        }),
    }
}

/// Parses `key = value` and `key = 'quoted value'`. A backslash removes the meaning of the next character.
fn key_values(text: &str) -> Result<DsnParameters, DsnError> {
    let mut words = DsnParameters::default();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=').ok_or(DsnError::Malformed {
            reason: "expected key=value",
        })?;
        let key = key.trim();
        if key.is_empty() || key.contains(char::is_whitespace) {
            // The word may be the rest of an unquoted password, so the message does not repeat it.
            return Err(DsnError::Malformed {
                reason: "expected one word before each =",
            });
        }
        let (value, after) = value(after.trim_start())?;
        words.put(key, Template::parse(&value, |text| Ok(text.to_owned()))?)?;
        rest = after.trim_start();
    }
    Ok(words)
}

/// Parses one value, and returns it with the rest of the text.
fn value(text: &str) -> Result<(String, &str), DsnError> {
    let (quoted, body) = match text.strip_prefix('\'') {
        Some(body) => (true, body),
        None => (false, text),
    };
    let mut value = String::new();
    let mut rest = body;
    while let Some(c) = rest.chars().next() {
        let mut consumed = c.len_utf8();
        match c {
            '\'' if quoted => return Ok((value, &rest[1..])),
            c if c.is_whitespace() && !quoted => return Ok((value, rest)),
            '\\' => {
                let next = rest[1..].chars().next().ok_or(DsnError::Malformed {
                    reason: "expected a character after a backslash",
                })?;
                value.push(next);
                consumed += next.len_utf8();
            }
            '$' if rest.starts_with("${") => {
                consumed = rest.find('}').ok_or(DsnError::OpenReference)? + 1;
                value.push_str(&rest[..consumed]);
            }
            c => value.push(c),
        }
        rest = &rest[consumed..];
    }
    if quoted {
        return Err(DsnError::Malformed {
            reason: "expected a closing quote",
        });
    }
    Ok((value, rest))
}

/// Splits at the first `mark` outside references.
fn split(text: &str, mark: char) -> (&str, Option<&str>) {
    let mut inside = false;
    for (at, c) in text.char_indices() {
        match c {
            '$' if text[at..].starts_with("${") => inside = true,
            '}' => inside = false,
            c if c == mark && !inside => return (&text[..at], Some(&text[at + c.len_utf8()..])),
            _ => {}
        }
    }
    (text, None)
}

fn percent_decode(text: &str) -> Result<String, DsnError> {
    let wrong = || DsnError::Malformed {
        reason: "expected two hex digits after %",
    };
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = rest.get(..2).ok_or_else(wrong)?;
        let digits = str::from_utf8(digits).map_err(|_| wrong())?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| wrong())?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).map_err(|_| DsnError::Malformed {
        reason: "expected UTF-8 after %",
    })
}
