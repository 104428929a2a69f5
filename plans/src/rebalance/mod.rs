//! Computes which items move between which shards, so that each shard has its fair share of the load.
//!
//! First it places items that must leave (shards that constraints forbid, drained shards). Then overloaded shards lose
//! load down to their limit, with the fewest bytes. Last it combines the items to one move for each pair of shards and
//! schedules the moves.
//!
//! An item is anything that moves as a whole: a virtual shard, a range or a key. The caller converts these to items and
//! back. The module knows no key types and no SQL. It uses no floating point and no hash order, so the same input gives
//! the same moves.

mod allowed;
mod board;
mod chain;
mod forced;
mod gather;
mod receiver;
mod report;
mod share;
mod shed;
#[cfg(test)]
mod tests;
mod timetable;
mod types;

pub use allowed::{AllowedId, AllowedSet, AllowedTable};
pub use types::{
    InvalidInput, MoveKind, MoveShares, Obstacle, RebalanceItem, RebalanceLimits, RebalanceMove,
    RebalanceResult, RebalanceShard, ShardBalance, TooBig, Unresolved,
};

use board::RebalanceState;

/// Plans the moves that bring every shard within `limits.threshold_ppm` of its fair share, as far as constraints, space
/// and `limits.max_bytes` permit. `unresolved` of the result describes what they do not reach.
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
    let mut board = RebalanceState::new(shards, items, allowed, limits)?;
    let before = report::balances(&board);
    forced::place(&mut board);
    shed::all(&mut board);
    let timetable = timetable::build(&board, gather::drafts(&board), limits);
    board.take_back(&timetable.dropped);
    Ok(RebalanceResult {
        too_big: report::too_big(&board),
        unresolved: report::unresolved(&board, &timetable.dropped),
        after: report::balances(&board),
        moves: timetable.moves,
        before,
    })
}
