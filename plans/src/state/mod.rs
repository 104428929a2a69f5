//! State machines, one total `next` each. The control store keeps the states; nothing rebuilds them from the journal.

pub mod cutover;
pub mod migration;
pub mod step;

/// An event that a state does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{event} is not possible while the {machine} is {state}")]
pub struct IllegalTransition {
    /// Which machine.
    pub machine: &'static str,
    /// The state it was in.
    pub state: String,
    /// What was tried.
    pub event: String,
}
