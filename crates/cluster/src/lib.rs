//! Private PostgreSQL clusters on loopback, for the tests, the demo and the embedded control store.
//!
//! - A cluster is one directory with `data`, `log`, `password`, `owner` and the unix socket.
//! - The port is free, outside the range of outgoing connections, and stays the same over restarts.
//! - If this process runs as root, the server programs run as the user `postgres`.
//! - All calls block. In async code, call them in `spawn_blocking`.
//! - The crate runs no SQL: the caller creates databases, roles and tables.

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
