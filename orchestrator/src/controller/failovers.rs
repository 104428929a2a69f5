//! What a migration did when a server of its shards was replaced, or captured changes were lost: sentences from the
//! results of its steps. The journal has each event.

use crate::store::Snapshot;
use plans::id::ShardName;
use plans::identity::DatabaseIdentity;
use plans::step::StepKind;
use plans::step::copy::{Copied, Resynced};
use plans::step::open_capture::CaptureOpened;
use plans::step::preflight::Preflighted;
use serde::de::DeserializeOwned;

/// Returns the sentences about failovers and lost changes before the flip.
pub(super) fn notes(snapshot: &Snapshot) -> Vec<String> {
    let moving = &snapshot.migration.plan.moving;
    let preflight = output::<Preflighted>(snapshot, StepKind::Preflight);
    let opened = output::<CaptureOpened>(snapshot, StepKind::OpenCapture);
    let copied = output::<Copied>(snapshot, StepKind::Copy);
    let (source, target) = preflight.map_or_else(Default::default, |p| (p.source, p.target));
    let new_source = opened.as_ref().and_then(|opened| opened.source.as_ref());
    let new_target = copied.as_ref().and_then(|copied| copied.target.as_ref());
    let mut notes = Vec::new();
    notes.extend(new_source.and_then(|new| promotion(&moving.source, &source, new)));
    if let Some(switch_point) = opened.as_ref().and_then(|o| o.continued_from.as_ref()) {
        notes.push(format!(
            "shard {}: its log branched off at {switch_point}; the stream continued there, and nothing was copied again",
            moving.source
        ));
    }
    notes.extend(new_target.and_then(|new| promotion(&moving.target, &target, new)));
    notes.extend(
        copied
            .and_then(|copied| copied.resync)
            .map(comparison_sentence),
    );
    notes
}

/// Returns that a standby was promoted in the place of the first server, if it was.
fn promotion(
    shard: &ShardName,
    first: &DatabaseIdentity,
    new: &DatabaseIdentity,
) -> Option<String> {
    (first.system == new.system && first.timeline < new.timeline).then(|| {
        format!(
            "shard {shard}: a standby was promoted in the place of its server; timeline {}, and {} before",
            new.timeline, first.timeline
        )
    })
}

fn comparison_sentence(resync: Resynced) -> String {
    format!(
        "captured changes were lost, so {} copied rows were compared with the source: {} were deleted and {} ({} bytes) copied again",
        resync.rows, resync.deleted, resync.copied, resync.bytes
    )
}

fn output<T: DeserializeOwned>(snapshot: &Snapshot, kind: StepKind) -> Option<T> {
    let output = snapshot.step_of(kind)?.output.clone()?;
    serde_json::from_value(output).ok()
}
