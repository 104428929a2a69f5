//! Tables for people, JSON for programs.

use super::error::CliError;
use clap::{Args, ValueEnum};
use serde::Serialize;

/// The form of what is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Format {
    /// For people.
    #[default]
    Table,
    /// For programs.
    Json,
}

/// The option that every command but `plan` has.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct Output {
    /// Form of what is printed.
    #[arg(short = 'o', long = "output", value_enum, default_value_t)]
    pub(super) format: Format,
}

impl Output {
    /// True for programs.
    pub(super) fn is_json(self) -> bool {
        self.format == Format::Json
    }

    /// Prints `value` as JSON, or what `text` makes of it.
    pub(super) fn print<T: Serialize>(
        self,
        value: &T,
        text: impl FnOnce(&T) -> String,
    ) -> Result<u8, CliError> {
        if self.is_json() {
            println!("{}", json(value)?);
        } else {
            print!("{}", text(value));
        }
        Ok(0)
    }
}

/// Indented JSON.
pub(super) fn json<T: Serialize>(value: &T) -> Result<String, CliError> {
    serde_json::to_string_pretty(value).map_err(|error| CliError::Usage(error.to_string()))
}

/// Columns as wide as they need to be; the last one is not padded.
pub(super) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let heads = head.iter().map(|text| (*text).to_owned()).collect();
    let lines: Vec<Vec<String>> = std::iter::once(heads).chain(rows.iter().cloned()).collect();
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    lines
        .iter()
        .map(|line| {
            let cells = line.iter().zip(&widths);
            let padded: Vec<String> = cells.map(|(cell, w)| format!("{cell:<w$}")).collect();
            format!("{}\n", padded.join("  ").trim_end())
        })
        .collect()
}

/// The text, or a dash.
pub(super) fn or_dash<T: ToString>(value: Option<&T>) -> String {
    value.map_or_else(|| "-".to_owned(), ToString::to_string)
}
