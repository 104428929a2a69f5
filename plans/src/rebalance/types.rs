//! The input and the result of a rebalance.

use super::allowed::AllowedId;
use crate::id::ShardName;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// A shard of the fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebalanceShard {
    /// The operator's name for the shard.
    pub name: ShardName,
    /// The relative share of the load that the shard should have; 0: it should have none.
    pub capacity: u64,
    /// The bytes that it can hold; `None`: unlimited.
    pub space: Option<u64>,
    /// The operator's labels. Sets of allowed shards are made from them.
    pub labels: BTreeMap<String, String>,
    /// False while the shard is drained: all items leave, and none arrive.
    pub accepts: bool,
}

/// Something that moves as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RebalanceItem {
    /// The index of the shard that owns it.
    pub shard: u32,
    /// The load that it causes, in any unit: rows, bytes, writes.
    pub cost: u64,
    /// The bytes that must be copied to move it.
    pub bytes: u64,
    /// The shards on which it may be.
    pub allowed: AllowedId,
}

/// How much a rebalance may move, and how much of it runs at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RebalanceLimits {
    /// By how much a shard may exceed its fair share, in millionths: 100 000 is 10 %.
    pub threshold_ppm: u64,
    /// The maximum number of bytes that move in total.
    pub max_bytes: Option<u64>,
    /// The number of moves that may use one shard at the same time; 0 counts as 1.
    pub per_shard: u32,
    /// The number of moves that may run at the same time; 0 counts as 1.
    pub total: u32,
}

/// The moves in an order in which they can be carried out, and what they do not reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RebalanceResult {
    /// The moves, ordered by wave.
    pub moves: Vec<RebalanceMove>,
    /// Items that exceed the fair share of their final shard.
    pub too_big: Vec<TooBig>,
    /// The current load of every shard, in the order of the input.
    pub before: Vec<ShardBalance>,
    /// The load of every shard after all moves, in the order of the input.
    pub after: Vec<ShardBalance>,
    /// Shards that stay above their limit or keep items that should leave.
    pub unresolved: Vec<Unresolved>,
}

/// All items that move from one shard to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RebalanceMove {
    /// The index of the source.
    pub from: u32,
    /// The index of the target.
    pub to: u32,
    /// The indexes of the items, ascending. Adjacent items form one range.
    pub items: Vec<Range<u32>>,
    /// Why the move is necessary.
    pub kind: MoveKind,
    /// The sum of the items' costs.
    pub cost: u64,
    /// The sum of the items' bytes.
    pub bytes: u64,
    /// The indexes of moves that must be complete before this one starts, so that `to` has space.
    pub after: Vec<usize>,
    /// The wave. Moves of one wave may run at the same time; a wave starts when the one before is complete.
    pub wave: u32,
    /// The loads of the two shards before and after the move, relative to their fair shares.
    pub shares: MoveShares,
    /// The explanation for the operator; see [`RebalanceMove::explain`].
    pub why: String,
}

/// Why a move is necessary, in the order of urgency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoveKind {
    /// It moves items from a shard that constraints forbid. The balance may become worse.
    Repair,
    /// It empties a drained shard. The balance of the others may become worse.
    Drain,
    /// It decreases the greater relative load of its two shards.
    Balance,
}

/// The loads of a move's two shards, in hundredths of their fair shares; `None` if the fair share is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveShares {
    /// The source before the move.
    pub from_before: Option<u64>,
    /// The source after the move.
    pub from_after: Option<u64>,
    /// The target before the move.
    pub to_before: Option<u64>,
    /// The target after the move.
    pub to_after: Option<u64>,
}

/// The load of one shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardBalance {
    /// The index of the shard.
    pub shard: u32,
    /// The sum of its items' costs.
    pub cost: u64,
    /// Its share of all costs by capacity, rounded up.
    pub fair: u64,
    /// The greatest load that it may have: the fair share plus the threshold.
    pub limit: u64,
    /// The sum of its items' bytes.
    pub bytes: u64,
    /// The number of its items.
    pub items: u64,
}

/// An item that no rebalance can fit. It must be split, or needs a shard of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TooBig {
    /// The index of the item.
    pub item: u32,
    /// The index of its shard after all moves.
    pub shard: u32,
    /// The cost of the item.
    pub cost: u64,
    /// The fair share of the shard.
    pub fair: u64,
    /// The least number of equal parts that each fit into the fair share.
    pub parts: u64,
    /// The proposal for the operator.
    pub why: String,
}

/// A shard that does not reach its goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unresolved {
    /// The index of the shard.
    pub shard: u32,
    /// The cost above its limit after all moves.
    #[serde(rename = "over")]
    pub excess: u64,
    /// The number of its items that should have left, because of constraints or because it is drained.
    pub stranded: u64,
    /// The first obstacle.
    pub obstacle: Obstacle,
    /// The explanation for the operator.
    pub why: String,
}

/// What prevents a move of items, in the order in which obstacles are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// No shard receives items.
    NoShard,
    /// The limit on moved bytes is used up.
    Bytes,
    /// Shards with room for the load lack space, or wait for each other's space.
    Space,
    /// Constraints leave no shard with room.
    Constraints,
    /// One item exceeds the shard's fair share.
    TooBig,
    /// The items are too large for the room that is left.
    Coarse,
}

/// An invalid input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidInput {
    /// An item is on a shard that does not exist.
    #[error("item {item} is on shard number {shard}, but there are {shards} shards")]
    UnknownShard {
        /// The index of the item.
        item: u32,
        /// The shard to which it refers.
        shard: u32,
        /// The number of shards.
        shards: usize,
    },
    /// An item refers to a set of allowed shards that does not exist.
    #[error("item {item} names set {allowed} of allowed shards, but there are {sets} sets")]
    UnknownAllowed {
        /// The index of the item.
        item: u32,
        /// The set to which it refers.
        allowed: u32,
        /// The number of sets.
        sets: usize,
    },
    /// There are too many items for 32-bit indexes.
    #[error("{count} items are more than one rebalance can plan")]
    TooManyItems {
        /// The number of items.
        count: usize,
    },
}
