//! Errors as programs read them: with `-o json` or `-o jsonl` the last line of stderr is one JSON object.

use super::error::{CliError, INVALID_USAGE, USAGE};
use super::output::OutputFormat;
use crate::api::{IN_PROGRESS, Problem};
use crate::cli::out::report;
use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, Command};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// How the command reports an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ErrorForm {
    /// As text, for people.
    #[default]
    Text,
    /// As one JSON object, for programs.
    Json,
}

/// Whether the same command can succeed if it is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CliRetry {
    /// Not before something is fixed.
    None,
    /// Later, without a fix. Nothing was carried out.
    Later,
    /// The outcome is unknown: read the state first.
    Check,
}

/// An error as a JSON object.
#[derive(Debug, Serialize)]
pub(super) struct ErrorDocument {
    pub(super) code: String,
    pub(super) message: String,
    pub(super) hint: Option<String>,
    pub(super) retry: CliRetry,
    pub(super) exit_code: u8,
    /// The objects of the error, for example `path`, `findings` or `status`.
    #[serde(flatten)]
    pub(super) operands: Map<String, Value>,
}

impl ErrorForm {
    /// Returns how errors are reported beside data of this format.
    fn beside(format: OutputFormat) -> Self {
        match format {
            OutputFormat::Json | OutputFormat::Jsonl => Self::Json,
            OutputFormat::Table | OutputFormat::Wide | OutputFormat::Yaml | OutputFormat::Name => {
                Self::Text
            }
        }
    }

    /// Returns the form that the options of a command line select.
    pub(super) fn of(matches: &ArgMatches) -> Self {
        let mut matches = matches;
        while let Some((_, inner)) = matches.subcommand() {
            matches = inner;
        }
        // Some commands have an argument of this name with another type.
        let format = matches.try_get_one::<OutputFormat>("format");
        format
            .ok()
            .flatten()
            .map_or(Self::Text, |format| Self::beside(*format))
    }

    /// Returns the form that a command line selects that clap refused, and therefore has no values.
    pub(super) fn of_refused(command: &Command, words: &[String]) -> Self {
        let mut command = command;
        for word in words {
            command = command.find_subcommand(word).unwrap_or(command);
        }
        let mut arguments = command.get_arguments();
        let Some(format) = arguments.find(|arg| arg.get_long() == Some("output")) else {
            return Self::Text;
        };
        let chosen = value_of(words, "--output").or_else(|| {
            let short = format.get_short().map(|short| format!("-{short}"))?;
            value_of(words, &short)
        });
        let chosen = chosen.or_else(|| std::env::var(format.get_env()?).ok());
        let chosen = chosen.and_then(|name| OutputFormat::parse(&name));
        chosen.map_or(Self::Text, Self::beside)
    }
}

impl CliError {
    /// Prints the error, its findings, and how to fix them.
    pub fn report(&self, form: ErrorForm) {
        match form {
            ErrorForm::Text => self.report_text(),
            ErrorForm::Json => report_document(&ErrorDocument::from(self)),
        }
    }
}

/// An error of clap: wrong usage, or the request for help or the version.
#[derive(Debug)]
pub struct UsageError {
    pub(super) error: Box<clap::Error>,
    pub(super) form: ErrorForm,
}

impl UsageError {
    /// Prints the error, or the help, and returns the exit code.
    pub fn report(&self) -> u8 {
        if !self.error.use_stderr() || self.form == ErrorForm::Text {
            // If this fails, the stream is closed, and nothing can be reported.
            let _ = self.error.print();
        } else {
            report_document(&ErrorDocument::from(&*self.error));
        }
        if self.error.use_stderr() { USAGE } else { 0 }
    }
}

/// Prints an error on one line of JSON.
fn report_document(document: &ErrorDocument) {
    match serde_json::to_string(document) {
        Ok(line) => report!("{line}"),
        Err(error) => report!("error: {} ({error})", document.message),
    }
}

/// Returns the value of an option in words that clap could not parse.
pub(super) fn value_of(words: &[String], option: &str) -> Option<String> {
    let is_long = option.starts_with("--");
    words.iter().enumerate().find_map(|(index, word)| {
        let rest = word.strip_prefix(option)?;
        match (rest, is_long) {
            ("", _) => words.get(index + 1).cloned(),
            (rest, true) => rest.strip_prefix('=').map(str::to_owned),
            (rest, false) => Some(rest.strip_prefix('=').unwrap_or(rest).to_owned()),
        }
    })
}

impl From<&CliError> for ErrorDocument {
    fn from(error: &CliError) -> Self {
        Self {
            code: error.code().to_owned(),
            message: error.to_string(),
            hint: error.hint(),
            retry: retry(error),
            exit_code: error.exit_code(),
            operands: operands(error),
        }
    }
}

