//! Spans over OTLP, as protobuf by HTTP, where `OTEL_EXPORTER_OTLP_ENDPOINT` names a collector.
//!
//! What else the standard's variables say, headers and batches among them, the library reads itself.

use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tracing::Subscriber;
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::registry::LookupSpan;

/// Either names the collector.
const NAMES: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
];

/// Sends what is left when it is dropped.
#[derive(Debug)]
pub(crate) struct Spans(SdkTracerProvider);

impl Drop for Spans {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown() {
            eprintln!("the last spans were not sent: {error}");
        }
    }
}

/// What takes spans of the program called `name`, where a collector is named.
pub(crate) fn layer<S>(
    name: &'static str,
) -> (Option<OpenTelemetryLayer<S, SdkTracer>>, Option<Spans>)
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    if NAMES.iter().all(|name| std::env::var_os(name).is_none()) {
        return (None, None);
    }
    // The HTTP library wants one although the collector is asked without TLS; one that is there stays.
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
