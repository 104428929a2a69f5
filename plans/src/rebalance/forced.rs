//! Places the items that must leave: first those on shards that constraints forbid, then those on drained shards.
//!
//! Items with the fewest allowed shards are placed first. A shard exceeds its limit only if no other shard remains.

use super::receiver::{ReceiverLimit, Receivers};
use super::state::{RebalanceState, to_index};

/// Places every item that must leave on another shard, as far as space and the limit on bytes permit.
pub(super) fn place_items_that_must_leave(state: &mut RebalanceState<'_>) {
    let choices: Vec<usize> = state
        .allowed
        .iter()
        .map(|set| {
            let open = |shard: &u32| state.accepts(*shard) && set.contains(*shard);
            state.shard_indices().filter(open).count()
        })
        .collect();
    let mut forced: Vec<_> = (0_u32..)
        .zip(state.items)
        .filter_map(|(index, item)| {
            let kind = state.must_leave(index)?;
            Some((
                kind,
                choices[to_index(item.allowed.0)],
                item.shard,
                item.allowed,
                index,
            ))
        })
        .collect();
    forced.sort_unstable();
    let mut incoming = vec![0; state.allowed.len()];
    for (_, _, _, set, item) in &forced {
        incoming[to_index(set.0)] += u128::from(state.items[to_index(*item)].cost);
    }
    state.set_levels(&incoming);
    let receiver_limits = [
        ReceiverLimit::Fair,
        ReceiverLimit::Limit,
        ReceiverLimit::Level,
        ReceiverLimit::Any,
    ];
    let mut receivers = Receivers::default();
    let mut source = None;
    for (_, _, owner, _, item) in forced {
        if source.replace(owner) != Some(owner) {
            receivers.next_source();
        }
        if let Some(shard) = receivers.find(state, item, &receiver_limits) {
            state.place_item(item, shard);
        }
    }
}
