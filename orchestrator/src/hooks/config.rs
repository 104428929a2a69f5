//! The hooks file. It is read and checked completely before the controller starts.

use crate::store::MigrationPhase;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest name of a hook.
const MAX_NAME: usize = 63;

/// All hooks of a file.
#[derive(Debug, Clone, Default)]
pub struct Hooks(Vec<Hook>);

/// A hook: what to call, before or after which phases, and how long to wait.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hook {
    /// The name of the hook.
    pub name: String,
    /// The phases at which the hook is called.
    #[serde(deserialize_with = "read_phases")]
    pub on: BTreeSet<MigrationPhase>,
    /// The URL to which messages are sent by POST.
    #[serde(default, deserialize_with = "read_url")]
    pub url: Option<reqwest::Url>,
    /// A PEM file with the certificate authorities for the URL. If it is missing, those of the system are used.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    /// A reference to the secret with which messages are signed.
    #[serde(default)]
    pub secret: Option<SecretReference>,
    /// The program and its arguments, instead of a URL.
    #[serde(default)]
    pub command: Vec<String>,
    /// The longest wait for one answer, in seconds.
    #[serde(default = "default_timeout_s")]
    pub timeout_s: u32,
    /// After how many calls without an answer the controller reports that the hook does not answer.
    #[serde(default = "default_attempts")]
    pub attempts: u32,
    /// The time until a hook that refused or did not answer is called again, in seconds.
    #[serde(default = "default_again_s")]
    pub again_s: u32,
}

fn default_timeout_s() -> u32 {
    10
}

fn default_attempts() -> u32 {
    3
}

fn default_again_s() -> u32 {
    60
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HookFile {
    hooks: Vec<Hook>,
}

/// Reads a URL. The error does not contain the URL, because it may contain a key.
fn read_url<'de, D: Deserializer<'de>>(from: D) -> Result<Option<reqwest::Url>, D::Error> {
    let text: Option<String> = Option::deserialize(from)?;
    let url = text.map(|text| reqwest::Url::parse(&text)).transpose();
    url.map_err(|error| serde::de::Error::custom(format!("`url` is not a valid URL: {error}")))
}

/// Reads the phases. `all` means every phase after which hooks are notified.
fn read_phases<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeSet<MigrationPhase>, D::Error> {
    let names: Vec<String> = Vec::deserialize(from)?;
    let mut phases = BTreeSet::new();
    for name in names {
        if name == "all" {
            phases.extend(
                MigrationPhase::ALL
                    .into_iter()
                    .filter(|phase| !phase.is_request()),
            );
            continue;
        }
        let phase = MigrationPhase::ALL
            .into_iter()
            .find(|phase| phase.name() == name);
        let known = || MigrationPhase::ALL.map(MigrationPhase::name).join(", ");
        let phase = phase.ok_or_else(|| {
            serde::de::Error::custom(format!(
                "{name} is not a phase; phases are all, {}",
                known()
            ))
        })?;
        phases.insert(phase);
    }
    Ok(phases)
}

/// A reference to a secret: `${file:PATH}` or `${env:NAME}`. The file itself must not contain a secret.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum SecretReference {
    /// A file. One newline at its end is ignored.
    File(PathBuf),
    /// A variable of the controller's environment.
    Env(String),
}

impl TryFrom<String> for SecretReference {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let inside = text.strip_prefix("${").and_then(|t| t.strip_suffix('}'));
        match inside.and_then(|inside| inside.split_once(':')) {
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(path.into())),
            Some(("env", name)) if !name.is_empty() => Ok(Self::Env(name.to_owned())),
            // The text may be the secret itself, so the error does not contain it.
            _ => Err(
                "`secret` must be a reference, ${file:PATH} or ${env:NAME}, and not the secret itself",
            ),
        }
    }
}

impl fmt::Display for SecretReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "${{file:{}}}", path.display()),
            Self::Env(name) => write!(f, "${{env:{name}}}"),
        }
    }
}

