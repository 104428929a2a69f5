//! Parts of the benchmarks: generated fleets for the benchmarks in `benches/`, lower bounds with which their results
//! are compared, and measurements of the whole product in comparison with plain PostgreSQL and other tools.
//!
//! Generated input depends only on its parameters.

pub mod bound;
pub mod fleet;
pub mod speed;
