//! What was done to the migration on purpose, and what came of it.

use crate::options::Kill;
use plans::failure::Failure;
use plans::step::StepKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A process that was killed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Killed {
    /// Which.
    pub process: String,
    /// In which step.
    pub step: String,
    /// At which point of it.
    pub fail_point: String,
    /// Whether it happened.
    pub fired: bool,
    /// When it was started again, milliseconds after the kill.
    pub restarted_after_ms: u64,
}

/// Trouble that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Troubled {
    /// Which.
    pub kind: String,
    /// In which step it was made.
    pub step: StepKind,
    /// The step that failed of it.
    pub failed_step: Option<StepKind>,
    /// What the migration said.
    pub failure: Failure,
    /// When the migration was failed, milliseconds after the trouble began.
    pub failed_after_ms: u64,
    /// How long the target was away, seconds, and the most log that the source kept for the migration meanwhile,
    /// bytes; 0 where that was not watched.
    #[serde(default)]
    pub away_s: u64,
    /// See `away_s`.
    #[serde(default)]
    pub retained_peak_bytes: i64,
}

/// Controller and agents were killed in the cutover, and nothing was started for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orphaned {
    /// At which point.
    pub fail_point: String,
    /// When the source took a write to a moving key, milliseconds after the kill by the source's clock.
    pub source_open_after_ms: Option<i64>,
    /// How long nothing of ours ran, milliseconds.
    pub alone_ms: u64,
    /// Refusals by the source, by SQLSTATE.
    pub source_refused: BTreeMap<String, u64>,
    /// Writes that the target took; there must be none.
    pub target_took: u64,
    /// Refusals by the target, by SQLSTATE.
    pub target_refused: BTreeMap<String, u64>,
}

impl Orphaned {
    pub(super) fn text(&self) -> String {
        let source = match self.source_open_after_ms {
            Some(after) => format!("the source took writes to the moving keys after {after} ms"),
            None => "the source refused all writes to the moving keys".to_owned(),
        };
        format!(
            "Orphaned     controller and agents killed at {}, nothing ran for {} ms: {source}, the target took {}.",
            self.fail_point, self.alone_ms, self.target_took
        )
    }
}

impl Killed {
    pub(crate) fn at(kill: Kill, fail_point: &str) -> Self {
        Self {
            process: kill.process.to_string(),
            step: kill.step.to_string(),
            fail_point: fail_point.to_owned(),
            fired: false,
            restarted_after_ms: 0,
        }
    }
}
