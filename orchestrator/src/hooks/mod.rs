//! Hooks: programs and web addresses of the operator's that are called at the phases of migrations.
//!
//! Before a phase they are asked, and may say no; of what has happened they are told, from the journal.
//! Pure configuration and single calls here; `controller::hooks` asks and holds, `controller::notices` tells.
//! Absent: connection strings, tokens and rows, which no message has.

mod call;
mod config;
mod message;
mod sign;

pub use call::HookAnswer;
pub(crate) use call::call;
pub use config::{Hook, Hooks, HooksError};
pub(crate) use message::HookMessage;
