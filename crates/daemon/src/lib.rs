//! How our programs run as services: the log that they write, and what they tell the service manager.

pub mod log;
pub mod notify;
#[cfg(feature = "otel")]
mod spans;
