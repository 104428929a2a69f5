//! A lower bound of the bytes that any rebalance must move.

use plans::rebalance::{AllowedSet, RebalanceItem, RebalanceShard, ShardBalance};

/// Returns a lower bound of the bytes that must move: the bytes of items that must leave their shards, and, for each
/// shard that exceeds its limit without these items, the bytes of those other items that reduce its load to the limit
/// with the fewest bytes. The last of these items counts in part.
///
/// The true minimum can be higher, because this bound treats pinned items as movable and assumes that other shards have
/// enough space. `before` is the balance of the fleet before the moves, as the rebalance reports it.
#[must_use]
pub fn lower_bound_bytes(
    shards: &[RebalanceShard],
    items: &[RebalanceItem],
    allowed: &[AllowedSet],
    before: &[ShardBalance],
) -> u128 {
    let mut excess: Vec<u128> = before
        .iter()
        .map(|balance| u128::from(balance.cost))
        .collect();
    let mut others: Vec<Vec<(u64, u64)>> = vec![Vec::new(); shards.len()];
    let mut forced = 0;
    for item in items {
        let shard = &shards[item.shard as usize];
        let may_stay = shard.accepts
            && shard.capacity > 0
            && allowed[item.allowed.0 as usize].contains(item.shard);
        if may_stay {
            others[item.shard as usize].push((item.cost, item.bytes));
        } else {
            excess[item.shard as usize] -= u128::from(item.cost);
            forced += u128::from(item.bytes);
        }
    }
    let bytes_over_limits =
        excess
            .iter()
            .zip(before)
            .zip(others)
            .map(|((load, balance), others)| {
                fewest_bytes(others, load.saturating_sub(u128::from(balance.limit)))
            });
    forced + bytes_over_limits.sum::<u128>()
}

/// Returns the fewest bytes of items, given as (cost, bytes), whose costs have the sum `excess`. Takes the items with
/// the most cost per byte first, and a fraction of the last one.
fn fewest_bytes(mut items: Vec<(u64, u64)>, mut excess: u128) -> u128 {
    items.sort_by(|(cost, bytes), (other_cost, other_bytes)| {
        let left = u128::from(*bytes) * u128::from(*other_cost);
        left.cmp(&(u128::from(*other_bytes) * u128::from(*cost)))
    });
    let mut sum = 0;
    for (cost, bytes) in items {
        let (cost, bytes) = (u128::from(cost), u128::from(bytes));
        if excess <= cost {
            return sum + (bytes * excess).checked_div(cost).unwrap_or(0);
        }
        excess -= cost;
        sum += bytes;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet;

    #[test]
    fn the_last_item_counts_in_part() {
        assert_eq!(fewest_bytes(vec![(10, 100), (10, 10), (5, 20)], 0), 0);
        assert_eq!(fewest_bytes(vec![(10, 100), (10, 10), (5, 20)], 12), 18);
        assert_eq!(fewest_bytes(vec![(10, 100), (10, 10), (5, 20)], 20), 80);
        assert_eq!(fewest_bytes(vec![(0, 7), (1, 1)], 9), 8);
    }

    #[test]
    fn a_rebalance_comes_close_to_the_bound() {
        let fleet = fleet::skewed(20, 20_000);
        let outcome = fleet.rebalance();
        let moved: u128 = outcome
            .moves
            .iter()
            .map(|made| u128::from(made.bytes))
            .sum();
        let least = lower_bound_bytes(&fleet.shards, &fleet.items, &fleet.allowed, &outcome.before);
        assert!(
            least > 0 && least <= moved && moved * 100 <= least * 105,
            "{moved} of {least}"
        );
        assert_eq!(outcome.unresolved, []);
    }
}
