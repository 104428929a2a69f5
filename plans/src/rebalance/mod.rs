//! Computes which items move between which shards so that each carries its share of the load.
//!
//! Order: items that must leave go first (off shards that they may not be on, off drained shards), then
//! overloaded shards shed down to their limit, cheapest bytes first; then moves are gathered per pair of
//! shards and put on a timetable.
//! An item is anything that moves as a whole: a virtual shard, a range, a key. The caller maps them here and back.
//! Absent: key types, SQL, floating point and hash order; the same input gives the same moves.

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

/// Plans the moves that bring every shard within `limits.threshold_ppm` of its fair share, as far as
/// constraints, space and `limits.max_bytes` permit; what stays out of reach is said in `unresolved`.
///
/// The sums of all costs, bytes and capacities should each fit 64 bits: beyond, comparisons saturate.
///
/// # Errors
/// When an item names a shard or a set of allowed shards that is not there, or there are 2^32 items or more.
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
