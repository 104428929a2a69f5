//! The demonstration: a shard that an application writes to is split in two, and a ledger proves the result.

pub mod checker;
pub mod ledger;
pub mod shop;
pub mod workload;
