//! What an agent is asked to look at on shards, outside of any migration; only mends, sweeps and closings change anything.

pub mod check;
mod directory;
pub mod identify;
pub mod inventory;
mod load;
pub mod reconcile;
pub mod sweep;

pub use directory::{
    Directory, DirectoryTable, DirectoryTask, LONGEST_VALUE, MOST_BYTES, MOST_ROWS,
};
pub use load::{ItemLoad, KeyLoad, Load, LoadTask};

use crate::doctor::{DoctorTask, Examined};
use crate::fleet::ShardRef;
use crate::step::verify::{Differences, ReportTask};
use crate::survey::{Survey, SurveyTask};
use check::{CheckTask, Checked, RepairResult, RepairTask};
use identify::{Identified, IdentifyTask};
use inventory::{Inventory, InventoryTask};
use reconcile::CloseTask;
use serde::{Deserialize, Serialize};
use sweep::{SweepTask, Swept};

/// A question with the id that its answer carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InspectionTask {
    /// Names the answer.
    pub id: String,
    /// What to look at.
    pub inspection: Inspection,
}

/// What to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "inspection", rename_all = "snake_case")]
pub enum Inspection {
    /// Two shards, for a move between them.
    Survey(SurveyTask),
    /// One shard, for what would stand in the way of a move.
    Doctor(DoctorTask),
    /// Where the load of a shard is.
    Load(LoadTask),
    /// A directory table of the operator's, to import a map from.
    Directory(DirectoryTask),
    /// One part of the check of a map.
    Check(Box<CheckTask>),
    /// Mends one defect that a check found.
    #[serde(rename = "mend")]
    Repair(Box<RepairTask>),
    /// Everything of ours on a shard.
    Inventory(InventoryTask),
    /// Which database a connection string leads to.
    Identify(IdentifyTask),
    /// Removes what no live migration explains.
    Sweep(Box<SweepTask>),
    /// Closes keys on a shard that is older than the map.
    Close(Box<CloseTask>),
    /// What the last comparisons of a migration found.
    Differences(Box<ReportTask>),
}

impl Inspection {
    /// The shards that it looks at.
    #[must_use]
    pub fn shards(&self) -> Vec<&ShardRef> {
        match self {
            Self::Survey(task) => vec![&task.source, &task.target],
            Self::Doctor(task) => vec![&task.shard],
            Self::Load(task) => vec![&task.shard],
            Self::Directory(task) => vec![&task.shard],
            Self::Check(task) => vec![&task.shard],
            Self::Repair(task) => task.shards.iter().collect(),
            Self::Inventory(task) => vec![&task.shard],
            Self::Identify(task) => vec![&task.shard],
            Self::Sweep(task) => vec![&task.shard],
            Self::Close(task) => vec![&task.shard],
            Self::Differences(task) => vec![&task.source, &task.target],
        }
    }
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "inspected", rename_all = "snake_case")]
pub enum Inspected {
    /// Answer to [`Inspection::Survey`].
    Survey(Survey),
    /// Answer to [`Inspection::Doctor`].
    Doctor(Examined),
    /// Answer to [`Inspection::Load`].
    Load(Load),
    /// Answer to [`Inspection::Directory`].
    Directory(Directory),
    /// Answer to [`Inspection::Check`].
    Check(Checked),
    /// Answer to [`Inspection::Repair`].
    #[serde(rename = "mend")]
    Repair(RepairResult),
    /// Answer to [`Inspection::Inventory`].
    Inventory(Box<Inventory>),
    /// Answer to [`Inspection::Identify`].
    Identified(Identified),
    /// Answer to [`Inspection::Sweep`] and [`Inspection::Close`].
    Swept(Swept),
    /// Answer to [`Inspection::Differences`].
    Differences(Differences),
}
