//! The names of steps for people. The names of the plan, as in `drop_old`, remain in URLs and in the API.

use plans::id::StepId;
use plans::step::StepKind;

/// Returns what a step of this kind does, in a few words.
pub(super) fn step_words(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Preflight => "check",
        StepKind::CreateTarget => "create target",
        StepKind::OpenCapture => "open capture",
        StepKind::Promote => "promote",
        StepKind::SetReadOnly => "set read-only",
        StepKind::Copy => "copy",
        StepKind::CatchUp => "catch up",
        StepKind::BuildIndexes => "build indexes",
        StepKind::Verify => "verify",
        StepKind::OpenReverse => "prepare rollback",
        StepKind::Cutover => "cutover",
        StepKind::Hold => "hold",
        StepKind::DropOld => "drop old rows",
        StepKind::DropSurplus => "drop surplus",
        StepKind::Unwind => "abort",
        StepKind::Rollback => "roll back",
        StepKind::HoldBack => "hold, rolled back",
        StepKind::DropNew => "drop the copy",
    }
}

/// Returns the same for the step with this name. A name that no kind has is returned as it is.
pub(super) fn words_of_step(id: &StepId) -> String {
    let mut kinds = StepKind::ALL.into_iter();
    let kind = kinds.find(|kind| kind.name() == id.as_str());
    kind.map_or_else(|| id.to_string(), |kind| step_words(kind).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_step_is_shown_by_its_identifier() {
        for kind in StepKind::ALL {
            let words = words_of_step(&StepId::from(kind.name()));
            assert!(!words.contains('_'), "{kind}: {words}");
            // The graph of the steps has no more room.
            assert!(words.chars().count() <= 17, "{kind}: {words}");
        }
    }
}
