//! Decides and remembers: the control store, the controller, the API and the command line.
//!
//! ```text
//! plan ─► store (one transaction) ─► controller::decide (pure) ─► dispatch ─► agent
//!                  ▲                                                           │
//!                  └────────────── controller::settle ◄── report ◄─────────────┘
//! ```
//! Every change is one compare-and-set in the store with its events.
//! Absent: connections to shards; agents have those.

pub mod api;
pub mod cli;
pub mod controller;
pub mod dashboard;
mod dual_write;
pub mod retry;
pub mod store;
pub mod view;
