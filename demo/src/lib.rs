//! The demo: it splits, merges or moves shards while an application writes, and checks the result with a ledger.
//!
//! [`run`] starts private servers and programs. [`shop`] creates tables and rows. [`workload`] runs clients that write,
//! and [`ledger`] records what was acknowledged. A migration runs with the ordinary interface. The checker
//! ([`checker`]) uses only SQL, the shard map and the ledger.

mod api;
pub mod checker;
mod drive;
mod error;
mod fleet;
mod forecast;
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
pub use forecast::StepForecast;
pub use leftovers::{Leftovers, LeftoversError, Standing};
pub use options::{
    AfterRepair, CutoverMoment, DemoTask, KeyDivision, Kill, MapOperation, OptionError, Options,
    Process, SeedOption, Servers, Trouble, TroubleKind, parse_group, parse_measure, parse_shape,
    parse_step, parse_strategy,
};
pub use report::{
    ClientCounts, ComparedRows, KilledProcess, LoadBalance, MapVersions, MovedKeys,
    OrphanedCutover, RunOutcome, RunReport, StalledCutover, TroubleReport,
};
