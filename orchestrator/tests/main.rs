//! Tests of the orchestrator against real PostgreSQL clusters.

mod fixture;
mod store_contract;
