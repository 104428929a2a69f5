//! The demonstration: shards that an application writes to are split, merged, moved, and a ledger proves the result.
//!
//! Order: private servers and programs ([`run`]), a shop with rows ([`shop`]), clients that write and remember
//! what was acknowledged ([`workload`], [`ledger`]), a migration by the ordinary interface, and a checker that
//! knows only SQL, the shard map and the ledger ([`checker`]).

mod api;
pub mod checker;
mod drive;
mod error;
mod fleet;
mod foreseen;
pub mod ledger;
mod leftovers;
mod options;
mod points;
mod report;
mod scenario;
pub mod shop;
pub mod torture;
pub mod workload;

pub use api::ApiError;
pub use drive::{Spread, WriteStops, run, write_stops};
pub use error::DemoError;
pub use foreseen::Foreseen;
pub use leftovers::{Leftovers, LeftoversError, Standing};
pub use options::{
    Kill, Moment, Operation, OptionError, Options, Process, Servers, Task, Then, Trouble,
    TroubleKind, parse_measure, parse_shape, parse_step, parse_strategy,
};
pub use report::{
    Balance, Clients, Compared, Killed, Moved, Orphaned, Outcome, Report, StalledCutover, Troubled,
    Versions,
};
