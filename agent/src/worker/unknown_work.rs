//! Handles work of a newer controller that this version does not understand. The agent reports it as failed, and never
//! does a part of it.

use plans::failure::{Failure, RetryClass, StepCode};
use plans::id::{Epoch, MigrationId, StepId};
use plans::wire::{Outcome, Progress, Report, StepReport, WireSecret};
use serde::Deserialize;

/// The fields of assigned work that are the same in every version.
#[derive(Debug, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
enum WorkHead {
    Step {
        migration: MigrationId,
        epoch: Epoch,
        #[serde(default)]
        secret: Option<WireSecret>,
        step: Option<(StepId, serde_json::Value)>,
    },
    Inspect {
        id: String,
    },
}

/// Returns the report that the work failed; `None` if the work has no step, or if the fields of [`WorkHead`] cannot be
/// decoded.
pub(super) fn failure_report(work: &str, reason: &str) -> Option<Report> {
    let failure = failure(reason);
    match serde_json::from_str(work).ok()? {
        WorkHead::Step {
            migration,
            epoch,
            secret,
            step,
        } => {
            let (step, _) = step?;
            Some(Report::Step(StepReport {
                migration,
                step,
                epoch,
                secret,
                outcome: Outcome::Failed { failure },
                progress: Progress::default(),
            }))
        }
        WorkHead::Inspect { id } => Some(Report::Inspected {
            id,
            result: Err(failure),
        }),
    }
}

fn failure(reason: &str) -> Failure {
    let version = env!("CARGO_PKG_VERSION");
    Failure {
        code: StepCode::AgentVersion.into(),
        message: format!("an agent of version {version} does not understand this work: {reason}"),
        hint: Some("upgrade the agents to the controller's version, then resume".to_owned()),
        retry: RetryClass::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_step_is_reported_as_failed_under_its_epoch() {
        // The step kind `fold` and the field `paper` represent those of a newer version.
        let work = r#"{"work": "step", "migration": "m1", "epoch": 7, "step": ["fold", "fold"], "paper": 4}"#;
        assert!(serde_json::from_str::<plans::wire::Work>(work).is_err());
        let Some(Report::Step(report)) = failure_report(work, "unknown variant `fold`") else {
            panic!("nothing is reported");
        };
        let identity = (
            report.migration.as_str(),
            report.step.as_str(),
            report.epoch,
        );
        assert_eq!(identity, ("m1", "fold", Epoch(7)));
        let Outcome::Failed { failure } = report.outcome else {
            panic!("{:?}", report.outcome);
        };
        assert_eq!(
            (failure.code.as_str(), failure.retry),
            ("agent.version", RetryClass::None)
        );
        assert!(failure.message.contains("`fold`"), "{failure:?}");
    }

    #[test]
    fn an_unknown_inspection_is_reported_as_failed() {
        let work = r#"{"work": "inspect", "id": "i1", "inspection": {"inspection": "dream"}}"#;
        let Some(Report::Inspected { id, result }) = failure_report(work, "why") else {
            panic!("nothing is reported");
        };
        assert_eq!((id.as_str(), result.is_err()), ("i1", true));
    }

    #[test]
    fn work_without_a_step_is_not_reported() {
        let without_step = r#"{"work": "step", "migration": "m1", "epoch": 7, "step": null}"#;
        assert_eq!(failure_report(without_step, "why"), None);
        assert_eq!(failure_report("[]", "why"), None);
    }
}
