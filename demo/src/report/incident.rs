//! What was done to the migration on purpose, and what came of it.

use crate::options::Kill;
use plans::failure::Failure;
use plans::step::StepKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A process that was killed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KilledProcess {
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
    /// When the copy wrote its next row, milliseconds after the kill; of an agent that was killed in a copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_row_after_ms: Option<u64>,
}

/// Trouble that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TroubleReport {
    /// Which.
    pub kind: String,
    /// In which step it was made.
    pub step: StepKind,
    /// The step that failed of it.
    pub failed_step: Option<StepKind>,
    /// What the migration said when it failed of it.
    pub failure: Option<Failure>,
    /// How long it lasted until the migration was failed or the trouble was over, milliseconds.
    pub lasted_ms: u64,
    /// The most log that the source kept for the migration while its target was away, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retained_peak_bytes: Option<i64>,
}

/// Controller and agents were killed in the cutover, and nothing was started for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrphanedCutover {
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

/// An agent stood still in the cutover for longer than writes may be refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StalledCutover {
    /// At which point.
    pub fail_point: String,
    /// When the source took a write to a moving key, milliseconds after the agent had come there; none within 30 s.
    pub source_open_after_ms: Option<u64>,
    /// Why attempts were released, in order.
    pub released: Vec<String>,
}

impl StalledCutover {
    pub(super) fn text(&self) -> String {
        let source = match self.source_open_after_ms {
            Some(after) => format!("the source took writes to the moving keys after {after} ms"),
            None => "the source refused all writes to the moving keys".to_owned(),
        };
        format!(
            "Stalled      an agent stood still at {}: {source}.",
            self.fail_point
        )
    }
}

impl OrphanedCutover {
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

impl TroubleReport {
    pub(super) fn text(&self) -> String {
        let made = format!("Trouble      {} in step {}", self.kind, self.step);
        if let Some(failure) = &self.failure {
            return format!(
                "{made}: the migration failed after {} ms ({}) and was mended.",
                self.lasted_ms, failure.code
            );
        }
        format!(
            "{made} for {} s: the migration went on by itself; the source kept at most {} MiB of log for it.",
            self.lasted_ms / 1000,
            self.retained_peak_bytes.unwrap_or(0) >> 20
        )
    }
}

impl KilledProcess {
    pub(crate) fn at(kill: Kill, fail_point: &str) -> Self {
        Self {
            process: kill.process.to_string(),
            step: kill.step.to_string(),
            fail_point: fail_point.to_owned(),
            fired: false,
            restarted_after_ms: 0,
            first_row_after_ms: None,
        }
    }
}
