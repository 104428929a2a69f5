//! Objects that an abort or the end of a rollback left on the shards.

use crate::store::Snapshot;
use plans::step::StepKind;
use plans::step::unwind::{LeftObject, Unwound};

/// Returns the objects that the steps `unwind` and `drop_new` could not remove.
pub(crate) fn leftovers(snapshot: &Snapshot) -> Vec<LeftObject> {
    let ends = [StepKind::Unwind, StepKind::DropNew].into_iter();
    let outputs = ends.filter_map(|kind| snapshot.step_of(kind)?.output.clone());
    outputs
        .filter_map(|output| serde_json::from_value::<Unwound>(output).ok())
        .flat_map(|unwound| unwound.leftovers)
        .collect()
}
