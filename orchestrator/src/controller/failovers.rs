//! What a migration did when a server of its shards was replaced, or captured changes were lost: sentences from the
//! results of its steps. The journal has each event.

use crate::store::Snapshot;
use plans::id::ShardName;
use plans::identity::DatabaseIdentity;
use plans::step::StepKind;
use plans::step::copy::{Copied, Resynced};
use plans::step::hold::Held;
use plans::step::open_capture::CaptureOpened;
use plans::step::preflight::Preflighted;
use plans::step::servers;
use serde::de::DeserializeOwned;

/// Returns the sentences about failovers and lost changes.
pub(super) fn notes(snapshot: &Snapshot) -> Vec<String> {
    let moving = &snapshot.migration.plan.moving;
    let preflight = output::<Preflighted>(snapshot, StepKind::Preflight);
    let Some(preflight) = preflight else {
        return Vec::new();
    };
    let opened = output::<CaptureOpened>(snapshot, StepKind::OpenCapture);
    let copied = output::<Copied>(snapshot, StepKind::Copy);
    let (source, target) = (preflight.source.clone(), preflight.target.clone());
    let recorded = |kind| snapshot.step_of(kind)?.output.clone();
    let (new_source, new_target) = servers::recorded(preflight, recorded);
    let mut notes = Vec::new();
    notes.extend(promotion(&moving.source, &source, &new_source));
    if let Some(switch_point) = opened.as_ref().and_then(|o| o.continued_from.as_ref()) {
        notes.push(format!(
            "shard {}: its log branched off at {switch_point}; the stream continued there, and nothing was copied again",
            moving.source
        ));
    }
    notes.extend(promotion(&moving.target, &target, &new_target));
    notes.extend(
        copied
            .and_then(|copied| copied.resync)
            .map(comparison_sentence),
    );
    let held = [StepKind::Hold, StepKind::HoldBack].map(|kind| output::<Held>(snapshot, kind));
    let in_hold = |found: Option<&DatabaseIdentity>, shard, first| {
        let sentence = promotion(shard, first, found?)?;
        Some(format!(
            "after the flip, {sentence}; the stream continued there"
        ))
    };
    for held in held.iter().flatten() {
        notes.extend(in_hold(held.source.as_ref(), &moving.source, &new_source));
        notes.extend(in_hold(held.target.as_ref(), &moving.target, &new_target));
    }
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
