//! What the benchmarks in `benches/` measure on: generated fleets, the bounds that results are held against, and
//! the whole product beside raw PostgreSQL and its peers.
//!
//! Generated input depends on nothing but its parameters.

pub mod bound;
pub mod fleet;
pub mod speed;
