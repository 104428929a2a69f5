//! What an agent is asked to look at on shards, outside of any migration; only a mend changes anything.

pub mod check;
mod directory;
mod load;

pub use directory::{Directory, DirectoryTask, MOST_ROWS};
pub use load::{ItemLoad, KeyLoad, Load, LoadTask};

use crate::survey::{Survey, SurveyTask};
use check::{CheckTask, Checked, MendTask, Mended};
use serde::{Deserialize, Serialize};

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
    /// Where the load of a shard is.
    Load(LoadTask),
    /// A directory table of the operator's, to import a map from.
    Directory(DirectoryTask),
    /// One part of the check of a map.
    Check(Box<CheckTask>),
    /// Mends one defect that a check found: the only one that writes.
    Mend(Box<MendTask>),
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "inspected", rename_all = "snake_case")]
pub enum Inspected {
    /// Answer to [`Inspection::Survey`].
    Survey(Survey),
    /// Answer to [`Inspection::Load`].
    Load(Load),
    /// Answer to [`Inspection::Directory`].
    Directory(Directory),
    /// Answer to [`Inspection::Check`].
    Check(Checked),
    /// Answer to [`Inspection::Mend`].
    Mend(Mended),
}