impl SecretReference {
    /// Returns the current value of the secret.
    ///
    /// # Errors
    /// The reason as text, without the value.
    pub(super) fn read(&self) -> Result<String, String> {
        let text = match self {
            Self::File(path) => std::fs::read_to_string(path)
                .map_err(|error| format!("{self} could not be read: {error}"))?,
            Self::Env(name) => {
                std::env::var(name).map_err(|_| format!("{self} is not set, or is not text"))?
            }
        };
        let text = text.strip_suffix('\n').unwrap_or(&text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        if text.is_empty() {
            return Err(format!("{self} is empty"));
        }
        Ok(text.to_owned())
    }
}

/// Why a hooks file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HooksError {
    /// The file does not exist, or is not text.
    #[error("could not read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The file is not YAML or JSON of the expected form.
    #[error("{path}: {message}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The message of the parser, with the position.
        message: String,
    },
    /// The file can be read, but its hooks cannot be used, for these reasons.
    #[error("{path}: {}", problems.join("; "))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// All reasons.
        problems: Vec<String>,
    },
}

impl Hooks {
    /// Reads a file and checks all of it: names, URLs, programs and secrets.
    ///
    /// # Errors
    /// A [`HooksError`] with all reasons.
    pub fn read(path: &Path) -> Result<Self, HooksError> {
        let text = std::fs::read_to_string(path).map_err(|source| HooksError::Read {
            path: path.to_owned(),
            source,
        })?;
        let parsed: Result<HookFile, _> = serde_saphyr::from_str(&text);
        let file = parsed.map_err(|error| HooksError::Malformed {
            path: path.to_owned(),
            // A snippet of the file could contain a secret at a place where it does not belong.
            message: error.without_snippet().to_string(),
        })?;
        let mut problems: Vec<String> = file.hooks.iter().flat_map(Hook::problems).collect();
        let mut names = BTreeSet::new();
        let repeated = file.hooks.iter().filter(|hook| !names.insert(&hook.name));
        problems.extend(repeated.map(|hook| format!("there are two hooks {:?}", hook.name)));
        if !problems.is_empty() {
            let path = path.to_owned();
            return Err(HooksError::Invalid { path, problems });
        }
        Ok(Self(file.hooks))
    }

    /// Returns all hooks, in the order of the file.
    pub fn all(&self) -> impl Iterator<Item = &Hook> {
        self.0.iter()
    }

    /// Returns the hook with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Hook> {
        self.0.iter().find(|hook| hook.name == name)
    }

    /// Returns the hooks that are called at a phase, in the order of the file.
    pub fn called_at(&self, phase: MigrationPhase) -> impl Iterator<Item = &Hook> {
        self.0.iter().filter(move |hook| hook.on.contains(&phase))
    }

    /// Returns the hooks that are notified after a phase.
    pub fn notification_hooks(&self) -> impl Iterator<Item = &Hook> {
        let is_notified = |hook: &&Hook| hook.on.iter().any(|phase| !phase.is_request());
        self.0.iter().filter(is_notified)
    }

    /// Returns whether any hook is called before a phase.
    #[must_use]
    pub fn has_hooks_before_phases(&self) -> bool {
        self.0
            .iter()
            .any(|hook| hook.on.iter().any(|p| p.is_request()))
    }
}

