//! What a migration did when a server of its shards was replaced, or captured changes were lost: sentences from the
//! results of its steps. The journal has each event.

use super::draft::MigrationDraft;
use crate::store::Snapshot;
use plans::id::ShardName;
use plans::identity::DatabaseIdentity;
use plans::plan::Failover;
use plans::step::StepKind;
use plans::step::copy::{Copied, Resynced};
use plans::step::hold::Held;
use plans::step::open_capture::CaptureOpened;
use plans::step::preflight::Preflighted;
use plans::step::servers;
use serde::de::DeserializeOwned;

/// Records the promotions that the results of the steps show and the plan lacks. A later result of a step replaces an
/// earlier one.
pub(super) fn record(draft: &mut MigrationDraft) {
    let found = unrecorded(draft.snapshot());
    if !found.is_empty() {
        draft.migration().plan.failovers.extend(found);
    }
}

/// Returns the sentences about failovers and lost changes.
pub(super) fn notes(snapshot: &Snapshot) -> Vec<String> {
    let recorded = snapshot.migration.plan.failovers.iter().cloned();
    let failovers = recorded.chain(unrecorded(snapshot));
    let mut notes: Vec<String> = failovers.flat_map(sentences).collect();
    let copied = output::<Copied>(snapshot, StepKind::Copy);
    let compared = copied.and_then(|copied| copied.resync);
    notes.extend(compared.map(comparison_sentence));
    notes
}

/// Returns the promotions that the results of the steps show and the plan lacks.
fn unrecorded(snapshot: &Snapshot) -> Vec<Failover> {
    let plan = &snapshot.migration.plan;
    let Some(preflight) = output::<Preflighted>(snapshot, StepKind::Preflight) else {
        return Vec::new();
    };
    let first = (preflight.source.clone(), preflight.target.clone());
    let recorded = |kind| snapshot.step_of(kind)?.output.clone();
    let (source, target) = servers::recorded(preflight, recorded);
    let opened = output::<CaptureOpened>(snapshot, StepKind::OpenCapture);
    let continued_at = opened.and_then(|opened| opened.continued_from);
    let (source_shard, target_shard) = (&plan.moving.source, &plan.moving.target);
    let mut found = UnrecordedFailovers {
        recorded: &plan.failovers,
        found: Vec::new(),
    };
    found.add(source_shard, &first.0, &source, continued_at, false);
    found.add(target_shard, &first.1, &target, None, false);
    let held = [StepKind::Hold, StepKind::HoldBack].map(|kind| output::<Held>(snapshot, kind));
    for held in held.into_iter().flatten() {
        for (shard, server, found_there) in [
            (source_shard, &source, held.source),
            (target_shard, &target, held.target),
        ] {
            if let Some(promoted) = found_there {
                found.add(shard, server, &promoted, None, true);
            }
        }
    }
    found.found
}

/// Collects promotions that the plan lacks.
struct UnrecordedFailovers<'a> {
    recorded: &'a [Failover],
    found: Vec<Failover>,
}

impl UnrecordedFailovers<'_> {
    /// Adds the promotion of `new`, if it is a later server of the shard than the last one that is known.
    fn add(
        &mut self,
        shard: &ShardName,
        first: &DatabaseIdentity,
        new: &DatabaseIdentity,
        continued_at: Option<String>,
        in_hold: bool,
    ) {
        let mut known = self.recorded.iter().chain(&self.found);
        let last = known.rfind(|failover| &failover.shard == shard);
        let timeline_before = last.map_or(first.timeline, |last| last.timeline);
        if first.system == new.system && timeline_before < new.timeline {
            self.found.push(Failover {
                shard: shard.clone(),
                timeline_before,
                timeline: new.timeline,
                continued_at,
                in_hold,
            });
        }
    }
}

fn sentences(failover: Failover) -> Vec<String> {
    let shard = &failover.shard;
    let promoted = format!(
        "shard {shard}: a standby was promoted in the place of its server; timeline {}, and {} before",
        failover.timeline, failover.timeline_before
    );
    if failover.in_hold {
        return vec![format!(
            "after the flip, {promoted}; the stream continued there"
        )];
    }
    let continued = failover.continued_at.map(|position| {
        format!(
            "shard {shard}: its log branched off at {position}; the stream continued there, and nothing was copied again"
        )
    });
    std::iter::once(promoted).chain(continued).collect()
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
