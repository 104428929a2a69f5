//! Prints data to stdout and messages to stderr. If the reader of a pipe closes it, the program ends without a message,
//! as other programs do; the standard macros would panic.

use std::borrow::Cow;
use std::fmt::Arguments;
use std::io::{Error, ErrorKind, Write};

/// The exit code that shells report for a program that wrote to a closed pipe.
const READER_GONE: i32 = 141;
/// The exit code if the data could not be printed.
const NOT_WRITTEN: i32 = 1;

/// Prints a line to stderr.
macro_rules! report {
    ($($part:tt)*) => {
        $crate::cli::out::write_message(format_args!("{}\n", format_args!($($part)*)))
    };
}
pub(crate) use report;

/// Prints data to stdout.
pub(super) fn print(data: impl AsRef<[u8]>) {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(data.as_ref());
    if let Err(error) = written.and_then(|()| stdout.flush()) {
        exit_after_write_error(&error);
    }
}

/// Prints text for people to stdout: with its colours if stdout is a terminal or the user wants them, otherwise without.
pub(super) fn print_styled(text: &str) {
    let mut stdout = anstream::AutoStream::auto(std::io::stdout().lock());
    let written = stdout.write_all(text.as_bytes());
    if let Err(error) = written.and_then(|()| stdout.flush()) {
        exit_after_write_error(&error);
    }
}

/// Writes text for people to stderr, with its colours if stderr is a terminal. If stderr is closed, the command
/// continues.
pub(super) fn write_styled_message(text: &str) {
    let mut stderr = anstream::AutoStream::auto(std::io::stderr().lock());
    let _ = stderr.write_all(text.as_bytes());
}

/// Returns the text with its colours if stderr shows them, otherwise without.
pub(super) fn for_stderr(text: &str) -> Cow<'_, str> {
    match anstream::AutoStream::choice(&std::io::stderr()) {
        anstream::ColorChoice::Never => Cow::Owned(anstream::adapter::strip_str(text).to_string()),
        anstream::ColorChoice::Auto
        | anstream::ColorChoice::Always
        | anstream::ColorChoice::AlwaysAnsi => Cow::Borrowed(text),
    }
}

/// Writes a message to stderr, without a line end. If stderr is closed, the command continues.
pub(crate) fn write_message(text: Arguments<'_>) {
    let text = text.to_string();
    let _ = std::io::stderr()
        .lock()
        .write_all(escape_control(&text).as_bytes());
}

/// Returns text of other users or programs in a form that is safe to print: control characters of terminals, and
/// characters that change the direction of text, are escaped.
pub(super) fn escape_control(text: &str) -> Cow<'_, str> {
    if !text.contains(is_disruptive) {
        return Cow::Borrowed(text);
    }
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        match is_disruptive(c) {
            true => written.extend(c.escape_unicode()),
            false => written.push(c),
        }
    }
    Cow::Owned(written)
}

/// Returns whether the character can change how a terminal shows other text. Line ends and tabs are permitted.
pub(super) fn is_disruptive(c: char) -> bool {
    plans::render::is_disruptive(c) && c != '\n' && c != '\t'
}

/// Ends the program, because stdout cannot be written.
fn exit_after_write_error(error: &Error) -> ! {
    if error.kind() == ErrorKind::BrokenPipe {
        std::process::exit(READER_GONE);
    }
    // If stderr is closed too, nothing can be reported.
    let _ = writeln!(
        std::io::stderr(),
        "error: could not write the output: {error}"
    );
    std::process::exit(NOT_WRITTEN);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_of_terminals_are_escaped() {
        for (text, escaped) in [
            ("plain → text\n\tnext", "plain → text\n\tnext"),
            ("\x1b]0;title\x07", "\\u{1b}]0;title\\u{7}"),
            ("over\rwritten", "over\\u{d}written"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("abc\u{202e}cba", "abc\\u{202e}cba"),
        ] {
            assert_eq!(escape_control(text), escaped);
        }
    }
}
