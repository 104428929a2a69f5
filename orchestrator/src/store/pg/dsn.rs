//! The store's connection string: a URI or `key=value` pairs, the password perhaps a reference.

use sqlx::postgres::PgConnectOptions;
use std::str::FromStr;

/// Why a connection string of the store cannot be used; never repeats a password.
#[derive(Debug, thiserror::Error)]
pub enum DsnError {
    /// Not of a known form.
    #[error("the store's connection string cannot be read: {reason}")]
    Malformed {
        /// What is wrong with it.
        reason: String,
    },
    /// A reference names nothing that can be read.
    #[error("the store's password could not be read from {reference}")]
    Reference {
        /// As written.
        reference: String,
    },
}

/// Reads `dsn` and resolves the password's reference.
pub(super) fn options(dsn: &str) -> Result<PgConnectOptions, DsnError> {
    if dsn.starts_with("postgres://") || dsn.starts_with("postgresql://") {
        return from_uri(dsn);
    }
    let mut options = PgConnectOptions::new();
    for (key, value) in pairs(dsn)? {
        options = match key.as_str() {
            "host" | "hostaddr" => options.host(&value),
            "port" => options.port(value.parse().map_err(|_| DsnError::Malformed {
                reason: format!("port {value} is not a number"),
            })?),
            "user" => options.username(&value),
            "dbname" => options.database(&value),
            "password" => options.password(&resolve(&value)?),
            "sslmode" if value == "disable" || value == "prefer" => options,
            _ => {
                return Err(DsnError::Malformed {
                    reason: format!("parameter {key} is not known here"),
                });
            }
        };
    }
    Ok(options)
}

fn from_uri(dsn: &str) -> Result<PgConnectOptions, DsnError> {
    let malformed = |reason: sqlx::Error| DsnError::Malformed {
        reason: reason.to_string(),
    };
    let reference = dsn.find("${").and_then(|start| {
        let end = dsn[start..].find('}')?;
        Some(start..=start + end)
    });
    match reference {
        None => PgConnectOptions::from_str(dsn).map_err(malformed),
        Some(range) => {
            let bare = format!("{}x{}", &dsn[..*range.start()], &dsn[range.end() + 1..]);
            let options = PgConnectOptions::from_str(&bare).map_err(malformed)?;
            Ok(options.password(&resolve(&dsn[range])?))
        }
    }
}

/// `key=value` pairs as libpq writes them: quotes and backslashes allowed.
fn pairs(dsn: &str) -> Result<Vec<(String, String)>, DsnError> {
    let mut pairs = Vec::new();
    let mut rest = dsn.trim_start();
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=').ok_or_else(|| DsnError::Malformed {
            reason: "it is neither a URI nor key=value pairs".to_owned(),
        })?;
        let (value, after) = value(after.trim_start());
        pairs.push((key.trim().to_owned(), value));
        rest = after.trim_start();
    }
    Ok(pairs)
}

fn value(text: &str) -> (String, &str) {
    let quoted = text.starts_with('\'');
    let mut out = String::new();
    let mut chars = text.char_indices().skip(usize::from(quoted));
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => out.extend(chars.next().map(|(_, escaped)| escaped)),
            '\'' if quoted => return (out, &text[at + 1..]),
            c if !quoted && c.is_whitespace() => return (out, &text[at..]),
            c => out.push(c),
        }
    }
    (out, "")
}

/// The text, or what `${file:PATH}` or `${env:NAME}` stands for.
fn resolve(text: &str) -> Result<String, DsnError> {
    let inner = text.strip_prefix("${").and_then(|t| t.strip_suffix('}'));
    let Some((kind, name)) = inner.and_then(|inner| inner.split_once(':')) else {
        return Ok(text.to_owned());
    };
    let found = match kind {
        "env" => std::env::var(name).ok(),
        "file" => std::fs::read_to_string(name)
            .ok()
            .map(|text| text.trim_end_matches(['\r', '\n']).to_owned()),
        _ => None,
    };
    found.ok_or_else(|| DsnError::Reference {
        reference: text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_may_be_quoted() {
        let found = pairs(r"host=a  port = 5 dbname='it\'s b' user=c").unwrap();
        let text: Vec<String> = found.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(text, ["host=a", "port=5", "dbname=it's b", "user=c"]);
    }

    #[test]
    fn a_reference_that_names_nothing_is_told() {
        let error = options("host=a password=${file:/nowhere/at/all}").unwrap_err();
        assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
    }
}
