//! Computes which items move between which shards, so that each shard has its fair share of the load.
//!
//! First it places the items that must leave their shard, because constraints forbid the shard or it is drained. Then
//! it reduces the load of overloaded shards to their limit, with the fewest bytes. Last it combines the items to one
//! move for each pair of shards and schedules the moves.
//!
//! An item is anything that moves as a whole: a virtual shard, a range or a key. The caller converts these to items and
//! back. The module knows no key types and no SQL. It uses neither floating-point numbers nor the order of a hash
//! table, so the same input gives the same moves.

mod allowed;
mod chain;
mod forced;
mod gather;
mod receiver;
mod report;
mod share;
mod shed;
mod state;
#[cfg(test)]
mod tests;
mod timetable;
mod types;

pub use allowed::{AllowedId, AllowedSet, AllowedTable};
pub use types::{
    InvalidInput, MoveKind, MoveShares, Obstacle, RebalanceItem, RebalanceLimits, RebalanceMove,
    RebalanceResult, RebalanceShard, ShardBalance, TooBig, Unresolved,
};

use state::RebalanceState;

/// Plans the moves that bring every shard within `limits.threshold_ppm` of its fair share, as far as constraints, space
/// and `limits.max_bytes` permit. `unresolved` of the result names the shards that do not reach this.
///
/// The sums of all costs, bytes and capacities should fit into 64 bits. Larger sums are saturated in comparisons.
///
/// # Errors
/// An error if an item refers to a shard or a set of allowed shards that does not exist, or if there are 2^32 items or
/// more.
pub fn rebalance(
    shards: &[RebalanceShard],
    items: &[RebalanceItem],
    allowed: &[AllowedSet],
    limits: &RebalanceLimits,
) -> Result<RebalanceResult, InvalidInput> {
    let mut state = RebalanceState::new(shards, items, allowed, limits)?;
    let before = report::balances(&state);
    forced::place_items_that_must_leave(&mut state);
    shed::reduce_loads(&mut state);
    let timetable = timetable::schedule(&state, gather::unscheduled_moves(&state), limits);
    state.return_items(&timetable.dropped);
    Ok(RebalanceResult {
        too_big: report::too_big(&state),
        unresolved: report::unresolved(&state, &timetable.dropped),
        after: report::balances(&state),
        moves: timetable.moves,
        before,
    })
}
