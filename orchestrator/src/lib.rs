//! The control plane: the control store, the controller, the API and the command line.
//!
//! ```text
//! plan ─► store (one transaction) ─► controller::decide (pure) ─► dispatch ─► agent
//!                  ▲                                                           │
//!                  └────────────── controller::settle ◄── report ◄─────────────┘
//! ```
//! Every change is one compare-and-set in the store together with its journal entries. This crate has no connections to
//! shards; only agents have them.

pub mod access;
pub mod api;
mod chart;
pub mod cli;
pub mod controller;
pub mod dashboard;
mod dual_write;
pub mod hooks;
mod metrics;
pub mod report;
pub mod retry;
pub mod server;
pub mod store;
mod time_axis;
pub mod view;
