//! The log: lines for people, or JSON, on stderr.

mod fields;

use clap::ValueEnum;
use fields::OneLine;
use std::io::IsTerminal;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

/// The form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON document per line, with the spans of the event.
    Json,
}

/// Starts the log of the program `name` with the events that `filter` selects.
///
/// The returned value must be kept while the program runs.
pub fn start(name: &'static str, filter: EnvFilter, format: Format) -> LogGuard {
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(format == Format::Text && std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let lines = match format {
        Format::Text => lines.fmt_fields(OneLine).boxed(),
        Format::Json => lines.json().boxed(),
    };
    let layers = tracing_subscriber::registry().with(filter).with(lines);
    #[cfg(feature = "otel")]
    {
        let (layer, spans) = crate::spans::layer(name);
        layers.with(layer).init();
        LogGuard { _spans: spans }
    }
    #[cfg(not(feature = "otel"))]
    {
        let _ = name;
        layers.init();
        LogGuard {}
    }
}

/// Keeps the log running. Dropping the value sends the remaining spans.
#[derive(Debug)]
#[must_use]
pub struct LogGuard {
    #[cfg(feature = "otel")]
    _spans: Option<crate::spans::Spans>,
}
