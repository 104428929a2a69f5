//! A migration that this process owns: its session, and the monitors that probe the shards while a step runs.

pub(crate) mod context;
pub(crate) mod continuation;
pub(crate) mod load_monitor;
pub(crate) mod lock_yield;
pub(crate) mod servers;
pub(crate) mod session;
pub(crate) mod wait_monitor;
