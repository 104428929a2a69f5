//! What released versions said and kept, from `tests/compat`, before the present program.
//!
//! Stores and plans of every release are brought forward; messages are those of the newest one, whose agents and
//! controllers work together with these.

mod ahead;
mod messages;
mod old_agent;
mod plans;
mod protocols;
mod recorded;
mod schema;
mod shape;
mod store;
