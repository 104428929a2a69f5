//! Exports spans over OTLP (protobuf over HTTP), if `OTEL_EXPORTER_OTLP_ENDPOINT` names a collector.
//!
//! The library itself reads the other variables of the standard, such as those for headers and batches.

use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tracing::Subscriber;
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::registry::LookupSpan;

/// The variables that name the collector. Either of them suffices.
const ENDPOINT_VARIABLES: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
];

/// The exporter of spans. Dropping the value sends the remaining spans.
#[derive(Debug)]
pub(crate) struct Spans(SdkTracerProvider);

impl Drop for Spans {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown() {
            eprintln!("the last spans were not sent: {error}");
        }
    }
}

/// Returns the layer that receives the spans of the program `name`, if a collector is configured.
pub(crate) fn layer<S>(
    name: &'static str,
) -> (Option<OpenTelemetryLayer<S, SdkTracer>>, Option<Spans>)
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    if ENDPOINT_VARIABLES
        .iter()
        .all(|name| std::env::var_os(name).is_none())
    {
        return (None, None);
    }
    // The HTTP library needs a default provider even without TLS. An existing one is kept.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let exporter = match SpanExporter::builder().with_http().build() {
        Ok(exporter) => exporter,
        Err(error) => {
            eprintln!("no spans are sent: {error}");
            return (None, None);
        }
    };
    let resource = Resource::builder().with_service_name(name).build();
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource)
        .build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer(name));
    (Some(layer), Some(Spans(provider)))
}

#[cfg(test)]
mod tests {
    use crate::log::{self, Format};
    use axum::body::Bytes;
    use axum::http::StatusCode;
    use axum::{Router, routing};
    use std::future::ready;
    use std::process::Stdio;
    use tokio::net::TcpListener;
    use tokio::process::Command;
    use tokio::sync::mpsc;
    use tracing_subscriber::EnvFilter;

    /// Runs this test binary again as a program with spans, with the environment that the test sets.
    #[test]
    #[ignore = "run by the test below, in a process of its own"]
    fn a_program() {
        let started = log::start("a-program", EnvFilter::new("info"), Format::Json);
        tracing::info_span!("step.attempt", step = "copy").in_scope(|| tracing::info!("logged"));
        drop(started);
    }

    /// Runs [`a_program`] in a process of its own, and returns what it logged.
    async fn run_program(collector: Option<&str>) -> String {
        let mut program = Command::new(std::env::current_exe().unwrap());
        program.args(["--exact", "spans::tests::a_program", "--ignored"]);
        if let Some(collector) = collector {
            program.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector);
        }
        let ended = program.stdin(Stdio::null()).output().await.unwrap();
        assert!(ended.status.success(), "{ended:?}");
        String::from_utf8(ended.stderr).unwrap()
    }

    #[tokio::test]
    async fn spans_are_sent_to_the_collector_that_the_environment_names() {
        let (sender, mut received) = mpsc::unbounded_channel::<Bytes>();
        let receive = move |body: Bytes| {
            let _ = sender.send(body);
            ready(StatusCode::OK)
        };
        let app = Router::new().route("/v1/traces", routing::post(receive));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let collector = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        assert!(run_program(None).await.contains("logged"));
        assert!(received.try_recv().is_err(), "no collector was configured");
        assert!(run_program(Some(&collector)).await.contains("logged"));
        let mut bodies = Vec::new();
        while let Ok(body) = received.try_recv() {
            bodies.extend_from_slice(&body);
        }
        let text = String::from_utf8_lossy(&bodies);
        for part in ["service.name", "a-program", "step.attempt", "copy"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
