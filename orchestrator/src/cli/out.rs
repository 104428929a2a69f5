//! What is printed: data to stdout, talk to stderr. Where the reader goes away, the program ends quietly, as others do
//! in a pipe; the standard macros would panic.

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
    let _ = std::io::stderr().lock().write_fmt(text);
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
