//! What is printed: data to stdout, talk to stderr. Where the reader goes away, the program ends quietly, as others do
//! in a pipe; the standard macros would panic.

use std::borrow::Cow;
use std::fmt::Arguments;
use std::io::{Error, ErrorKind, Write};

/// As shells tell of a program that wrote to nobody.
const NOBODY_READS: i32 = 141;
/// What was to be printed is nowhere.
const NOT_WRITTEN: i32 = 1;

/// Says a line on stderr.
macro_rules! say {
    ($($part:tt)*) => {
        $crate::cli::out::tell(format_args!("{}\n", format_args!($($part)*)))
    };
}
pub(crate) use say;

/// Prints data.
pub(super) fn print(data: impl AsRef<[u8]>) {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(data.as_ref());
    if let Err(error) = written.and_then(|()| stdout.flush()) {
        end(&error);
    }
}

/// Says something on stderr, without an end of line. Where nobody hears it, what was ordered is done all the same.
pub(crate) fn tell(text: Arguments<'_>) {
    let text = text.to_string();
    let _ = std::io::stderr()
        .lock()
        .write_all(harmless(&text).as_bytes());
}

/// Text of others as people may see it: what would steer their terminal, or turn letters around, is written out.
pub(super) fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        match steers(c) {
            true => written.extend(c.escape_unicode()),
            false => written.push(c),
        }
    }
    Cow::Owned(written)
}

/// What puts text elsewhere, but for ends of lines and tabs.
pub(super) fn steers(c: char) -> bool {
    plans::render::is_disruptive(c) && c != '\n' && c != '\t'
}

fn end(error: &Error) -> ! {
    if error.kind() == ErrorKind::BrokenPipe {
        std::process::exit(NOBODY_READS);
    }
    // Where stderr is closed too, nobody can be told.
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
    fn what_steers_a_terminal_is_written_out() {
        for (text, shown) in [
            ("plain → text\n\tnext", "plain → text\n\tnext"),
            ("\x1b]0;title\x07", "\\u{1b}]0;title\\u{7}"),
            ("over\rwritten", "over\\u{d}written"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("abc\u{202e}cba", "abc\\u{202e}cba"),
        ] {
            assert_eq!(harmless(text), shown);
        }
    }
}
