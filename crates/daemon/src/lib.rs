//! How the programs run as services: their log, and notifications to the service manager.

pub mod log;
pub mod notify;
#[cfg(feature = "otel")]
mod spans;
