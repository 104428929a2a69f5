//! The password file: lines of the form `host:port:database:user:password`. The first matching line is used.
//!
//! As in libpq, a file is ignored if its group or other users may access it, or if it is not an ordinary file.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// The content of a password file, or the reason why it was not read.
#[derive(Default)]
pub(crate) struct Passwords {
    path: Option<PathBuf>,
    text: String,
    /// The file exists, but was ignored because of its mode.
    pub(crate) ignored: Option<PathBuf>,
}

/// What a line must match.
pub(crate) struct PasswordQuery<'a> {
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    pub(crate) dbname: &'a str,
    pub(crate) user: &'a str,
}

impl Passwords {
    /// Reads `passfile`, or `~/.pgpass`. A file that does not exist counts as empty.
    pub(crate) fn read(passfile: Option<&str>, environment: &Environment) -> Self {
        let path = passfile.map(PathBuf::from);
        let Some(path) = path.or_else(|| environment.path_below_home(".pgpass")) else {
            return Self::default();
        };
        let Ok(meta) = std::fs::metadata(&path) else {
            return Self::default();
        };
        if !meta.is_file() || meta.permissions().mode() & 0o077 != 0 {
            tracing::warn!(
                path = %path.display(),
                "password file passed over: it must be an ordinary file of mode 0600 or less"
            );
            return Self {
                ignored: Some(path),
                ..Self::default()
            };
        }
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "password file not read");
                return Self::default();
            }
        };
        Self {
            path: Some(path),
            text,
            ignored: None,
        }
    }

    /// Returns the file that was read.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the password of the first matching line.
    pub(crate) fn find(&self, wanted: &PasswordQuery<'_>) -> Option<String> {
        let port = wanted.port.to_string();
        // In a password file, libpq calls a server with the default socket directory localhost.
        let host = match wanted.host {
            "/var/run/postgresql" | "/run/postgresql" | "/tmp" => "localhost",
            host => host,
        };
        let expected = [host, &port, wanted.dbname, wanted.user];
        self.text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .find_map(|line| {
                let mut rest = line.trim_end_matches('\r');
                for expected in expected {
                    let (found, after) = field(rest)?;
                    if found != "*" && unescaped(found) != expected {
                        return None;
                    }
                    rest = after;
                }
                let password = unescaped(field(rest).map_or(rest, |(found, _)| found));
                (!password.is_empty()).then_some(password)
            })
    }
}

/// Returns the text up to the next colon without a backslash before it, and the rest.
fn field(text: &str) -> Option<(&str, &str)> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ':' => return Some((&text[..at], &text[at + 1..])),
            _ => {}
        }
    }
    None
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.extend(chars.next()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str, host: &str) -> Option<String> {
        let passwords = Passwords {
            text: text.to_owned(),
            ..Passwords::default()
        };
        passwords.find(&PasswordQuery {
            host,
            port: 5432,
            dbname: "shop",
            user: "app",
        })
    }

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let text = "# db:5432:shop:app:comment\ndb:1:shop:app:port\ndb:5432:shop:app:a\\:b\\\\c\n*:*:*:*:any";
        assert_eq!(find(text, "db").as_deref(), Some("a:b\\c"));
        assert_eq!(find(text, "other").as_deref(), Some("any"));
        assert_eq!(find("localhost:*:*:*:s", "/tmp").as_deref(), Some("s"));
        assert_eq!(
            find("\\:\\:1:5432:*:app:six", "::1").as_deref(),
            Some("six")
        );
        assert_eq!(find("db:5432:shop", "db"), None);
        assert_eq!(find("db:5432:shop:app:", "db"), None);
    }
}
