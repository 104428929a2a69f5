//! Hooks: programs and web services of the operator that the controller calls at the phases of migrations.
//!
//! Before a phase the controller calls a hook, and the hook may refuse. After a phase it notifies the hook, from the
//! journal. This module has the configuration and a single call. `controller::hooks` calls hooks and holds migrations;
//! `controller::notices` sends notifications. No message contains a connection string, a token or a row.

mod call;
mod config;
mod message;
mod sign;

pub use call::HookAnswer;
pub(crate) use call::call;
pub use config::{Hook, Hooks, HooksError};
pub(crate) use message::HookMessage;
