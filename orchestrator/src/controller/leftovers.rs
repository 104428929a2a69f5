//! What an abort or the end of a rollback left on the shards: objects that could not be removed, and what the operator
//! should know about promoted standbys.

use super::failovers;
use super::seeding::promoted;
use crate::store::Snapshot;
use plans::plan::FollowedChange;
use plans::sql::quote_literal;
use plans::step::StepKind;
use plans::step::unwind::{LeftObject, Unwound};

/// Returns the objects that the steps `unwind` and `drop_new` could not remove.
pub(crate) fn leftovers(snapshot: &Snapshot) -> Vec<LeftObject> {
    removals(snapshot)
        .flat_map(|unwound| unwound.leftovers)
        .collect()
}

/// Maximum number of changes of definitions in the notes. The journal has all.
const MAX_FOLLOWED: usize = 40;

/// Returns what the operator should know about the course: failovers and lost changes, changes of definitions that the
/// agent has made on the other shard, and, about a target that was a standby, the notes of the abort and the slot on the
/// source from which it streamed.
pub(crate) fn notes(snapshot: &Snapshot) -> Vec<String> {
    let removed = removals(snapshot).flat_map(|unwound| unwound.notes);
    let removed = removed.chain(unused_slot(snapshot));
    failovers::notes(snapshot)
        .into_iter()
        .chain(followed_changes(snapshot))
        .chain(removed)
        .collect()
}

/// Returns the changes of definitions that the agent has followed, with their positions.
fn followed_changes(snapshot: &Snapshot) -> Vec<String> {
    let followed = &snapshot.migration.plan.followed;
    let sentence = |change: &FollowedChange| {
        format!(
            "shard {} at {}: {}; the agent made this change on the other shard too",
            change.shard, change.position, change.change
        )
    };
    let mut sentences: Vec<String> = followed.iter().take(MAX_FOLLOWED).map(sentence).collect();
    if let Some(more) = followed
        .len()
        .checked_sub(MAX_FOLLOWED)
        .filter(|more| *more > 0)
    {
        sentences.push(format!(
            "{more} more changes of definitions are in the journal"
        ));
    }
    sentences
}

/// Returns that the source retains log for the slot from which the promoted standby streamed, with the remedy.
fn unused_slot(snapshot: &Snapshot) -> Option<String> {
    let slot = promoted(snapshot)?.unused_slot?;
    Some(format!(
        "shard {} retains log for the physical slot {slot}, which nothing uses since the promotion; drop it there: `select pg_drop_replication_slot({})`",
        snapshot.migration.plan.moving.source,
        quote_literal(&slot)
    ))
}

/// Returns the results of the steps `unwind` and `drop_new`.
fn removals(snapshot: &Snapshot) -> impl Iterator<Item = Unwound> {
    let ends = [StepKind::Unwind, StepKind::DropNew].into_iter();
    let outputs = ends.filter_map(|kind| snapshot.step_of(kind)?.output.clone());
    outputs.filter_map(|output| serde_json::from_value(output).ok())
}
