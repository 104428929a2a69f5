//! The output formats: tables for users; JSON, JSON lines and YAML for programs; names for scripts.
//!
//! This file prints data to stdout. Messages go to stderr and are printed elsewhere. Only text for people has colours.

mod styled;
mod table;

pub(super) use styled::StyledText;
pub(super) use table::{TextTable, or_dash, table};

use super::error::CliError;
use super::files::yaml;
use crate::cli::out::{escape_control, report};
use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::Value;

/// The environment variable with the output format. The option `-o` has precedence over it.
const VARIABLE: &str = "SHARDWRIGHT_OUTPUT";

/// The output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum OutputFormat {
    /// For people.
    #[default]
    Table,
    /// For people, with every column.
    Wide,
    /// One document of JSON.
    Json,
    /// A line of JSON for each object.
    Jsonl,
    /// One document of YAML.
    Yaml,
    /// The name or the id of each object, one per line.
    Name,
}

impl OutputFormat {
    /// Returns the format with this name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::from_str(name, false).ok()
    }
}

/// The options of every command that prints data.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct Output {
    /// The output format.
    #[arg(short = 'o', long = "output", value_enum, default_value_t, env = VARIABLE)]
    format: OutputFormat,
    /// Print a list's table without its header.
    #[arg(long)]
    no_headers: bool,
}

/// The output option of a command whose `-o` names a file.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct LongOutput {
    /// The output format.
    #[arg(long = "output", value_enum, default_value_t, env = VARIABLE)]
    format: OutputFormat,
}

impl From<LongOutput> for Output {
    fn from(long: LongOutput) -> Self {
        Self {
            format: long.format,
            no_headers: false,
        }
    }
}

/// The output for users.
#[derive(Debug)]
pub(super) enum Text {
    /// A table. The options determine its columns, and whether it has a header.
    List(TextTable),
    /// Any other text.
    Prose(StyledText),
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::Prose(text.into())
    }
}

impl From<StyledText> for Text {
    fn from(text: StyledText) -> Self {
        Self::Prose(text)
    }
}

impl From<TextTable> for Text {
    fn from(table: TextTable) -> Self {
        Self::List(table)
    }
}

impl Output {
    /// Returns true if the format is for programs.
    pub(super) fn is_for_programs(self) -> bool {
        !matches!(self.format, OutputFormat::Table | OutputFormat::Wide)
    }

    /// Returns true if all columns and details are requested.
    pub(super) fn is_wide(self) -> bool {
        self.format == OutputFormat::Wide
    }

    /// Prints `value` in the output format. For users it prints the result of `text`.
    pub(super) fn print<T: Serialize, X: Into<Text>>(
        self,
        value: &T,
        text: impl FnOnce(&T) -> X,
    ) -> Result<u8, CliError> {
        let printed = self.render(value, text)?;
        if printed.is_empty() && self.format == OutputFormat::Name && !elements(value)?.is_empty() {
            report!("these objects have no name: choose another format with -o");
        }
        self.write(&printed);
        Ok(0)
    }

    /// Prints a text that [`Output::render_change`] returned. Only text for people can have colours.
    pub(super) fn write(self, text: &str) {
        match self.is_for_programs() {
            true => super::out::print(text),
            false => super::out::print_styled(text),
        }
    }

    /// Returns the text for one of a series of values, in the output format. In JSON it is a single line.
    pub(super) fn render_change<T: Serialize, X: Into<Text>>(
        self,
        value: &T,
        text: impl FnOnce(&T) -> X,
    ) -> Result<String, CliError> {
        match self.format {
            OutputFormat::Json | OutputFormat::Jsonl => json_line(value),
            OutputFormat::Yaml => Ok(format!("---\n{}", yaml(value)?)),
            OutputFormat::Table | OutputFormat::Wide | OutputFormat::Name => {
                self.render(value, text)
            }
        }
    }

    /// Returns the text for `value` in the output format.
    fn render<T: Serialize, X: Into<Text>>(
        self,
        value: &T,
        text: impl FnOnce(&T) -> X,
    ) -> Result<String, CliError> {
        match self.format {
            OutputFormat::Table | OutputFormat::Wide => {
                let text = match text(value).into() {
                    Text::Prose(text) => text,
                    Text::List(table) => table.text(!self.no_headers, self.is_wide()),
                };
                Ok(text.as_str().to_owned())
            }
            OutputFormat::Json => Ok(json(value)? + "\n"),
            OutputFormat::Jsonl => elements(value)?.iter().map(json_line).collect(),
            OutputFormat::Yaml => yaml(value),
            OutputFormat::Name => {
                let elements = elements(value)?;
                let names = elements.iter().filter_map(object_name);
                Ok(names
                    .map(|n| escape_control(&n).into_owned() + "\n")
                    .collect())
            }
        }
    }
}

