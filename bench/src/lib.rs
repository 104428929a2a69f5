//! What the benchmarks in `benches/` measure on: generated fleets, and the bounds that results are held against.
//!
//! Generated input depends on nothing but its parameters.

pub mod bound;
pub mod fleet;
