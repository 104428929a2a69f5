//! Text for people, in which some words have a colour.
//!
//! Text from elsewhere is escaped when it is added, so the only control sequences are those of the tones. Printing
//! removes these too, unless the stream is a terminal or the user wants colours (`out::print_styled`).

use super::TextTable;
use crate::cli::out::escape_control;
use crate::view::Tone;
use anstyle::{AnsiColor, Style};
use std::fmt;
use std::ops::AddAssign;

/// Text that is safe to print on a terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::cli) struct StyledText(String);

impl StyledText {
    /// Adds a word in the colour of its tone.
    pub(in crate::cli) fn push_toned(&mut self, word: &str, tone: Tone) {
        self.0.push_str(&painted(&escape_control(word), Some(tone)));
    }

    /// Adds a table with its header and all its columns.
    pub(in crate::cli) fn push_table(&mut self, table: &TextTable) {
        self.0 += &table.text(true, true).0;
    }

    /// Returns the text with the control sequences of its colours.
    pub(in crate::cli) fn as_str(&self) -> &str {
        &self.0
    }

    /// Creates a text from lines whose cells are escaped and painted.
    pub(super) fn from_cells(text: String) -> Self {
        Self(text)
    }
}

impl From<String> for StyledText {
    fn from(text: String) -> Self {
        Self(escape_control(&text).into_owned())
    }
}

impl AddAssign<&str> for StyledText {
    fn add_assign(&mut self, text: &str) {
        self.0 += &escape_control(text);
    }
}

/// Lets `write!` add text, which is escaped.
impl fmt::Write for StyledText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        *self += text;
        Ok(())
    }
}

/// Returns a word between the control sequences of its tone. The word must be escaped already.
pub(super) fn painted(word: &str, tone: Option<Tone>) -> String {
    let Some(tone) = tone.filter(|_| !word.is_empty()) else {
        return word.to_owned();
    };
    let style = style(tone);
    format!("{style}{word}{style:#}")
}

fn style(tone: Tone) -> Style {
    match tone {
        Tone::Quiet => Style::new().dimmed(),
        Tone::Busy => AnsiColor::Cyan.on_default(),
        Tone::Ask => AnsiColor::Yellow.on_default().bold(),
        Tone::Bad => AnsiColor::Red.on_default().bold(),
        Tone::Good => AnsiColor::Green.on_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tones_write_control_sequences() {
        let mut text = StyledText::from("\x1b[31mred".to_owned());
        text += "\x1b[2J";
        text.push_toned("fail\x1b[0med", Tone::Bad);
        let expected = "\\u{1b}[31mred\\u{1b}[2J\x1b[1m\x1b[31mfail\\u{1b}[0med\x1b[0m";
        assert_eq!(text.as_str(), expected);
    }

    #[test]
    fn an_empty_cell_has_no_colour() {
        assert_eq!(painted("", Some(Tone::Bad)), "");
        assert_eq!(painted("a", None), "a");
    }
}
