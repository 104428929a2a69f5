//! How any part of Shardwright opens a PostgreSQL connection.
//!
//! Order: a [`Dsn`] is parsed and kept with its secrets unresolved; whoever connects resolves the
//! references, opens the session and puts it into a known state ([`connect`]).
//! Absent: TLS (refused while parsing), pools, retries. [`Class`] says what a retry is worth.

mod class;
mod dsn;
mod error;
mod reference;
mod session;

pub use class::{Class, classify, classify_sqlstate};
pub use dsn::{Dsn, Resolved};
pub use error::{ConnectError, DsnError};
pub use reference::ReferenceError;
pub use session::{Connected, Session, connect};
