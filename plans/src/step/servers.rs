//! The servers of a migration's shards, as its steps have recorded them (I10).
//!
//! A later record of a shard precedes an earlier one: a standby may have been promoted in between.

use serde_json::Value;

use super::StepKind;
use super::copy::Copied;
use super::create_target::TargetCreated;
use super::open_capture::CaptureOpened;
use super::preflight::Preflighted;
use super::promote::Promoted;
use super::set_read_only::ReadOnly;
use crate::identity::DatabaseIdentity;

/// Returns the recorded source and target. `output` returns the result of a later step if it is done.
pub fn recorded(
    preflight: Preflighted,
    output: impl Fn(StepKind) -> Option<Value>,
) -> (DatabaseIdentity, DatabaseIdentity) {
    let opened = output(StepKind::OpenCapture).and_then(|value| serde_json::from_value(value).ok());
    let promoted = output(StepKind::Promote).and_then(|value| serde_json::from_value(value).ok());
    let copied = output(StepKind::Copy).and_then(|value| serde_json::from_value(value).ok());
    let read_only =
        output(StepKind::SetReadOnly).and_then(|value| serde_json::from_value(value).ok());
    let source = opened.and_then(|opened: CaptureOpened| opened.source);
    let source = source.or_else(|| read_only.and_then(|step: ReadOnly| step.source));
    let target = promoted.map(|promoted: Promoted| promoted.target);
    let target = target.or_else(|| copied.and_then(|copied: Copied| copied.target));
    let created =
        output(StepKind::CreateTarget).and_then(|value| serde_json::from_value(value).ok());
    let target = target.or_else(|| created.and_then(|created: TargetCreated| created.target));
    (
        source.unwrap_or(preflight.source),
        target.unwrap_or(preflight.target),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_server_of_a_later_step_precedes_that_of_the_preflight() {
        let server = |timeline| json!({ "system": "7", "timeline": timeline });
        let preflight = Preflighted {
            source: serde_json::from_value(server(1)).unwrap(),
            target: serde_json::from_value(server(2)).unwrap(),
            ..Preflighted::default()
        };
        let opened = json!({ "consistent_point": "0/1", "source": server(3) });
        let copied = json!(Copied {
            target: serde_json::from_value(server(4)).unwrap(),
            ..Copied::default()
        });
        let of = |steps: &[(StepKind, Value)]| {
            let find = |kind| steps.iter().find(|(step, _)| *step == kind);
            let output = |kind| find(kind).map(|(_, output)| output.clone());
            let (source, target) = recorded(preflight.clone(), output);
            (source.timeline, target.timeline)
        };
        assert_eq!(of(&[]), (1, 2));
        let all = [(StepKind::OpenCapture, opened), (StepKind::Copy, copied)];
        assert_eq!(of(&all[..1]), (3, 2));
        assert_eq!(of(&all), (3, 4));
        let read_only = json!({ "waited_ms": 1, "source": server(5) });
        let created = json!(TargetCreated {
            target: serde_json::from_value(server(6)).unwrap(),
            ..TargetCreated::default()
        });
        let offline = [
            (StepKind::CreateTarget, created),
            (StepKind::SetReadOnly, read_only),
        ];
        assert_eq!(of(&offline), (5, 6));
    }
}
