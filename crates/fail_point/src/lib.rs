//! Named points in the code at which a test or the demo stops a process, kills it, or makes a step fail.
//!
//! A point has a name of the form `step.when`, for example `copy.after_chunk`. It does nothing unless
//! `SHARDWRIGHT_FAIL_POINTS` contains it: `name[#n]=action`, several separated by commas. The point fires once, at the
//! `n`-th time that the code reaches it (by default at the first). The actions are:
//!
//! - `error`: the call returns [`Injected`], so that the step fails.
//! - `abort`: the process aborts.
//! - `rendezvous:PATH`: the call connects to the unix socket at PATH, sends its name and its process id, and waits
//!   until the peer (a [`Rendezvous`]) releases it. Other tasks of the process continue.

mod registry;
mod rendezvous;

pub use registry::Malformed;
pub use rendezvous::{Arrival, Rendezvous};

use registry::Registry;
use std::sync::OnceLock;

/// The variable that arms points.
pub const VARIABLE: &str = "SHARDWRIGHT_FAIL_POINTS";

static REGISTRY: OnceLock<Result<Registry, Malformed>> = OnceLock::new();

/// The error of an armed point with the action `error`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("fail point {name} injected an error")]
pub struct Injected {
    /// The name of the point.
    pub name: &'static str,
}

/// Marks the point `name`. It has no effect unless the point is armed.
///
/// # Errors
/// [`Injected`] if the action is `error`.
pub async fn hit(name: &'static str) -> Result<(), Injected> {
    match registry() {
        Ok(registry) if registry.is_empty() => Ok(()),
        Ok(registry) => Box::pin(registry.hit(name)).await,
        Err(_) => Ok(()),
    }
}

/// Parses the variable. A program calls this at its start, so that a spelling mistake is reported.
///
/// # Errors
/// [`Malformed`] contains the invalid part. Without this call, an invalid variable would arm nothing.
pub fn check() -> Result<(), Malformed> {
    registry().as_ref().map(|_| ()).map_err(Malformed::clone)
}

fn registry() -> &'static Result<Registry, Malformed> {
    REGISTRY.get_or_init(|| Registry::parse(&std::env::var(VARIABLE).unwrap_or_default()))
}
