//! Where the controller is, and which token is shown to it: flags, the environment, a context of the config file, defaults; in that order,
//! but a context that is named on the command line goes before the environment.

use super::error::CliError;
use crate::cli::out::report;
use clap::Args;
use controller_client::Identity;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where a controller listens by default.
const DEFAULT: &str = "http://127.0.0.1:7432";
const CONTROLLER: &str = "SHARDWRIGHT_CONTROLLER";
const TOKEN_FILE: &str = "SHARDWRIGHT_TOKEN_FILE";
const CA_FILE: &str = "SHARDWRIGHT_CA_FILE";
const CONTEXT: &str = "SHARDWRIGHT_CONTEXT";

/// The options by which a controller is found.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Options {
    /// Where the controller is; of several, separated by commas, whichever leads is found. Without it
    /// `SHARDWRIGHT_CONTROLLER`, then the context, then `http://127.0.0.1:7432`.
    #[arg(long, global = true, help_heading = "Controller", value_name = "URL")]
    controller: Option<String>,
    /// The file of your token, where the controller requires one; also `SHARDWRIGHT_TOKEN_FILE`.
    #[arg(long, global = true, help_heading = "Controller", value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// PEM file of the authorities that vouch for the controller; without it those of the system; also
    /// `SHARDWRIGHT_CA_FILE`.
    #[arg(long, global = true, help_heading = "Controller", value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// The context of the config file to use, whatever the environment has; also `SHARDWRIGHT_CONTEXT`.
    #[arg(long, global = true, help_heading = "Controller", value_name = "NAME")]
    context: Option<String>,
    /// Key of the command: with the same key it is answered as before and not carried out again; random without it.
    #[arg(long, global = true, help_heading = "Controller", value_name = "KEY")]
    pub(super) idempotency_key: Option<String>,
}

/// A controller that has a name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NamedController {
    /// Its addresses, separated by commas.
    pub(super) controller: String,
    /// The file of the token; the token itself is never kept here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) token_file: Option<PathBuf>,
    /// The authorities that vouch for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ca_file: Option<PathBuf>,
}

/// The config file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    /// The context that is used where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) current: Option<String>,
    /// By name.
    #[serde(default)]
    pub(super) contexts: BTreeMap<String, NamedController>,
}

/// A setting, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Setting {
    /// Its name.
    pub(super) name: &'static str,
    /// What it is; none: it is not set.
    pub(super) value: Option<String>,
    /// flag, environment, context, or default.
    pub(super) origin: String,
}

impl Config {
    /// Where the file is: `SHARDWRIGHT_CONFIG`, or in the user's folder of settings.
    pub(super) fn path() -> Option<PathBuf> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        if let Some(path) = set("SHARDWRIGHT_CONFIG") {
            return Some(path.into());
        }
        let folder = set("XDG_CONFIG_HOME").map(PathBuf::from);
        let folder = folder.or_else(|| set("HOME").map(|home| Path::new(&home).join(".config")));
        folder.map(|folder| folder.join("shardwright/config.yaml"))
    }

    /// The file; one that is not there is empty.
    ///
    /// # Errors
    /// A file that cannot be read or understood, with the place.
    pub(super) fn read() -> Result<Self, CliError> {
        let Some(path) = Self::path() else {
            return Ok(Self::default());
        };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => {
                let action = "read";
                return Err(CliError::File {
                    action,
                    path,
                    source,
                });
            }
        };
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        serde_saphyr::from_str(&text).map_err(|error| {
            let shown = path.display();
            CliError::Usage(format!("the config file {shown} cannot be read: {error}"))
        })
    }

    /// Writes the file, which its owner alone may read; what was there is replaced as a whole.
    ///
    /// # Errors
    /// A folder or file that cannot be written.
    pub(super) fn write(&self) -> Result<PathBuf, CliError> {
        let path = Self::path().ok_or_else(|| {
            CliError::Usage(
                "there is no place for a config file: set SHARDWRIGHT_CONFIG".to_owned(),
            )
        })?;
        let text = super::files::yaml(self)?;
        let replacement = path.with_extension("new");
        let written = path
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&replacement, text))
            .and_then(|()| std::fs::set_permissions(&replacement, PermissionsExt::from_mode(0o600)))
            .and_then(|()| std::fs::rename(&replacement, &path));
        match written {
            Ok(()) => Ok(path),
            Err(source) => Err(CliError::File {
                action: "write",
                path,
                source,
            }),
        }
    }

    /// The context called `name`.
    ///
    /// # Errors
    /// None has the name; those that are there are named.
    pub(super) fn context(&self, name: &str) -> Result<&NamedController, CliError> {
        self.contexts.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.contexts.keys().map(String::as_str).collect();
            let known = match known.as_slice() {
                [] => "there is none yet: shardwright context set NAME --controller URL".to_owned(),
                known => format!("there are {}", known.join(", ")),
            };
            CliError::NotFound(format!("there is no context {name}; {known}"))
        })
    }
}

