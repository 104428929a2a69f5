//! Named points in the code where a test or the demo stops, fails or kills a process exactly.
//!
//! A point is named `step.when`, for example `copy.after_chunk`, and does nothing unless
//! `SHARDWRIGHT_FAIL_POINTS` names it: `name[#n]=action`, several separated by commas, where `n` is
//! the passage at which it fires (the first one if it is missing). It fires once. Actions:
//!
//! - `error`: the passage returns [`Injected`], so its caller sees a step that fails;
//! - `abort`: the process aborts;
//! - `rendezvous:PATH`: the passage connects to the unix socket at PATH, says its name and process id,
//!   and waits until the peer (a [`Rendezvous`]) releases it. Other tasks of the process go on.

mod registry;
mod rendezvous;

pub use registry::Malformed;
pub use rendezvous::{Arrival, Rendezvous};

use registry::Registry;
use std::sync::OnceLock;

/// The variable that arms points.
pub const VARIABLE: &str = "SHARDWRIGHT_FAIL_POINTS";

static ARMED: OnceLock<Result<Registry, Malformed>> = OnceLock::new();

/// An armed point with the action `error` was passed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("fail point {name} was armed")]
pub struct Injected {
    /// The name of the point.
    pub name: &'static str,
}

/// Passes the point `name`: nothing happens unless it is armed.
///
/// # Errors
/// [`Injected`] if the action is `error`.
pub async fn hit(name: &'static str) -> Result<(), Injected> {
    match armed() {
        Ok(registry) if registry.is_empty() => Ok(()),
        Ok(registry) => Box::pin(registry.pass(name)).await,
        Err(_) => Ok(()),
    }
}

/// Reads the variable; a program calls it at its start, so that a typing error does not go unnoticed.
///
/// # Errors
/// [`Malformed`] names the part that is wrong; without this call it would arm nothing.
pub fn check() -> Result<(), Malformed> {
    armed().as_ref().map(|_| ()).map_err(Malformed::clone)
}

fn armed() -> &'static Result<Registry, Malformed> {
    ARMED.get_or_init(|| Registry::parse(&std::env::var(VARIABLE).unwrap_or_default()))
}