impl Hook {
    /// Returns the longest wait for one answer.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_s.into())
    }

    /// Returns everything that prevents the use of the hook.
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut add = |what: String| problems.push(format!("hook {:?}: {what}", self.name));
        let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
        let has_valid_length = (1..=MAX_NAME).contains(&self.name.len());
        if !has_valid_length || !self.name.chars().all(is_allowed) {
            add("its name must have 1 to 63 lower-case letters, digits, '-' or '_'".to_owned());
        }
        if self.on.is_empty() {
            add("`on` names no phase".to_owned());
        }
        if self.url.is_some() != self.command.is_empty() {
            add("it must have either `url` or `command`".to_owned());
        }
        if let Some(url) = &self.url {
            if !matches!(url.scheme(), "http" | "https") {
                add(format!(
                    "its URL has the scheme {}; it must be http or https",
                    url.scheme()
                ));
            }
            if url.password().is_some() {
                add(
                    "its URL contains a password; use `secret`, with which messages are signed"
                        .to_owned(),
                );
            }
            let redirect = reqwest::redirect::Policy::none();
            if let Err(error) = controller_client::client(redirect, self.ca_file.as_deref()) {
                add(error.to_string());
            }
        }
        if let Some(program) = self.command.first()
            && !Path::new(program).is_absolute()
        {
            add(format!("the program {program:?} is not an absolute path"));
        } else if let Some(program) = self.command.first()
            && !Path::new(program).is_file()
        {
            add(format!("the program {program} does not exist"));
        }
        match &self.secret {
            Some(_) if self.url.is_none() => {
                add("`secret` is only for a hook with `url`, whose messages it signs".to_owned())
            }
            Some(reference) => {
                if let Err(why) = reference.read() {
                    add(why);
                }
            }
            None => {}
        }
        for (name, value, maximum) in [
            ("timeout_s", self.timeout_s, 300),
            ("attempts", self.attempts, 20),
            ("again_s", self.again_s, 86_400),
        ] {
            if !(1..=maximum).contains(&value) {
                add(format!("{name} is {value}, not from 1 to {maximum}"));
            }
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Hooks, String> {
        let path = std::env::temp_dir().join(format!("hooks-{}", uuid::Uuid::new_v4()));
        std::fs::write(&path, text).unwrap();
        let read = Hooks::read(&path).map_err(|error| error.to_string());
        std::fs::remove_file(&path).unwrap();
        read
    }

    #[test]
    fn a_file_is_read_with_its_defaults() {
        let hooks = read("hooks:\n- {name: a, on: [before_cutover], command: [/bin/true]}\n- {name: b, on: [all], url: 'https://x.example/y'}\n").unwrap();
        assert!(hooks.has_hooks_before_phases());
        assert_eq!(hooks.called_at(MigrationPhase::BeforeCutover).count(), 1);
        let notified: Vec<&str> = hooks.notification_hooks().map(|hook| &*hook.name).collect();
        assert_eq!(notified, ["b"]);
        let b = hooks.get("b").unwrap();
        assert_eq!((b.timeout_s, b.attempts, b.again_s), (10, 3, 60));
        assert!(
            b.on.contains(&MigrationPhase::Completed)
                && !b.on.contains(&MigrationPhase::BeforeCopy)
        );
    }

    #[test]
    fn all_problems_are_reported_at_once_and_no_secret_is_repeated() {
        let parsed = read("hooks:\n- {name: A b, on: [], command: [true]}\n- {name: c, on: [failed], url: 'ftp://x', command: [/bin/true], attempts: 0}\n- {name: c, on: [failed], url: 'http://x', secret: '${env:NO_SUCH_SECRET}'}\n").unwrap_err();
        for part in [
            "its name must have",
            "names no phase",
            "not an absolute path",
            "either `url` or `command`",
            "has the scheme ftp",
            "attempts is 0",
            "two hooks \"c\"",
            "${env:NO_SUCH_SECRET} is not set",
        ] {
            assert!(parsed.contains(part), "{part}: {parsed}");
        }
        let parsed = read("hooks:\n- {name: c, on: [failed], url: 'http://x', secret: hunter2}\n");
        let parsed = parsed.unwrap_err();
        assert!(
            parsed.contains("${file:PATH}") && !parsed.contains("hunter2"),
            "{parsed}"
        );
        let parsed =
            read("hooks:\n- {name: c, on: [befor_cutover], url: 'http://x'}\n").unwrap_err();
        assert!(parsed.contains("before_cutover"), "{parsed}");
    }
}
