//! The verification on real servers: what it finds, what it does not, how it goes on, what it repairs.

pub(super) mod case;
mod dirty;
mod hold;
mod nearly_equal;
mod planted;
mod repair;
mod resume;
mod whole_rows;
