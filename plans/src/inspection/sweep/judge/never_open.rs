//! What a target keeps of a migration whose flip it was never told of; pure.

use super::super::super::inventory::{About, CLOSED, Inventory, MoveSeen};
use super::super::{Ground, Guards};
use super::Judged;
use crate::key_set::KeySet;

/// A target that no flip was told of: clients never wrote there, unless another migration brought the keys.
pub(super) fn judge(
    ground: &Ground,
    seen: &[Inventory],
    inventory: &Inventory,
    (own, about): (&MoveSeen, &About),
    here: &KeySet,
) -> Judged {
    if here.is_empty() {
        return judge_brought(ground, inventory, own, about);
    }
    let source = &about.source;
    if !ground.owners.contains_key(&own.map) {
        return Judged::decide(format!(
            "this shard never took writes for {} by this migration, so its copy may lack rows that shard {source} has; if it owns them since: --owner {}={}",
            about.keys, own.map, inventory.shard
        ));
    }
    let former = seen.iter().find(|other| &other.shard == source);
    if let Some(open) = former
        .map(|former| open_keys(former, own, about))
        .filter(|open| !open.is_empty())
    {
        return Judged::decide(format!(
            "you say that this shard owns them, but shard {source} takes writes for {open}: find out which of the two has all rows, and close the other one"
        ));
    }
    Judged::remove(
        "this shard owns the keys, as you say: it takes writes for them, and keeps all rows",
        Guards::of(own),
    )
}

/// Rows and tables of a migration on a shard that never owned its keys.
fn judge_brought(ground: &Ground, inventory: &Inventory, own: &MoveSeen, about: &About) -> Judged {
    let same = |other: &&MoveSeen| {
        let keys = other.about.as_ref().map(|about| &about.keys);
        other.map == own.map
            && other.migration != own.migration
            && keys.is_none_or(|keys| keys.overlaps(&about.keys))
    };
    let same: Vec<&MoveSeen> = inventory.moves.iter().filter(same).collect();
    let never_open = |other: &MoveSeen| {
        other.role == "target"
            && other.flipped.is_none()
            && other.register.is_none_or(|r| r == CLOSED)
    };
    let mut others = same.iter();
    let in_the_way =
        others.find(|other| ground.live.contains(&other.migration) || !never_open(other));
    if let Some(other) = in_the_way.filter(|_| own.brought) {
        return Judged::decide(format!(
            "migration {} is about {} here too, and which rows are whose cannot be told: nothing goes before it has ended",
            other.migration, about.keys
        ));
    }
    Judged::remove(
        "this shard never owned the keys: what was brought here is on the shard that they were to leave",
        Guards {
            brought: own.brought,
            left_too: same.iter().map(|other| other.migration.clone()).collect(),
            ..Guards::of(own)
        },
    )
}

/// Those of a migration's keys that its former owner takes writes for: nothing refuses them there for good.
fn open_keys(former: &Inventory, own: &MoveSeen, about: &About) -> KeySet {
    let away = former.away.iter().filter(|away| away.map == own.map);
    let closed = former
        .moves
        .iter()
        .filter(|row| row.map == own.map && row.refuses());
    let closed = closed.filter_map(|row| row.about.as_ref().map(|about| &about.keys));
    let refused = away.map(|away| &away.keys).chain(closed);
    refused.fold(about.keys.clone(), |open, refused| open.minus(refused))
}