/// Returns the name or id of an object: the value of the first of these fields that it has, or the name of its
/// migration or operation.
fn object_name(object: &Value) -> Option<String> {
    for field in ["id", "name", "map", "version", "shard", "object"] {
        match &object[field] {
            Value::String(name) => return Some(name.clone()),
            Value::Number(number) => return Some(number.to_string()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {}
        }
    }
    let inner = ["migration", "operation"].map(|field| &object[field]);
    inner
        .into_iter()
        .find(|inner| inner.is_object())
        .and_then(object_name)
}

/// Returns the elements of a list, or a list with the value if it is not a list.
fn elements<T: Serialize>(value: &T) -> Result<Vec<Value>, CliError> {
    let tree = serde_json::to_value(value).map_err(|error| CliError::Usage(error.to_string()))?;
    Ok(if let Value::Array(all) = tree {
        all
    } else {
        vec![tree]
    })
}

/// Returns one line of JSON.
fn json_line<T: Serialize>(value: &T) -> Result<String, CliError> {
    let line = serde_json::to_string(value).map_err(|error| CliError::Usage(error.to_string()))?;
    Ok(line + "\n")
}

/// Returns indented JSON.
pub(super) fn json<T: Serialize>(value: &T) -> Result<String, CliError> {
    serde_json::to_string_pretty(value).map_err(|error| CliError::Usage(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rendered(format: OutputFormat, no_headers: bool, value: &Value) -> String {
        let output = Output { format, no_headers };
        let text = |value: &Value| {
            let rows = value.as_array().into_iter().flatten();
            let rows =
                rows.map(|v| vec![object_name(v).unwrap_or_default(), v["mode"].to_string()]);
            TextTable::new(&["NAME", "MODE"], rows.collect()).wide(1)
        };
        output.render(value, text).unwrap()
    }

    #[test]
    fn every_format_has_the_same_content() {
        let list = json!([{"name": "a", "mode": 1}, {"id": "m1", "mode": 2}]);
        for (format, no_headers, expected) in [
            (OutputFormat::Table, false, "NAME\na\nm1\n"),
            (OutputFormat::Table, true, "a\nm1\n"),
            (OutputFormat::Wide, false, "NAME  MODE\na     1\nm1    2\n"),
            (
                OutputFormat::Jsonl,
                false,
                "{\"mode\":1,\"name\":\"a\"}\n{\"id\":\"m1\",\"mode\":2}\n",
            ),
            (OutputFormat::Name, false, "a\nm1\n"),
        ] {
            assert_eq!(rendered(format, no_headers, &list), expected, "{format:?}");
        }
        let read: Value =
            serde_json::from_str(&rendered(OutputFormat::Json, false, &list)).unwrap();
        assert_eq!(read, list);
        let read: Value =
            serde_saphyr::from_str(&rendered(OutputFormat::Yaml, false, &list)).unwrap();
        assert_eq!(read, list);
    }

    #[test]
    fn each_change_is_a_line() {
        let value = json!({"id": "m1", "state": "running"});
        let render = |format| {
            let output = Output {
                format,
                no_headers: false,
            };
            output
                .render_change(&value, |_| "m1 running\n".to_owned())
                .unwrap()
        };
        assert_eq!(render(OutputFormat::Table), "m1 running\n");
        assert_eq!(render(OutputFormat::Json), render(OutputFormat::Jsonl));
        assert_eq!(render(OutputFormat::Jsonl).lines().count(), 1);
        assert_eq!(render(OutputFormat::Name), "m1\n");
        assert!(render(OutputFormat::Yaml).starts_with("---\n"));
    }

    #[test]
    fn the_name_of_a_report_is_that_of_its_migration() {
        let report = json!({"migration": {"id": "m1"}, "events": []});
        assert_eq!(object_name(&report).as_deref(), Some("m1"));
        assert_eq!(object_name(&json!({"operation": "split"})), None);
    }
}
