//! Shards that contradict the map, and shards that cannot be reached.

use super::super::super::marks;
use super::super::super::reachability::ShardReachability;
use super::super::super::shards::ShardState;
use super::{AttentionItem, ItemButtons};
use crate::view::figures::ago;
use plans::inspection::reconcile::Contradiction;

/// The maximum number of unreachable shards that have an item each, and that one item for all of them names.
const MAX_ITEMS: usize = 3;

/// Describes a shard that contradicts the map.
pub(super) fn contradiction(finding: Contradiction) -> AttentionItem {
    let title = match &finding.map {
        Some(map) => format!("Shard {} contradicts map {map}", finding.shard),
        None => format!(
            "Shard {} has another server than before, or an older state of it",
            finding.shard
        ),
    };
    let href = format!("/shards/{}", finding.shard);
    AttentionItem {
        mark: marks::of_trouble(finding.kind.name()),
        title,
        since: None,
        text: format!("The last probe found: {}.", finding.message),
        hint: Some(finding.hint),
        buttons: ItemButtons::details_only(&href),
        href,
        command: "shardwright reconcile".to_owned(),
    }
}

/// Returns an item for each shard that the last probe did not reach, or one for many of them.
pub(super) fn unreachable(shards: &[ShardState<'_>]) -> Vec<AttentionItem> {
    let unreachable: Vec<&ShardState<'_>> = shards
        .iter()
        .filter(|shard| shard.reachability() == ShardReachability::Unreachable)
        .collect();
    if unreachable.len() <= MAX_ITEMS {
        return unreachable.into_iter().map(unreachable_shard).collect();
    }
    let names: Vec<&str> = unreachable
        .iter()
        .take(MAX_ITEMS)
        .map(|shard| shard.record.name.as_str())
        .collect();
    let href = "/shards?state=unreachable".to_owned();
    vec![AttentionItem {
        mark: marks::of_shard(ShardReachability::Unreachable),
        title: format!("{} shards are unreachable", unreachable.len()),
        since: None,
        text: format!(
            "The last probes failed, of {} and {} more.",
            names.join(", "),
            unreachable.len() - names.len()
        ),
        hint: None,
        buttons: ItemButtons::details_only(&href),
        href,
        command: "shardwright shard list".to_owned(),
    }]
}

fn unreachable_shard(shard: &ShardState<'_>) -> AttentionItem {
    let href = format!("/shards/{}", shard.record.name);
    AttentionItem {
        mark: shard.mark(),
        title: format!("Shard {} is unreachable", shard.record.name),
        since: shard.probed.observed_at.map(ago),
        text: shard.probed.failure.clone().unwrap_or_default(),
        hint: None,
        buttons: ItemButtons::details_only(&href),
        href,
        command: format!("shardwright shard show {}", shard.record.name),
    }
}
