//! Values that may name a secret instead of holding it: `${env:NAME}`, `${file:PATH}` and
//! `${credential:NAME}`, a file in the folder that the service manager made for this process's secrets.
//!
//! A reference is kept as written and read only when a connection is opened, by whoever opens it.

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
        /// Parameter of the connection string.
        key: &'static str,
        /// Name of the variable.
        name: String,
    },
    /// The file could not be read as UTF-8 text.
    #[error("file {path} of {key} could not be read")]
    File {
        /// Parameter of the connection string.
        key: &'static str,
        /// Path as written.
        path: String,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// The variable is none of those that this process reads for a connection string.
    #[error(
        "environment variable {name} of {key} is not one that connection strings may name here"
    )]
    VariableRefused {
        /// Parameter of the connection string.
        key: &'static str,
        /// Name of the variable.
        name: String,
    },
    /// The file is in none of the directories from which this process reads secrets.
    #[error("file {path} of {key} is in none of the directories from which secrets are read here")]
    FileRefused {
        /// Parameter of the connection string.
        key: &'static str,
        /// Path as written.
        path: String,
    },
}

impl ReferenceError {
    /// What repairs it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Env { .. } | Self::File { .. } => {
                "references are read where the connection is opened: set them there"
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

/// A value of a connection string: text and references, in order.
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
    /// Parses `raw`; the text between references goes through `decode` first.
    pub(crate) fn parse(
        raw: &str,
        decode: impl Fn(&str) -> Result<String, DsnError>,
    ) -> Result<Self, DsnError> {
        let mut parts = Vec::new();
        let mut rest = raw;
        while let Some(start) = rest.find("${") {
            let end = start + rest[start..].find('}').ok_or(DsnError::OpenReference)?;
            push_text(&mut parts, decode(&rest[..start])?);
            parts.push(reference(&rest[start + 2..end])?);
            rest = &rest[end + 1..];
        }
        push_text(&mut parts, decode(rest)?);
        Ok(Self(parts))
    }

    /// True if some of the value is written down in the connection string itself.
    pub(crate) fn is_inline(&self) -> bool {
        self.0
            .iter()
            .any(|part| matches!(part, TemplatePart::Text(_)))
    }

    /// The value, if it holds no reference.
    pub(crate) fn literal(&self) -> Option<String> {
        self.0
            .iter()
            .map(|part| match part {
                TemplatePart::Text(text) => Some(text.as_str()),
                TemplatePart::Env(_) | TemplatePart::File(_) | TemplatePart::Credential(_) => None,
            })
            .collect()
    }

    /// Reads the references that `secrets` admits; one trailing newline of a file is dropped.
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

/// Shows references as written and text as it is: never call it for an inline password.
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

fn reference(inside: &str) -> Result<TemplatePart, DsnError> {
    match inside.split_once(':') {
        Some(("env", name)) if !name.is_empty() => Ok(TemplatePart::Env(name.to_owned())),
        Some(("file", path)) if !path.is_empty() => Ok(TemplatePart::File(path.to_owned())),
        Some(("credential", name)) if !name.is_empty() && !name.contains('/') => {
            Ok(TemplatePart::Credential(name.to_owned()))
        }
        // What stands inside may be a piece of a password, so it is not repeated.
        _ => Err(DsnError::UnknownReference),
    }
}

fn read_env(key: &'static str, name: &str) -> Result<String, ReferenceError> {
    std::env::var(name).map_err(|_| ReferenceError::Env {
        key,
        name: name.to_owned(),
    })
}

/// The file behind `path`, with links and `..` followed, if it is one of `secrets`.
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
