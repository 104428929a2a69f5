//! Private PostgreSQL clusters on loopback, for the tests, the demo and the embedded control store.
//!
//! A cluster is one directory: `data`, `log`, `password`, `owner` and the unix socket.
//! Order: find the binaries, `initdb`, write the settings, start, use, stop, remove.
//! The port is free, outside the range of outgoing connections, and stays the same over restarts.
//! When run as root, the server programs run as user `postgres`.
//! All calls block; call them by `spawn_blocking` from async code.
//! No SQL is run here: databases, roles and tables are the caller's.

mod account;
mod binaries;
mod create;
mod error;
mod options;
mod owner;
mod port;
mod postmaster;
mod process;
mod server;
mod standby;

pub use binaries::Binaries;
pub use error::ClusterError;
pub use options::{Options, temporary_base};
pub use owner::sweep;
pub use port::free as free_port;
pub use server::{Cluster, Shutdown};
