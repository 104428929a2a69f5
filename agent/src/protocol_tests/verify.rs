//! The verification on real servers: what it finds, what it does not, how it goes on, what it repairs.

mod case;
mod dirty;
mod hold;
mod planted;
mod repair;
mod resume;
