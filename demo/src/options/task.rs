//! The operation of a run, and the kind of map.

use super::OptionError;
use crate::shop::KeyShape;
use plans::request::{Measure, Mode};
use plans::shard_map::Strategy;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MapOperation {
    /// The keys of one shard are divided.
    #[default]
    Split,
    /// The keys of two shards move to one shard.
    Merge,
    /// Keys move from a live shard to another live shard.
    Move,
    /// A tenant gets its own shard.
    Isolate,
    /// All keys of a shard move to other shards.
    Drain,
    /// The load is distributed evenly over four shards.
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

    /// Returns the result of the operation, for the report's first line.
    pub(crate) fn result_text(self) -> &'static str {
        match self {
            Self::Split => "The shard was split",
            Self::Merge => "Two shards were merged",
            Self::Move => "The keys were moved to another live shard",
            Self::Isolate => "The tenant got a shard of its own",
            Self::Drain => "The shard was emptied",
            Self::Rebalance => "The shards' load was evened out",
        }
    }

    /// Returns the name on the command line and in the report.
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

/// How a map divides keys, and the shape of the keys if the name of the division tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyDivision {
    /// The strategy of the map.
    pub strategy: Strategy,
    /// Schemas, groups of tables, or dependent tables. Otherwise each table has the columns of the key.
    pub shape: Option<KeyShape>,
}

impl fmt::Display for KeyDivision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shape {
            Some(KeyShape::Schema) => f.write_str("schema"),
            Some(KeyShape::Group) => f.write_str("group"),
            Some(KeyShape::Dependents) => f.write_str("dependents"),
            Some(KeyShape::BigInt | KeyShape::TextBigInt | KeyShape::Timestamp) | None => {
                self.strategy.fmt(f)
            }
        }
    }
}

/// Returns the division with this name.
///
/// # Errors
/// [`OptionError::Strategy`], which lists the allowed names.
pub fn parse_strategy(text: &str) -> Result<KeyDivision, OptionError> {
    let (strategy, shape) = match text {
        "schema" => (Some(Strategy::List), Some(KeyShape::Schema)),
        "group" => (Some(Strategy::List), Some(KeyShape::Group)),
        "dependents" => (Some(Strategy::Range), Some(KeyShape::Dependents)),
        column => (Strategy::parse(column), None),
    };
    let strategy = strategy.ok_or_else(|| OptionError::Strategy {
        text: text.to_owned(),
    })?;
    Ok(KeyDivision { strategy, shape })
}

/// Returns the number of the tenant that has this group of tables.
///
/// # Errors
/// [`OptionError::Group`], which lists the groups.
pub fn parse_group(text: &str) -> Result<i64, OptionError> {
    KeyShape::tenant_of_group(text).ok_or_else(|| OptionError::Group {
        text: text.to_owned(),
        groups: KeyShape::groups().join(", "),
    })
}

/// Returns the shape of a key by the types of its columns.
///
/// # Errors
/// [`OptionError::Shape`], which lists the allowed names.
pub fn parse_shape(text: &str) -> Result<KeyShape, OptionError> {
    match text {
        "bigint" => Ok(KeyShape::BigInt),
        "text,bigint" => Ok(KeyShape::TextBigInt),
        "timestamptz" => Ok(KeyShape::Timestamp),
        other => Err(OptionError::Shape {
            text: other.to_owned(),
        }),
    }
}

/// Returns the measure of load with this name.
///
/// # Errors
/// [`OptionError::Measure`] with the existing names.
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
    /// The operation.
    pub operation: MapOperation,
    /// How the map divides keys.
    pub strategy: Strategy,
    /// Whether the application continues to write to the moving keys.
    pub mode: Mode,
    /// The columns of the key. Shapes other than a number require a range map.
    pub shape: KeyShape,
    /// The number of parts of a split, 2 to 4.
    pub parts: u32,
    /// True if a merge moves the keys to one of the two live shards and not to a new one.
    pub into_live: bool,
    /// The measure of load of a rebalance.
    pub by: Measure,
    /// The tenant whose group of tables moves.
    pub group: Option<i64>,
    /// The fraction of all transactions that go to one tenant, which is moved or isolated. `None`: there is no such
    /// tenant.
    pub hot: Option<f64>,
}

impl Default for DemoTask {
    fn default() -> Self {
        Self {
            operation: MapOperation::Split,
            strategy: Strategy::Range,
            mode: Mode::Online,
            shape: KeyShape::BigInt,
            parts: 2,
            into_live: false,
            by: Measure::Rows,
            group: None,
            hot: None,
        }
    }
}

impl DemoTask {
    /// Returns the online split of such keys in two parts.
    #[must_use]
    pub fn split_of(keys: KeyDivision) -> Self {
        Self {
            strategy: keys.strategy,
            shape: keys.shape.unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Returns whether the task is an online split into two parts.
    #[must_use]
    pub fn is_plain_split(&self) -> bool {
        self.operation == MapOperation::Split && self.mode == Mode::Online && self.parts == 2
    }

    /// Returns whether the task is one online move from the first shard to the second one, which the operator approves
    /// and finishes. Only in such a run can the demo inject faults.
    #[must_use]
    pub fn is_single_move(&self) -> bool {
        let moves_whole_tables = self.shape.has_whole_tables() && self.mode == Mode::Online;
        self.is_plain_split() || moves_whole_tables && self.operation != MapOperation::Split
    }

    /// Returns a contradiction in the task, if there is one.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let is_of_list = self.shape.has_whole_tables() && self.strategy == Strategy::List;
        let is_elsewhere = matches!(
            self.operation,
            MapOperation::Merge | MapOperation::Rebalance
        );
        if is_of_list && is_elsewhere {
            Some("schemas and groups are only possible with split, move, isolate and drain")
        } else if self.group.is_some()
            && (self.shape != KeyShape::Group
                || self.operation != MapOperation::Move
                || self.hot.is_some())
        {
            Some(
                "a group is only possible with the operation move and the strategy group, and without --hot",
            )
        } else if self.shape != KeyShape::BigInt && self.strategy != Strategy::Range && !is_of_list
        {
            Some("keys of other types than bigint are only possible with a range map")
        } else if !(2..=4).contains(&self.parts) {
            Some("a split must have 2 to 4 parts")
        } else if self.hot.is_some()
            && !matches!(self.operation, MapOperation::Move | MapOperation::Isolate)
        {
            Some("a hot tenant is only possible with the operation move or isolate")
        } else if self.hot.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
            Some("the share of a hot tenant must be between 0 and 1")
        } else {
            None
        }
    }
}
