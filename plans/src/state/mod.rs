//! State machines. Each is one total function `next`. The control store keeps the states; they are never rebuilt from
//! the journal.

pub mod cutover;
pub mod migration;
pub mod step;

/// An event that is not allowed in a state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{event} is not possible while the {machine} is {state}")]
pub struct IllegalTransition {
    /// The name of the state machine.
    pub machine: &'static str,
    /// The state.
    pub state: String,
    /// The event.
    pub event: String,
}
