//! Determines the controller, the token file and the CA file. Each setting comes from the first of these that has it:
//! flags, the environment, a context of the config file, the default. A context that is named on the command line has
//! precedence over the environment.

use super::error::CliError;
use crate::cli::out::report;
use clap::Args;
use controller_client::Identity;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The URL of a controller with default settings.
const DEFAULT_URL: &str = "http://127.0.0.1:7432";
const CONTROLLER_VARIABLE: &str = "SHARDWRIGHT_CONTROLLER";
const TOKEN_FILE_VARIABLE: &str = "SHARDWRIGHT_TOKEN_FILE";
const CA_FILE_VARIABLE: &str = "SHARDWRIGHT_CA_FILE";
const CONTEXT_VARIABLE: &str = "SHARDWRIGHT_CONTEXT";

/// The options that select the controller.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Options {
    /// The URL of the controller; with several, separated by commas, the leader is found. The default is that of
    /// `SHARDWRIGHT_CONTROLLER`, else of the context, else `http://127.0.0.1:7432`.
    #[arg(long, global = true, help_heading = "Controller", value_name = "URL")]
    controller: Option<String>,
    /// The file with your token, if the controller requires one; also `SHARDWRIGHT_TOKEN_FILE`.
    #[arg(long, global = true, help_heading = "Controller", value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The PEM file with the certificate authorities for the controller's certificate; by default those of the system;
    /// also `SHARDWRIGHT_CA_FILE`.
    #[arg(long, global = true, help_heading = "Controller", value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// The context of the config file. It has precedence over the environment; also `SHARDWRIGHT_CONTEXT`.
    #[arg(long, global = true, help_heading = "Controller", value_name = "NAME")]
    context: Option<String>,
    /// The idempotency key. A command that is sent again with the same key gets the earlier answer and is not carried
    /// out again. By default the key is random.
    #[arg(long, global = true, help_heading = "Controller", value_name = "KEY")]
    pub(super) idempotency_key: Option<String>,
}

/// A context: the settings for a controller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NamedController {
    /// The URLs of the controllers, separated by commas.
    pub(super) controller: String,
    /// The file with the token. The config file does not contain the token itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) token_file: Option<PathBuf>,
    /// The file with the certificate authorities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ca_file: Option<PathBuf>,
}

/// The config file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    /// The context that is used if none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) current: Option<String>,
    /// The contexts, by name.
    #[serde(default)]
    pub(super) contexts: BTreeMap<String, NamedController>,
}

/// A setting, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Setting {
    /// The name of the setting.
    pub(super) name: &'static str,
    /// The value; `None`: the setting has none.
    pub(super) value: Option<String>,
    /// Where the value comes from: a flag, a variable of the environment, a context, or `default`.
    pub(super) origin: String,
}

