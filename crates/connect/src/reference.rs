//! Values that may contain a reference to a secret: `${env:NAME}`, `${file:PATH}` and `${credential:NAME}`. The last
//! one is a file in the folder that the service manager created for the secrets of this process.
//!
//! A reference is kept as text, and is resolved only when a connection is opened, by the process that opens it.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::DsnError;
use crate::secrets::{CREDENTIALS, Secrets};

/// Why a reference could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// The environment variable is not set, or is not UTF-8.
    #[error("environment variable {name} of {key} is not set or is not text")]
    Env {
        /// The parameter of the connection string.
        key: &'static str,
        /// The name of the variable.
        name: String,
    },
    /// The file could not be read as UTF-8 text.
    #[error("file {path} of {key} could not be read")]
    File {
        /// The parameter of the connection string.
        key: &'static str,
        /// The path as written.
        path: String,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// Connection strings may not refer to this variable in this process.
    #[error(
        "environment variable {name} of {key} is not one that connection strings may name here"
    )]
    VariableRefused {
        /// The parameter of the connection string.
        key: &'static str,
        /// The name of the variable.
        name: String,
    },
    /// The file is in none of the directories from which this process may read secrets.
    #[error("file {path} of {key} is in none of the directories from which secrets are read here")]
    FileRefused {
        /// The parameter of the connection string.
        key: &'static str,
        /// The path as written.
        path: String,
    },
}

impl ReferenceError {
    /// Returns what the user can do.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Env { .. } | Self::File { .. } => {
                "the process that connects reads references: set the variable or create the file on its host"
            }
            Self::VariableRefused { .. } => {
                "name a variable that begins with SHARD_, or start the agent with --secrets-env NAME"
            }
            Self::FileRefused { .. } => {
                "move the file to /etc/shardwright/agent/shards, or start the agent with --secrets-dir DIR"
            }
        }
    }
}

/// A value of a connection string: text and references in order.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct Template(Vec<TemplatePart>);

#[derive(Clone, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Env(String),
    File(String),
    Credential(String),
}

impl Template {
    /// Parses `raw`. Text outside references is decoded with `decode`.
    pub(crate) fn parse(
        raw: &str,
        decode: impl Fn(&str) -> Result<String, DsnError>,
    ) -> Result<Self, DsnError> {
        let mut parts = Vec::new();
        let mut rest = raw;
        while let Some(start) = rest.find("${") {
            let end = start + rest[start..].find('}').ok_or(DsnError::OpenReference)?;
            push_text(&mut parts, decode(&rest[..start])?);
            parts.push(parse_reference(&rest[start + 2..end])?);
            rest = &rest[end + 1..];
        }
        push_text(&mut parts, decode(rest)?);
        Ok(Self(parts))
    }

    /// Returns true if the connection string itself contains a part of the value.
    pub(crate) fn is_inline(&self) -> bool {
        self.0
            .iter()
            .any(|part| matches!(part, TemplatePart::Text(_)))
    }

    /// Returns the value if it has no reference.
    pub(crate) fn literal(&self) -> Option<String> {
        self.0
            .iter()
            .map(|part| match part {
                TemplatePart::Text(text) => Some(text.as_str()),
                TemplatePart::Env(_) | TemplatePart::File(_) | TemplatePart::Credential(_) => None,
            })
            .collect()
    }

    /// Resolves the references that `secrets` permits. One trailing newline of a file is removed.
    pub(crate) fn resolve(
        &self,
        key: &'static str,
        secrets: &Secrets,
    ) -> Result<String, ReferenceError> {
        let mut value = String::new();
        for part in &self.0 {
            match part {
                TemplatePart::Text(text) => value.push_str(text),
                TemplatePart::Env(name) if !secrets.admits_variable(name) => {
                    let name = name.clone();
                    return Err(ReferenceError::VariableRefused { key, name });
                }
                TemplatePart::Env(name) => value.push_str(&read_env(key, name)?),
                TemplatePart::File(path) => value.push_str(&read_file(key, path, secrets)?),
                TemplatePart::Credential(name) => {
                    let folder = read_env(key, CREDENTIALS)?;
                    value.push_str(&read_file(key, &format!("{folder}/{name}"), secrets)?);
                }
            }
        }
        Ok(value)
    }
}

/// Prints references as written and text unchanged. Do not use it for an inline password.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            TemplatePart::Text(text) => f.write_str(text),
            TemplatePart::Env(name) => write!(f, "${{env:{name}}}"),
            TemplatePart::File(path) => write!(f, "${{file:{path}}}"),
            TemplatePart::Credential(name) => write!(f, "${{credential:{name}}}"),
        })
    }
}

fn push_text(parts: &mut Vec<TemplatePart>, text: String) {
    if !text.is_empty() {
        parts.push(TemplatePart::Text(text));
    }
}

fn parse_reference(inside: &str) -> Result<TemplatePart, DsnError> {
    match inside.split_once(':') {
        Some(("env", name)) if !name.is_empty() => Ok(TemplatePart::Env(name.to_owned())),
        Some(("file", path)) if !path.is_empty() => Ok(TemplatePart::File(path.to_owned())),
        Some(("credential", name)) if !name.is_empty() && !name.contains('/') => {
            Ok(TemplatePart::Credential(name.to_owned()))
        }
        // The text may be a part of a password, so the message does not repeat it.
        _ => Err(DsnError::UnknownReference),
    }
}

fn read_env(key: &'static str, name: &str) -> Result<String, ReferenceError> {
    std::env::var(name).map_err(|_| ReferenceError::Env {
        key,
        name: name.to_owned(),
    })
}

/// Returns the file to which `path` leads, with links and `..` resolved, if it is one of `secrets`.
pub(crate) fn admitted(
    key: &'static str,
    path: &str,
    secrets: &Secrets,
) -> Result<PathBuf, ReferenceError> {
    let found = secrets.file(path).map_err(|source| ReferenceError::File {
        key,
        path: path.to_owned(),
        source,
    })?;
    found.ok_or_else(|| ReferenceError::FileRefused {
        key,
        path: path.to_owned(),
    })
}

fn read_file(key: &'static str, path: &str, secrets: &Secrets) -> Result<String, ReferenceError> {
    let found = admitted(key, path, secrets)?;
    let mut text = std::fs::read_to_string(found).map_err(|source| ReferenceError::File {
        key,
        path: path.to_owned(),
        source,
    })?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}
