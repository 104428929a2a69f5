//! Places the items that must leave: first those on shards that constraints forbid, then those on drained shards.
//!
//! Items with the fewest allowed shards are placed first. A shard exceeds its limit only if no other shard remains.

use super::board::{RebalanceState, at};
use super::receiver::{ReceiverLimit, Receivers};

/// Places every item that must leave on another shard, as far as space and the limit on bytes permit.
pub(super) fn place(board: &mut RebalanceState<'_>) {
    let choices: Vec<usize> = board
        .allowed
        .iter()
        .map(|set| {
            let open = |shard: &u32| board.accepts(*shard) && set.contains(*shard);
            board.shard_indices().filter(open).count()
        })
        .collect();
    let mut forced: Vec<_> = (0_u32..)
        .zip(board.items)
        .filter_map(|(index, item)| {
            let kind = board.must_leave(index)?;
            Some((
                kind,
                choices[at(item.allowed.0)],
                item.shard,
                item.allowed,
                index,
            ))
        })
        .collect();
    forced.sort_unstable();
    let mut incoming = vec![0; board.allowed.len()];
    for (_, _, _, set, item) in &forced {
        incoming[at(set.0)] += u128::from(board.items[at(*item)].cost);
    }
    board.set_levels(&incoming);
    let bars = [
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
        if let Some(shard) = receivers.find(board, item, &bars) {
            board.put(item, shard);
        }
    }
}
