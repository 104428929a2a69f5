//! What an abort or the end of a rollback left on the shards: objects that could not be removed, and what the operator
//! must know about a promoted standby.

use crate::store::Snapshot;
use plans::step::StepKind;
use plans::step::unwind::{LeftObject, Unwound};

/// Returns the objects that the steps `unwind` and `drop_new` could not remove.
pub(crate) fn leftovers(snapshot: &Snapshot) -> Vec<LeftObject> {
    removals(snapshot)
        .flat_map(|unwound| unwound.leftovers)
        .collect()
}

/// Returns what the operator must know about a target that was a standby.
pub(crate) fn notes(snapshot: &Snapshot) -> Vec<String> {
    removals(snapshot)
        .flat_map(|unwound| unwound.notes)
        .collect()
}

/// Returns the results of the steps `unwind` and `drop_new`.
fn removals(snapshot: &Snapshot) -> impl Iterator<Item = Unwound> {
    let ends = [StepKind::Unwind, StepKind::DropNew].into_iter();
    let outputs = ends.filter_map(|kind| snapshot.step_of(kind)?.output.clone());
    outputs.filter_map(|output| serde_json::from_value(output).ok())
}
