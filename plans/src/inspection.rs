//! What an agent is asked to look at on shards, outside of any migration; nothing is changed there.

mod load;

pub use load::{ItemLoad, KeyLoad, Load, LoadTask};

use crate::survey::{Survey, SurveyTask};
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
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "inspected", rename_all = "snake_case")]
pub enum Inspected {
    /// Answer to [`Inspection::Survey`].
    Survey(Survey),
    /// Answer to [`Inspection::Load`].
    Load(Load),
}