impl Config {
    /// Returns the path of the file: `SHARDWRIGHT_CONFIG`, or a file in the user's config folder.
    pub(super) fn path() -> Option<PathBuf> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        if let Some(path) = set("SHARDWRIGHT_CONFIG") {
            return Some(path.into());
        }
        let folder = set("XDG_CONFIG_HOME").map(PathBuf::from);
        let folder = folder.or_else(|| set("HOME").map(|home| Path::new(&home).join(".config")));
        folder.map(|folder| folder.join("shardwright/config.yaml"))
    }

    /// Reads the file. If it does not exist, the config is empty.
    ///
    /// # Errors
    /// The file cannot be read or parsed. The error has the position.
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

    /// Replaces the file atomically. Only its owner can read it.
    ///
    /// # Errors
    /// The folder or the file cannot be written.
    pub(super) fn write(&self) -> Result<PathBuf, CliError> {
        let path = Self::path().ok_or_else(|| {
            CliError::Usage(
                "no folder for the config file is known: set SHARDWRIGHT_CONFIG".to_owned(),
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

    /// Returns the context with this name.
    ///
    /// # Errors
    /// No context has this name. The error lists the names that exist.
    pub(super) fn context(&self, name: &str) -> Result<&NamedController, CliError> {
        self.contexts.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.contexts.keys().map(String::as_str).collect();
            let known = match known.as_slice() {
                [] => "there are no contexts yet: shardwright context set NAME --controller URL"
                    .to_owned(),
                known => format!("the contexts are {}", known.join(", ")),
            };
            CliError::NotFound(format!("there is no context {name}; {known}"))
        })
    }
}

impl Options {
    /// Returns a context with the values of these options, and with those of `before` for options that were not given.
    pub(super) fn updated_context(
        &self,
        before: Option<&NamedController>,
    ) -> Result<NamedController, CliError> {
        let before = before.cloned();
        let controller = self.controller.clone();
        let controller = controller.or_else(|| before.as_ref().map(|b| b.controller.clone()));
        let missing = || CliError::Usage("a new context needs --controller URL".to_owned());
        let merged =
            |option: &Option<PathBuf>, previous: Option<PathBuf>| option.clone().or(previous);
        Ok(NamedController {
            controller: controller.ok_or_else(missing)?,
            token_file: merged(
                &self.token_file,
                before.as_ref().and_then(|b| b.token_file.clone()),
            ),
            ca_file: merged(&self.ca_file, before.and_then(|b| b.ca_file)),
        })
    }

    /// Returns the URLs of the controllers, the token file and the CA file, each with its origin.
    ///
    /// # Errors
    /// The config file cannot be read, or a context does not exist.
    pub(super) fn settings(&self) -> Result<[Setting; 3], CliError> {
        let config = Config::read()?;
        let environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let named = self.context.clone();
        let chosen = named
            .clone()
            .or_else(|| environment(CONTEXT_VARIABLE))
            .or_else(|| config.current.clone());
        let context = chosen.as_deref().map(|name| config.context(name));
        let context = context.transpose()?;
        let path_text = |path: &PathBuf| path.display().to_string();
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
            let configured = match named {
                Some(_) => flag.or(of_file).or(variable),
                None => flag.or(variable).or(of_file),
            };
            let default = default.map(str::to_owned);
            let (value, origin) = match configured {
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
            CONTROLLER_VARIABLE,
            self.controller.clone(),
            context.map(|c| c.controller.clone()),
            Some(DEFAULT_URL),
        );
        // The token of a context must be sent only to the controller of this context.
        let context = context.filter(|_| controller.origin.starts_with("context "));
        let token_file = setting(
            "token_file",
            "token-file",
            TOKEN_FILE_VARIABLE,
            self.token_file.as_ref().map(path_text),
            context.and_then(|c| c.token_file.as_ref().map(path_text)),
            None,
        );
        let ca_file = setting(
            "ca_file",
            "ca-file",
            CA_FILE_VARIABLE,
            self.ca_file.as_ref().map(path_text),
            context.and_then(|c| c.ca_file.as_ref().map(path_text)),
            None,
        );
        Ok([controller, token_file, ca_file])
    }

    /// Returns the URLs of the controllers, and the token and the authorities to use.
    ///
    /// # Errors
    /// The errors of [`Options::settings`].
    pub(super) fn resolve(&self) -> Result<(String, Identity), CliError> {
        let (controller, identity) = self.resolve_silently()?;
        if let Some(path) = &identity.token_file {
            warn_if_others_can_read(path);
        }
        Ok((controller, identity))
    }

    /// Does the same as [`Options::resolve`] without a warning about the token file.
    ///
    /// # Errors
    /// The errors of [`Options::settings`].
    pub(super) fn resolve_silently(&self) -> Result<(String, Identity), CliError> {
        let [controller, token_file, ca_file] = self.settings()?;
        let identity = Identity {
            token_file: token_file.value.map(PathBuf::from),
            ca_file: ca_file.value.map(PathBuf::from),
        };
        Ok((
            controller.value.unwrap_or_else(|| DEFAULT_URL.to_owned()),
            identity,
        ))
    }
}

/// Prints a warning if other accounts can read the token file.
fn warn_if_others_can_read(path: &Path) {
    let mode = std::fs::metadata(path).map(|found| found.permissions().mode());
    if mode.is_ok_and(|mode| mode & 0o044 != 0) {
        let shown = path.display();
        report!("warning: other accounts can read the token in {shown}; run chmod 600 {shown}");
    }
}
