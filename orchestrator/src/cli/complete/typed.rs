//! The words that the user has typed so far, read as far as they can be parsed.

use crate::cli::config::Options;
use clap::{ArgMatches, FromArgMatches};
use std::ffi::OsString;

/// The variable in which bash and zsh report the number of the word at the cursor. In other shells it is the last one.
const CURSOR: &str = "_CLAP_COMPLETE_INDEX";

/// A word that is a value of every type.
const PLACEHOLDER: &str = "0";

/// A command line that is being typed.
#[derive(Debug)]
pub(super) struct TypedLine {
    matches: ArgMatches,
}

impl TypedLine {
    /// Reads the words of this process, which follow `--`.
    pub(super) fn of_process() -> Option<Self> {
        let words: Vec<OsString> = std::env::args_os()
            .skip_while(|word| word != "--")
            .skip(1)
            .collect();
        let cursor = std::env::var(CURSOR).ok().and_then(|i| i.parse().ok());
        let cursor = cursor.unwrap_or_else(|| words.len().saturating_sub(1));
        Self::parse(&words, cursor)
    }

    /// Parses the words. The one at the cursor is incomplete, and any other word may stand for it.
    fn parse(words: &[OsString], cursor: usize) -> Option<Self> {
        let placeholder = OsString::from(PLACEHOLDER);
        let words = words.iter().enumerate();
        let words = words.map(|(index, word)| match index == cursor {
            true => &placeholder,
            false => word,
        });
        let command = crate::cli::command().ignore_errors(true);
        let matches = command.try_get_matches_from(words).ok()?;
        Some(Self { matches })
    }

    /// Returns the options that select the controller.
    pub(super) fn options(&self) -> Option<Options> {
        Options::from_arg_matches(&self.matches).ok()
    }

    /// Returns the value of the first of these arguments of the innermost command that has one.
    pub(super) fn value(&self, arguments: &[&str]) -> Option<String> {
        let mut matches = &self.matches;
        while let Some((_, inner)) = matches.subcommand() {
            matches = inner;
        }
        arguments.iter().find_map(|argument| {
            let value = matches.try_get_one::<String>(argument).ok().flatten();
            value.cloned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &str, cursor: usize) -> TypedLine {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        TypedLine::parse(&words, cursor).unwrap()
    }

    #[test]
    fn an_incomplete_line_has_its_options_and_arguments() {
        let line = typed(
            "shardwright --context prod plan move tenants --from  --to b",
            7,
        );
        assert_eq!(line.value(&["map"]).as_deref(), Some("tenants"));
        assert_eq!(line.value(&["to"]).as_deref(), Some("b"));
        let options = format!("{:?}", line.options().unwrap());
        assert!(options.contains("context: Some(\"prod\")"), "{options}");
    }

    #[test]
    fn options_after_the_cursor_count_too() {
        let line = typed("shardwright approve  --controller http://c:1", 2);
        let options = format!("{:?}", line.options().unwrap());
        assert!(options.contains("http://c:1"), "{options}");
    }
}