impl Options {
    /// What a context of these options would be; the options that were given replace what `before` has.
    pub(super) fn context_over(
        &self,
        before: Option<&NamedController>,
    ) -> Result<NamedController, CliError> {
        let before = before.cloned();
        let controller = self.controller.clone();
        let controller = controller.or_else(|| before.as_ref().map(|b| b.controller.clone()));
        let missing = || CliError::Usage("a new context takes --controller URL".to_owned());
        let of = |option: &Option<PathBuf>, kept: Option<PathBuf>| option.clone().or(kept);
        Ok(NamedController {
            controller: controller.ok_or_else(missing)?,
            token_file: of(
                &self.token_file,
                before.as_ref().and_then(|b| b.token_file.clone()),
            ),
            ca_file: of(&self.ca_file, before.and_then(|b| b.ca_file)),
        })
    }

    /// Where the controller is, what is shown to it, and what vouches for it, each with its origin.
    ///
    /// # Errors
    /// A config file that cannot be read, or a context that is not there.
    pub(super) fn settings(&self) -> Result<[Setting; 3], CliError> {
        let config = Config::read()?;
        let environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let named = self.context.clone();
        let chosen = named
            .clone()
            .or_else(|| environment(CONTEXT))
            .or_else(|| config.current.clone());
        let context = chosen.as_deref().map(|name| config.context(name));
        let context = context.transpose()?;
        let shown = |path: &PathBuf| path.display().to_string();
        let of_context = |value: Option<String>| {
            value.map(|value| {
                (
                    value,
                    format!("context {}", chosen.as_deref().unwrap_or("-")),
                )
            })
        };
        let setting = |name,
                       option: &str,
                       variable: &str,
                       flag: Option<String>,
                       of_file,
                       default: Option<&str>| {
            let flag = flag.map(|value| (value, format!("flag --{option}")));
            let variable =
                environment(variable).map(|value| (value, format!("environment {variable}")));
            let of_file = of_context(of_file);
            let found = match named {
                Some(_) => flag.or(of_file).or(variable),
                None => flag.or(variable).or(of_file),
            };
            let default = default.map(str::to_owned);
            let (value, origin) = match found {
                Some((value, origin)) => (Some(value), origin),
                None => (default, "default".to_owned()),
            };
            Setting {
                name,
                value,
                origin,
            }
        };
        let controller = setting(
            "controller",
            "controller",
            CONTROLLER,
            self.controller.clone(),
            context.map(|c| c.controller.clone()),
            Some(DEFAULT),
        );
        // The token of a context is for its own controller alone.
        let context = context.filter(|_| controller.origin.starts_with("context "));
        let token_file = setting(
            "token_file",
            "token-file",
            TOKEN_FILE,
            self.token_file.as_ref().map(shown),
            context.and_then(|c| c.token_file.as_ref().map(shown)),
            None,
        );
        let ca_file = setting(
            "ca_file",
            "ca-file",
            CA_FILE,
            self.ca_file.as_ref().map(shown),
            context.and_then(|c| c.ca_file.as_ref().map(shown)),
            None,
        );
        Ok([controller, token_file, ca_file])
    }

    /// The controller's addresses, and what is shown to it.
    ///
    /// # Errors
    /// As [`Options::settings`].
    pub(super) fn resolve(&self) -> Result<(String, Identity), CliError> {
        let [controller, token_file, ca_file] = self.settings()?;
        let token_file = token_file.value.map(PathBuf::from);
        if let Some(path) = &token_file {
            warn_of_readers(path);
        }
        let identity = Identity {
            token_file,
            ca_file: ca_file.value.map(PathBuf::from),
        };
        Ok((
            controller.value.unwrap_or_else(|| DEFAULT.to_owned()),
            identity,
        ))
    }
}

/// A token that others of this machine can read is theirs too.
fn warn_of_readers(path: &Path) {
    let mode = std::fs::metadata(path).map(|found| found.permissions().mode());
    if mode.is_ok_and(|mode| mode & 0o044 != 0) {
        let shown = path.display();
        report!("warning: other accounts can read the token in {shown}; chmod 600 {shown}");
    }
}
