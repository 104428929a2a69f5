//! How all parts of Shardwright open a PostgreSQL connection.
//!
//! A [`Dsn`] is parsed and kept with its secrets unresolved. To open a session, [`connect`] resolves the references,
//! connects, and applies fixed settings. A list of hosts is tried in order (docs/connections.md describes all
//! parameters). The crate has no connection pool and repeats nothing; [`Class`] states whether a retry is useful.

mod class;
mod connected;
mod dial;
mod dsn;
mod environment;
mod error;
mod frames;
mod lend;
mod methods;
mod reference;
mod refusal;
mod resolved;
mod route;
mod secrets;
mod session;
mod settings;
mod source;
mod tls;
mod walsender;

pub use class::{Class, cause_state_of, classify, classify_io, classify_server, classify_sqlstate};
pub use connected::Connected;
pub use dsn::{Dsn, Opening};
pub use environment::Environment;
pub use error::{ConnectError, DsnError};
pub use frames::{Frames, MessagePart};
pub use lend::Lent;
pub use methods::{Method, Methods};
pub use reference::ReferenceError;
pub use refusal::Refusal;
pub use resolved::{Certificates, ChannelBinding, Host, Resolved, Roots, SslMode, Target};
pub use secrets::Secrets;
pub use session::{Session, connect, connect_plain, connect_to};
pub use settings::{PINNED, pinned_options};
pub use source::ServiceError;
pub use tls::TlsError;
pub use walsender::{StartupError, Walsender};
