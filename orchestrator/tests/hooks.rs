//! Hooks: real servers and real programs that are asked before phases, and told of events.

mod asked;
mod stage;
mod told;