impl From<&clap::Error> for ErrorDocument {
    fn from(error: &clap::Error) -> Self {
        let rendered = error.render().to_string();
        let mut parts = rendered.split("\n\n");
        let first = parts.next().unwrap_or_default();
        let message = first.strip_prefix("error: ").unwrap_or(first);
        let tips = rendered
            .lines()
            .filter_map(|line| line.trim().strip_prefix("tip: "));
        let tips: Vec<&str> = tips.collect();
        let usage = rendered
            .lines()
            .find_map(|line| line.strip_prefix("Usage: "));
        let usage = usage.map(|usage| format!("usage: {usage}"));
        let text = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(json!(text)),
            Some(ContextValue::Strings(texts)) => Some(json!(texts)),
            _ => None,
        };
        let operands = [
            ("argument", text(ContextKind::InvalidArg)),
            ("value", text(ContextKind::InvalidValue)),
            ("subcommand", text(ContextKind::InvalidSubcommand)),
        ];
        let operands = operands
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Self {
            code: INVALID_USAGE.to_owned(),
            message: message.split_whitespace().collect::<Vec<_>>().join(" "),
            hint: match tips.is_empty() {
                true => usage,
                false => Some(tips.join("; ")),
            },
            retry: CliRetry::None,
            exit_code: USAGE,
            operands: operands.collect(),
        }
    }
}

/// Returns the objects of an error.
fn operands(error: &CliError) -> Map<String, Value> {
    let value = match error {
        CliError::Problem(problem) => return problem_operands(problem),
        CliError::Unreachable { url, .. } | CliError::Answer { url, .. } => json!({ "url": url }),
        CliError::File { path, .. } => json!({ "path": path }),
        CliError::External { program, .. } => json!({ "program": program }),
        CliError::OtherDocument {
            path,
            found,
            wanted,
        } => {
            json!({ "path": path, "found": found.to_string(), "wanted": wanted.to_string() })
        }
        CliError::Timeout {
            id, state, wanted, ..
        } => json!({ "id": id, "state": state, "wanted": wanted }),
        CliError::Ended { id, state, .. } => json!({ "id": id, "state": state }),
        CliError::ClientSetup(_)
        | CliError::Usage(_)
        | CliError::NotFound(_)
        | CliError::Refused(_)
        | CliError::Cluster(_)
        | CliError::Store(_)
        | CliError::Serve(_)
        | CliError::Hooks(_)
        | CliError::Hook(_)
        | CliError::FailPoint(_)
        | CliError::Adopt(_)
        | CliError::Io(_) => Value::Null,
    };
    match value {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}

/// Returns what the controller's answer has besides code, detail and hint.
fn problem_operands(problem: &Problem) -> Map<String, Value> {
    let fields = match serde_json::to_value(problem) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => Map::new(),
    };
    let is_operand =
        |name: &String| ["status", "line", "column", "checks", "findings"].contains(&name.as_str());
    fields
        .into_iter()
        .filter(|(name, _)| is_operand(name))
        .collect()
}

/// Returns whether the same command can succeed if it is sent again.
fn retry(error: &CliError) -> CliRetry {
    match error {
        CliError::Problem(problem) => problem_retry(problem),
        CliError::Unreachable { sent: false, .. } | CliError::Timeout { .. } => CliRetry::Later,
        CliError::Unreachable { sent: true, .. } | CliError::Answer { .. } => CliRetry::Check,
        CliError::ClientSetup(_)
        | CliError::File { .. }
        | CliError::OtherDocument { .. }
        | CliError::Usage(_)
        | CliError::NotFound(_)
        | CliError::Refused(_)
        | CliError::Ended { .. }
        | CliError::Cluster(_)
        | CliError::Store(_)
        | CliError::Serve(_)
        | CliError::Hooks(_)
        | CliError::Hook(_)
        | CliError::FailPoint(_)
        | CliError::External { .. }
        | CliError::Adopt(_)
        | CliError::Io(_) => CliRetry::None,
    }
}

/// Returns whether a request that the controller refused can succeed if it is sent again. The codes that are named here
/// say it; the others follow from the status.
fn problem_retry(problem: &Problem) -> CliRetry {
    match (problem.code.as_str(), problem.status) {
        (
            "controller.leader_lost"
            | "store.unavailable"
            | "idempotency.unknown"
            | "controller.panicked",
            _,
        ) => CliRetry::Check,
        (IN_PROGRESS | "keys.moving" | "map.busy" | "agent.alive", _) => CliRetry::Later,
        ("audit.unavailable" | "agent.none" | "shard.unidentified", _) => CliRetry::None,
        (_, 408 | 421 | 429 | 503 | 504) => CliRetry::Later,
        (_, _) => CliRetry::None,
    }
}

#[cfg(test)]
mod tests;
