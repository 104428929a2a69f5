//! Intentional failures of a migration, and their effects.

use crate::options::Kill;
use plans::failure::Failure;
use plans::step::StepKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A process that was killed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KilledProcess {
    /// The name of the process.
    pub process: String,
    /// The step in which it was killed.
    pub step: String,
    /// The fail point at which it was killed.
    pub fail_point: String,
    /// Whether the kill happened.
    pub fired: bool,
    /// The time from the kill to the restart, in milliseconds.
    pub restarted_after_ms: u64,
    /// The time from the kill to the copy's next row, in milliseconds; only for an agent that was killed in a copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_row_after_ms: Option<u64>,
}

/// A failure that was caused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TroubleReport {
    /// The kind of failure.
    pub kind: String,
    /// The step in which it was caused.
    pub step: StepKind,
    /// The step that failed because of it.
    pub failed_step: Option<StepKind>,
    /// The migration's failure.
    pub failure: Option<Failure>,
    /// The time from the failure until the migration had failed, or until the target was reachable again, in
    /// milliseconds.
    pub lasted_ms: u64,
    /// The greatest number of bytes of log that the source retained for the migration while the target was unreachable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retained_peak_bytes: Option<i64>,
}

/// The controller and the agents were killed in the cutover, and nothing was started for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrphanedCutover {
    /// The fail point at which they were killed.
    pub fail_point: String,
    /// The time from the kill until the source accepted a write to a moving key, in milliseconds of the source's clock.
    pub source_open_after_ms: Option<i64>,
    /// For how many milliseconds no controller and no agent ran.
    pub alone_ms: u64,
    /// The number of writes that the source refused, by SQLSTATE.
    pub source_refused: BTreeMap<String, u64>,
    /// The number of writes that the target accepted. It must be 0.
    #[serde(rename = "target_took")]
    pub target_accepted: u64,
    /// The number of writes that the target refused, by SQLSTATE.
    pub target_refused: BTreeMap<String, u64>,
}

/// An agent was stopped in the cutover for longer than writes may be refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StalledCutover {
    /// The fail point at which it was stopped.
    pub fail_point: String,
    /// The time from the stop until the source accepted a write to a moving key, in milliseconds. It has no value if
    /// this took more than 30 s.
    pub source_open_after_ms: Option<u64>,
    /// Why attempts were given up, in order.
    #[serde(rename = "released")]
    pub give_up_reasons: Vec<String>,
}

impl StalledCutover {
    pub(super) fn text(&self) -> String {
        let source = match self.source_open_after_ms {
            Some(after) => {
                format!("the source accepted writes to the moving keys after {after} ms")
            }
            None => "the source refused all writes to the moving keys".to_owned(),
        };
        format!(
            "Stalled      an agent was stopped at {}: {source}.",
            self.fail_point
        )
    }
}

impl OrphanedCutover {
    pub(super) fn text(&self) -> String {
        let source = match self.source_open_after_ms {
            Some(after) => {
                format!("the source accepted writes to the moving keys after {after} ms")
            }
            None => "the source refused all writes to the moving keys".to_owned(),
        };
        format!(
            "Orphaned     controller and agents killed at {}, none of them ran for {} ms: {source}, the target accepted {} writes.",
            self.fail_point, self.alone_ms, self.target_accepted
        )
    }
}

impl TroubleReport {
    pub(super) fn text(&self) -> String {
        let cause = format!("Trouble      {} in step {}", self.kind, self.step);
        if let Some(failure) = &self.failure {
            return format!(
                "{cause}: the migration failed after {} ms ({}), and the failure was repaired.",
                self.lasted_ms, failure.code
            );
        }
        format!(
            "{cause} for {} s: the migration continued without a command; the source retained at most {} MiB of log for it.",
            self.lasted_ms / 1000,
            self.retained_peak_bytes.unwrap_or(0) >> 20
        )
    }
}

impl KilledProcess {
    pub(crate) fn not_fired(kill: Kill, fail_point: &str) -> Self {
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
