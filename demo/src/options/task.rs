//! Which operation a run performs, and on which kind of map.

use super::OptionError;
use crate::shop::KeyShape;
use plans::request::{Measure, Mode};
use plans::shard_map::Strategy;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What is done to the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MapOperation {
    /// One shard's keys are divided.
    #[default]
    Split,
    /// Two shards become one.
    Merge,
    /// Keys of a live shard go to another live shard.
    Move,
    /// A tenant gets a shard of its own.
    Isolate,
    /// A shard is emptied.
    Drain,
    /// The load of four shards is evened out.
    Rebalance,
}

impl MapOperation {
    const ALL: [Self; 6] = [
        Self::Split,
        Self::Merge,
        Self::Move,
        Self::Isolate,
        Self::Drain,
        Self::Rebalance,
    ];

    /// What has happened when it is completed, for the report's first line.
    pub(crate) fn done(self) -> &'static str {
        match self {
            Self::Split => "The shard was split",
            Self::Merge => "Two shards were merged",
            Self::Move => "The keys were moved to another live shard",
            Self::Isolate => "The tenant got a shard of its own",
            Self::Drain => "The shard was emptied",
            Self::Rebalance => "The shards' load was evened out",
        }
    }

    /// The name on the command line and in the report.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Split => "split",
            Self::Merge => "merge",
            Self::Move => "move",
            Self::Isolate => "isolate",
            Self::Drain => "drain",
            Self::Rebalance => "rebalance",
        }
    }
}

impl fmt::Display for MapOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for MapOperation {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let found = Self::ALL.into_iter().find(|known| known.name() == text);
        found.ok_or_else(|| OptionError::Operation {
            text: text.to_owned(),
        })
    }
}

/// The strategy called `text`.
///
/// # Errors
/// [`OptionError::Strategy`], with the names that exist.
pub fn parse_strategy(text: &str) -> Result<Strategy, OptionError> {
    Strategy::parse(text).ok_or_else(|| OptionError::Strategy {
        text: text.to_owned(),
    })
}

/// The shape of a key by its columns' types.
///
/// # Errors
/// [`OptionError::Shape`], with the names that exist.
pub fn parse_shape(text: &str) -> Result<KeyShape, OptionError> {
    match text {
        "bigint" => Ok(KeyShape::Number),
        "text,bigint" => Ok(KeyShape::Region),
        "timestamptz" => Ok(KeyShape::Hour),
        other => Err(OptionError::Shape {
            text: other.to_owned(),
        }),
    }
}

/// What load is counted by.
///
/// # Errors
/// [`OptionError::Measure`], with the names that exist.
pub fn parse_measure(text: &str) -> Result<Measure, OptionError> {
    match text {
        "rows" => Ok(Measure::Rows),
        "bytes" => Ok(Measure::Bytes),
        "writes" => Ok(Measure::Writes),
        other => Err(OptionError::Measure {
            text: other.to_owned(),
        }),
    }
}

/// An operation on a kind of map.
#[derive(Debug, Clone, PartialEq)]
pub struct DemoTask {
    /// What is done.
    pub operation: MapOperation,
    /// How the map divides keys.
    pub strategy: Strategy,
    /// Whether the application goes on writing to the moving keys.
    pub mode: Mode,
    /// What the key looks like; other shapes than a number are for range maps.
    pub shape: KeyShape,
    /// Parts of a split, 2 to 4.
    pub parts: u32,
    /// A merge goes into one of the two live shards rather than into a new one.
    pub into_live: bool,
    /// What a rebalance counts load by.
    pub by: Measure,
    /// A move is of one tenant, and the tenant that moves or is isolated has this share of the transactions.
    pub hot: Option<f64>,
}

impl Default for DemoTask {
    fn default() -> Self {
        Self {
            operation: MapOperation::Split,
            strategy: Strategy::Range,
            mode: Mode::Online,
            shape: KeyShape::Number,
            parts: 2,
            into_live: false,
            by: Measure::Rows,
            hot: None,
        }
    }
}

impl DemoTask {
    /// Whether it is one move from a server of its own to another that the operator approves and finishes: only
    /// such a run can be disturbed.
    #[must_use]
    pub fn is_plain_split(&self) -> bool {
        self.operation == MapOperation::Split && self.mode == Mode::Online && self.parts == 2
    }

    /// What is contradictory.
    pub(super) fn problem(&self) -> Option<&'static str> {
        if self.shape != KeyShape::Number && self.strategy != Strategy::Range {
            Some("keys of other types than bigint are for range maps")
        } else if !(2..=4).contains(&self.parts) {
            Some("a split has 2 to 4 parts")
        } else if self.hot.is_some()
            && !matches!(self.operation, MapOperation::Move | MapOperation::Isolate)
        {
            Some("one hot tenant is moved or isolated")
        } else if self.hot.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
            Some("a share lies between 0 and 1")
        } else {
            None
        }
    }
}
