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
pub use drive::{TimeSpread, WriteBlocks, run, write_stops};
pub use error::DemoError;
pub use foreseen::StepForecast;
pub use leftovers::{Leftovers, LeftoversError, Standing};
pub use options::{
    AfterRepair, CutoverMoment, DemoTask, Kill, MapOperation, OptionError, Options, Process,
    Servers, Trouble, TroubleKind, parse_measure, parse_shape, parse_step, parse_strategy,
};
pub use report::{
    ClientCounts, ComparedRows, KilledProcess, LoadBalance, MapVersions, MovedKeys,
    OrphanedCutover, RunOutcome, RunReport, StalledCutover, TroubleReport,
};
