//! Errors as programs read them: with `-o json` or `-o jsonl` the last line of stderr is one JSON object.

use super::error::{CliError, USAGE};
use super::output::OutputFormat;
use crate::api::{IN_PROGRESS, Problem};
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
            .map_or(Self::Text, |format| format.error_form())
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
        chosen.map_or(Self::Text, OutputFormat::error_form)
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
            code: super::error::INVALID_USAGE.to_owned(),
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
mod tests {
    use super::*;
    use crate::cli::{Cli, command};
    use crate::controller::ControlError;
    use clap::Parser;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_form_of_errors_is_that_of_the_output() {
        for (line, form) in [
            ("shardwright list -o json", ErrorForm::Json),
            ("shardwright list -o jsonl", ErrorForm::Json),
            ("shardwright list -o yaml", ErrorForm::Text),
            ("shardwright list", ErrorForm::Text),
            ("shardwright plan r.yaml -o json", ErrorForm::Text),
            ("shardwright plan r.yaml --output json", ErrorForm::Json),
            (
                "shardwright plan split t --source a --into a --output json",
                ErrorForm::Json,
            ),
            ("shardwright map export t --format json", ErrorForm::Text),
        ] {
            let matches = command().try_get_matches_from(words(line)).unwrap();
            assert_eq!(ErrorForm::of(&matches), form, "{line}");
            assert_eq!(
                ErrorForm::of_refused(&command(), &words(line)),
                form,
                "{line}"
            );
        }
    }

    #[test]
    fn a_refused_command_line_selects_a_form_too() {
        for (line, form) in [
            ("shardwright show -o json", ErrorForm::Json),
            ("shardwright show --nonsense -o=json", ErrorForm::Json),
            ("shardwright shard list --output=jsonl x y", ErrorForm::Json),
            ("shardwright show -ojson", ErrorForm::Json),
            ("shardwright show -o csv", ErrorForm::Text),
            ("shardwright map export -o json", ErrorForm::Text),
        ] {
            assert_eq!(
                ErrorForm::of_refused(&command(), &words(line)),
                form,
                "{line}"
            );
        }
    }

    #[test]
    fn wrong_usage_names_the_argument_and_the_remedy() {
        let error = Cli::try_parse_from(words("shardwright list --limt 3")).unwrap_err();
        let document = serde_json::to_value(ErrorDocument::from(&error)).unwrap();
        assert_eq!(
            document,
            json!({
                "code": "usage.invalid", "message": "unexpected argument '--limt' found",
                "hint": "a similar argument exists: '--limit'", "retry": "none", "exit_code": 64,
                "argument": "--limt",
            })
        );
        let error = Cli::try_parse_from(words("shardwright show")).unwrap_err();
        let document = ErrorDocument::from(&error);
        assert!(document.message.contains("<ID>"), "{document:?}");
        assert!(
            document
                .hint
                .unwrap()
                .starts_with("usage: shardwright show")
        );
    }

    #[test]
    fn a_refusal_of_the_controller_keeps_its_operands() {
        let error = CliError::from(ControlError::missing("shard", "x"));
        let document = serde_json::to_value(ErrorDocument::from(&error)).unwrap();
        assert_eq!(
            document,
            json!({
                "code": "shard.missing", "message": "there is no shard x",
                "hint": "`shardwright shard list` lists those that exist", "retry": "none",
                "exit_code": 3, "status": 404,
            })
        );
    }

    #[test]
    fn the_manual_lists_each_code_of_the_command_line() {
        let manual = include_str!("../../../docs/cli.md");
        let source = include_str!("error.rs");
        let arms = source.split_once("fn code(&self)").unwrap().1;
        let arms = arms.split_once("/// Returns how to fix").unwrap().0;
        let words = arms.split('"').skip(1).step_by(2);
        let codes: Vec<&str> = words.filter(|word| word.contains('.')).collect();
        assert!(codes.len() > 15, "{codes:?}");
        for code in codes.into_iter().chain([crate::cli::error::INVALID_USAGE]) {
            assert!(
                manual.contains(&format!("`{code}`")),
                "docs/cli.md lacks {code}"
            );
        }
    }

    #[test]
    fn an_unknown_outcome_is_to_be_checked() {
        let refused = |code: &str, status| {
            let problem =
                json!({"type": "", "title": "", "status": status, "detail": "", "code": code});
            problem_retry(&serde_json::from_value(problem).unwrap())
        };
        assert_eq!(refused("store.unavailable", 503), CliRetry::Check);
        assert_eq!(refused("controller.no_leader", 503), CliRetry::Later);
        assert_eq!(refused("agent.none", 503), CliRetry::None);
        assert_eq!(refused("plan.refused", 422), CliRetry::None);
        assert_eq!(refused("token.too_often", 429), CliRetry::Later);
        let lost = |sent| CliError::Unreachable {
            url: "http://c".to_owned(),
            reason: String::new(),
            sent,
        };
        assert_eq!(retry(&lost(false)), CliRetry::Later);
        assert_eq!(retry(&lost(true)), CliRetry::Check);
    }
}
