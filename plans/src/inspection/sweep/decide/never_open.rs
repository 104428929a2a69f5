//! Decides about a target that has recorded no flip of the migration, so that Shardwright has never opened it. No I/O.

use super::super::super::inventory::{About, CLOSED, Inventory, ObservedMove};
use super::super::{Guards, SweepInput};
use super::MoveVerdict;
use crate::key_set::KeySet;

/// Decides about a target without a recorded flip. Clients never wrote there, unless another migration moved the keys
/// to it.
pub(super) fn decide(
    input: &SweepInput,
    inventories: &[Inventory],
    inventory: &Inventory,
    (own, about): (&ObservedMove, &About),
    owned_keys: &KeySet,
) -> MoveVerdict {
    if owned_keys.is_empty() {
        return decide_copied_rows(input, inventory, own, about);
    }
    let source = &about.source;
    if !input.owners.contains_key(&own.map) {
        return MoveVerdict::decide(format!(
            "with this migration this shard never accepted writes to {}, so it may lack rows that shard {source} has; if this shard owns the keys since: --owner {}={}",
            about.keys, own.map, inventory.shard
        ));
    }
    let old_owner = inventories.iter().find(|other| &other.shard == source);
    if let Some(open) = old_owner
        .map(|old_owner| open_keys(old_owner, own, about))
        .filter(|open| !open.is_empty())
    {
        return MoveVerdict::decide(format!(
            "by your option --owner this shard owns the keys, but shard {source} accepts writes to {open}: find out which of the two shards has all rows, and close the other one"
        ));
    }
    MoveVerdict::remove(
        "this shard owns the keys, by your option --owner: it accepts writes to them, and keeps all rows",
        Guards::of(own),
    )
}

/// Decides about the rows and tables of a migration on a shard that never owned its keys.
fn decide_copied_rows(
    input: &SweepInput,
    inventory: &Inventory,
    own: &ObservedMove,
    about: &About,
) -> MoveVerdict {
    let is_of_same_keys = |other: &&ObservedMove| {
        let keys = other.about.as_ref().map(|about| &about.keys);
        other.map == own.map
            && other.migration != own.migration
            && keys.is_none_or(|keys| keys.overlaps(&about.keys))
    };
    let same_keys: Vec<&ObservedMove> = inventory.moves.iter().filter(is_of_same_keys).collect();
    let never_open = |other: &ObservedMove| {
        other.role == "target"
            && other.flipped.is_none()
            && other.register.is_none_or(|r| r == CLOSED)
    };
    let mut others = same_keys.iter();
    let needed_elsewhere =
        others.find(|other| input.unfinished.contains(&other.migration) || !never_open(other));
    if let Some(other) = needed_elsewhere.filter(|_| own.copied) {
        return MoveVerdict::decide(format!(
            "migration {} has copied rows of {} to this shard too, and the rows of the two migrations cannot be distinguished: nothing is removed before that migration has ended",
            other.migration, about.keys
        ));
    }
    MoveVerdict::remove(
        "this shard never owned the keys: the source of the migration still has the rows that were copied to this shard",
        Guards {
            copied: own.copied,
            left_too: same_keys
                .iter()
                .map(|other| other.migration.clone())
                .collect(),
            ..Guards::of(own)
        },
    )
}

/// Returns those of a migration's keys to which its old owner accepts writes, and which no permanent guard refuses.
fn open_keys(old_owner: &Inventory, own: &ObservedMove, about: &About) -> KeySet {
    let released = old_owner
        .released_keys
        .iter()
        .filter(|released| released.map == own.map);
    let closed = old_owner
        .moves
        .iter()
        .filter(|row| row.map == own.map && row.refuses());
    let closed = closed.filter_map(|row| row.about.as_ref().map(|about| &about.keys));
    let refused = released.map(|released| &released.keys).chain(closed);
    refused.fold(about.keys.clone(), |open, refused| open.minus(refused))
}
