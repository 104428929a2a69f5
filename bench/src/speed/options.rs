//! The command line options: which parts are measured, and the sizes of the measurements.

use clap::{Parser, ValueEnum};
use std::path::PathBuf;

/// Measures Shardwright, and PostgreSQL and other tools for comparison
#[derive(Debug, Clone, Parser)]
#[command(name = "bench")]
pub struct Options {
    /// A short run of a few minutes
    #[arg(long)]
    pub quick: bool,
    /// Writes every figure and sample to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Rows of the largest table, a multiple of 20,000; all tables together have 1.41 times as many [default: 4000000,
    /// quick: 600000]
    #[arg(long)]
    pub items: Option<u64>,
    /// The number of rounds [default: 5, quick: 1]
    #[arg(long)]
    pub rounds: Option<u32>,
    /// Seconds of load in a round, with and again without a migration [default: 60, quick: 15]
    #[arg(long)]
    pub load_seconds: Option<u32>,
    /// The number of cutovers and rollbacks [default: 1000, quick: 20]
    #[arg(long)]
    pub cutovers: Option<u32>,
    /// The number of rows in the table with narrow rows [default: 10000000, quick: 1000000]
    #[arg(long)]
    pub narrow_rows: Option<u64>,
    /// Only this part
    #[arg(long, value_enum)]
    pub only: Option<Part>,
    /// The folder of the programs shardwright and shardwright-agent
    #[arg(long, default_value = "target/release")]
    pub programs: PathBuf,
}

/// A part of the measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Copies, indexes and verification, compared with plain PostgreSQL and other tools
    Copy,
    /// A backlog of changes, compared with a subscription
    Apply,
    /// The latency of an application during a migration
    Impact,
    /// The same with a latency limit, while the load changes
    Throttle,
    /// The write-blocked window of many cutovers
    Window,
    /// The write-blocked window of a hot tenant, on each kind of map
    Hot,
    /// The write-blocked window with writers of many keys, and with long transactions
    Writers,
    /// The latency of an application on keys that do not move, during cutovers
    Staying,
    /// A split into three new shards
    Parts,
    /// A split whose target is a standby of the source, compared with a copy, at three sizes
    Seeding,
    /// A controller of many shards, keys and migrations
    Fleet,
    /// Two moves on two agents
    Agents,
    /// The maximum memory of an agent
    Memory,
}

impl Part {
    /// Returns true if the part is measured in rounds on the common data set.
    pub(super) fn has_rounds(self) -> bool {
        match self {
            Self::Copy | Self::Apply | Self::Impact | Self::Throttle => true,
            Self::Window
            | Self::Hot
            | Self::Writers
            | Self::Staying
            | Self::Parts
            | Self::Seeding
            | Self::Fleet
            | Self::Agents
            | Self::Memory => false,
        }
    }
}

impl Options {
    /// Returns whether the part must be measured.
    pub(super) fn wants(&self, part: Part) -> bool {
        self.only.is_none_or(|only| only == part)
    }

    pub(super) fn items(&self) -> u64 {
        let items = self
            .items
            .unwrap_or(if self.quick { 600_000 } else { 4_000_000 });
        items.max(20_000) / 20_000 * 20_000
    }

    pub(super) fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 1 } else { 5 })
    }

    pub(super) fn cutovers(&self) -> u32 {
        self.cutovers.unwrap_or(if self.quick { 20 } else { 1000 })
    }

    /// Returns the number of cutovers of a hot tenant for each operation at each scale. Half of them are rollbacks.
    pub(super) fn cutovers_of_hot(&self) -> u32 {
        self.cutovers.unwrap_or(if self.quick { 4 } else { 60 })
    }

    /// Returns the number of cutovers for each kind of writer, and for each round with an application on keys that do
    /// not move.
    pub(super) fn cutovers_beside(&self) -> u32 {
        if self.quick { 3 } else { 10 }
    }

    pub(super) fn narrow_rows(&self) -> u64 {
        let rows = if self.quick { 1_000_000 } else { 10_000_000 };
        self.narrow_rows.unwrap_or(rows)
    }

    pub(super) fn load_seconds(&self) -> u32 {
        self.load_seconds
            .unwrap_or(if self.quick { 15 } else { 60 })
    }
}
