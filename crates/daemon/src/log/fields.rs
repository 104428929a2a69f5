//! Formats the fields of a log line. They contain names and messages that users chose, or that shards returned. A line
//! feed in such a text must not begin a new log line.

use plans::render::one_line;
use std::fmt::{self, Debug};
use tracing::field::{Field, Visit};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::Writer;

/// Writes the message, then the fields as `name=value`. Line feeds and control characters are escaped.
#[derive(Debug, Clone, Copy)]
pub(super) struct OneLine;

impl<'w> FormatFields<'w> for OneLine {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut line = LineWriter {
            writer,
            has_fields: false,
            result: Ok(()),
        };
        fields.record(&mut line);
        line.result
    }
}

struct LineWriter<'w> {
    writer: Writer<'w>,
    /// True if a field was already written, so that the next one needs a space before it.
    has_fields: bool,
    /// The first error of the writer.
    result: fmt::Result,
}

impl LineWriter<'_> {
    fn write(&mut self, name: &str, value: &str) -> fmt::Result {
        if self.has_fields {
            self.writer.write_char(' ')?;
        }
        self.has_fields = true;
        if name != "message" {
            write!(self.writer, "{name}=")?;
        }
        self.writer.write_str(&one_line(value))
    }
}

impl Visit for LineWriter<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.record_debug(field, &format_args!("{value}")),
            _ => self.record_debug(field, &value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Events of the crate `log` have these fields, and the log line already begins with them.
        if self.result.is_ok() && !field.name().starts_with("log.") {
            self.result = self.write(field.name(), &format!("{value:?}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OneLine;
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex, PoisonError};
    use tracing_subscriber::layer::SubscriberExt;

    #[derive(Clone, Default)]
    struct LogBuffer(Arc<Mutex<Vec<u8>>>);

    impl Write for LogBuffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut bytes_so_far = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            bytes_so_far.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns the text that the log contains after `event`.
    fn logged(event: impl FnOnce()) -> String {
        let written = LogBuffer::default();
        let writer = written.clone();
        let lines = tracing_subscriber::fmt::layer()
            .without_time()
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .fmt_fields(OneLine);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), event);
        let bytes = written.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[test]
    fn a_name_with_a_line_feed_cannot_forge_a_log_line() {
        let forged = "t\n2026-11-27T08:00:00Z  WARN orchestrator: approved\r\u{1b}[2K\u{202e}";
        let error = io::Error::other(forged);
        let lines = logged(|| {
            let span = tracing::info_span!("step", table = forged);
            let _entered = span.enter();
            tracing::warn!(table = %forged, %error, known = ?forged, "dropping {forged}");
        });
        assert_eq!(lines.lines().count(), 1, "{lines}");
        assert!(!lines.trim_end().contains(char::is_control), "{lines}");
        assert!(!lines.contains('\u{202e}'), "{lines}");
        assert!(lines.contains("dropping t\\n2026"), "{lines}");
    }

    #[test]
    fn a_line_has_the_usual_format_of_tracing() {
        let line = logged(|| tracing::info!(agent = "x", steps = 2, why = %"it is so", "begun"));
        let expected = " INFO daemon::log::fields::tests: begun agent=\"x\" steps=2 why=it is so\n";
        assert_eq!(line, expected);
    }
}
