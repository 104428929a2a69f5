//! The verification on real servers: which differences it finds, how it continues after an interruption, and what it
//! repairs.

pub(super) mod case;
mod dirty;
mod hold;
mod nearly_equal;
mod planted;
mod repair;
mod resume;
mod whole_rows;
