//! Inspections: tasks of agents on shards outside of any migration. Only repairs, sweeps, closings and conversions change
//! anything.

pub mod check;
pub mod convert;
mod directory;
pub mod identify;
pub mod inventory;
mod load;
pub mod reconcile;
pub mod sweep;

pub use directory::{
    Directory, DirectoryTable, DirectoryTask, MAX_BYTES, MAX_ROWS, MAX_VALUE_CHARS,
};
pub use load::{ItemLoad, KeyLoad, Load, LoadTask};

use crate::doctor::{DoctorTask, Examined};
use crate::fleet::ShardRef;
use crate::step::verify::{Differences, ReportTask};
use crate::survey::{Survey, SurveyTask};
use check::{CheckTask, CheckTaskResult, RepairResult, RepairTask};
use convert::{ConvertTask, ConvertedShard};
use identify::{Identified, IdentifyTask};
use inventory::{Inventory, InventoryTask};
use reconcile::CloseTask;
use serde::{Deserialize, Serialize};
use sweep::{SweepTask, Swept};

/// An inspection, with an id that its result contains too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InspectionTask {
    /// The id.
    pub id: String,
    /// The inspection.
    pub inspection: Inspection,
}

/// An inspection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "inspection", rename_all = "snake_case")]
pub enum Inspection {
    /// Examines two shards for a move between them.
    Survey(SurveyTask),
    /// Examines one shard for what would prevent a move.
    Doctor(DoctorTask),
    /// Measures the load of a shard.
    Load(LoadTask),
    /// Reads a directory table of the operator, from which a map is imported.
    Directory(DirectoryTask),
    /// Performs one task of the check of a map.
    Check(Box<CheckTask>),
    /// Repairs one defect that a check found.
    #[serde(rename = "mend")]
    Repair(Box<RepairTask>),
    /// Lists all objects of Shardwright on a shard.
    Inventory(InventoryTask),
    /// Reads the identity of the database to which a connection string leads.
    Identify(IdentifyTask),
    /// Removes objects that belong to no unfinished migration.
    Sweep(Box<SweepTask>),
    /// Closes keys on a shard that was restored to an older state than the map.
    Close(Box<CloseTask>),
    /// Performs one task of the conversion of a map.
    Convert(Box<ConvertTask>),
    /// Reads what the last comparisons of a migration found.
    Differences(Box<ReportTask>),
}

impl Inspection {
    /// Returns the shards that it inspects.
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
            Self::Convert(task) => vec![&task.shard],
            Self::Differences(task) => vec![&task.source, &task.target],
        }
    }
}

/// The result of an inspection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "inspected", rename_all = "snake_case")]
pub enum Inspected {
    /// The result of [`Inspection::Survey`].
    Survey(Survey),
    /// The result of [`Inspection::Doctor`].
    Doctor(Examined),
    /// The result of [`Inspection::Load`].
    Load(Load),
    /// The result of [`Inspection::Directory`].
    Directory(Directory),
    /// The result of [`Inspection::Check`].
    Check(CheckTaskResult),
    /// The result of [`Inspection::Repair`].
    #[serde(rename = "mend")]
    Repair(RepairResult),
    /// The result of [`Inspection::Inventory`].
    Inventory(Box<Inventory>),
    /// The result of [`Inspection::Identify`].
    Identified(Identified),
    /// The result of [`Inspection::Sweep`] and [`Inspection::Close`].
    Swept(Swept),
    /// The result of [`Inspection::Convert`].
    Converted(ConvertedShard),
    /// The result of [`Inspection::Differences`].
    Differences(Differences),
}
