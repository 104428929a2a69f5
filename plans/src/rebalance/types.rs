//! What goes into a rebalance and what comes out.

use super::allowed::AllowedId;
use crate::id::ShardName;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// A shard of the fleet, as the rebalance sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebalanceShard {
    /// By the operator's name for it.
    pub name: ShardName,
    /// Relative share of the load that it should carry; 0 means none.
    pub capacity: u64,
    /// Bytes that it can hold; unlimited if absent.
    pub space: Option<u64>,
    /// The operator's labels; sets of allowed shards are made from them.
    pub labels: BTreeMap<String, String>,
    /// False while it is drained: everything leaves and nothing comes.
    pub accepts: bool,
}

/// Something that moves as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RebalanceItem {
    /// Index of the shard that owns it.
    pub shard: u32,
    /// Load that it causes, in any unit: rows, bytes, writes.
    pub cost: u64,
    /// Bytes that have to be copied to move it.
    pub bytes: u64,
    /// Shards that it may be on.
    pub allowed: AllowedId,
}

/// How far a rebalance goes, and how much of it runs at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RebalanceLimits {
    /// How much a shard may carry above its fair share, in millionths: 100 000 is 10 %.
    pub threshold_ppm: u64,
    /// Bytes that may move in all.
    pub max_bytes: Option<u64>,
    /// Moves that may use one shard at the same time; 0 counts as 1.
    pub per_shard: u32,
    /// Moves that may run at the same time; 0 counts as 1.
    pub total: u32,
}

/// The outcome: moves in an order in which they can be done, and what they do not reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RebalanceResult {
    /// Ordered by wave.
    pub moves: Vec<RebalanceMove>,
    /// Items that outweigh the fair share of the shard where they end up.
    pub too_big: Vec<TooBig>,
    /// Every shard as it is, in the order of the input.
    pub before: Vec<ShardBalance>,
    /// Every shard once all moves are complete, in the order of the input.
    pub after: Vec<ShardBalance>,
    /// Shards that stay above their limit or keep items that should leave.
    pub unresolved: Vec<Unresolved>,
}

/// Everything that goes from one shard to one other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RebalanceMove {
    /// Index of the shard that gives.
    pub from: u32,
    /// Index of the shard that takes.
    pub to: u32,
    /// The items, by index, ascending; adjacent ones are one range.
    pub items: Vec<Range<u32>>,
    /// Why it has to be done.
    pub kind: MoveKind,
    /// Sum of the items' costs.
    pub cost: u64,
    /// Sum of the items' bytes.
    pub bytes: u64,
    /// Indices of moves that must be complete before this one starts, so that `to` has the space.
    pub after: Vec<usize>,
    /// Moves of one wave may run at the same time; a wave starts when the one before is complete.
    pub wave: u32,
    /// What the move does to the two shards, at its place in the order.
    pub shares: MoveShares,
    /// The explanation for the operator; see [`RebalanceMove::explain`].
    pub why: String,
}

/// Why a move has to be done; the order is that of urgency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoveKind {
    /// It takes items off a shard that they are not allowed on; the balance may suffer.
    Repair,
    /// It empties a shard that is drained; the balance of the others may suffer.
    Drain,
    /// It lowers the greater relative load of its two shards.
    Balance,
}

/// Load of a move's two shards in hundredths of their fair shares; absent where the fair share is nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveShares {
    /// The giving shard, before.
    pub from_before: Option<u64>,
    /// The giving shard, after.
    pub from_after: Option<u64>,
    /// The taking shard, before.
    pub to_before: Option<u64>,
    /// The taking shard, after.
    pub to_after: Option<u64>,
}

/// What one shard carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardBalance {
    /// Index of the shard.
    pub shard: u32,
    /// Sum of its items' costs.
    pub cost: u64,
    /// Its share of all costs by capacity, rounded up.
    pub fair: u64,
    /// What it may carry: the fair share and the threshold.
    pub limit: u64,
    /// Sum of its items' bytes.
    pub bytes: u64,
    /// Number of its items.
    pub items: u64,
}

/// An item that no rebalance can fit: it has to be split, or needs a shard of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TooBig {
    /// Index of the item.
    pub item: u32,
    /// Index of the shard where it is once all moves are complete.
    pub shard: u32,
    /// Its cost.
    pub cost: u64,
    /// The shard's fair share.
    pub fair: u64,
    /// Fewest equal parts of which each fits the fair share.
    pub parts: u64,
    /// The proposal for the operator.
    pub why: String,
}

/// A shard that the moves do not bring to where it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unresolved {
    /// Index of the shard.
    pub shard: u32,
    /// Cost above its limit once all moves are complete.
    #[serde(rename = "over")]
    pub excess: u64,
    /// Items on it that should have left: not allowed there, or the shard is drained.
    pub stranded: u64,
    /// The first thing in the way.
    pub obstacle: Obstacle,
    /// The explanation for the operator.
    pub why: String,
}

/// What keeps items where they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// No shard accepts items at all.
    NoShard,
    /// The limit on bytes moved is used up.
    Bytes,
    /// Shards with room for the load lack the space, or wait for each other's.
    Space,
    /// Pins and exclusions leave no shard with room for them.
    Constraints,
    /// One item outweighs the shard's fair share.
    TooBig,
    /// The items are too coarse to fit the room that is left.
    Coarse,
}

/// Input that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidInput {
    /// An item is on a shard that is not there.
    #[error("item {item} is on shard number {shard}, but there are {shards} shards")]
    UnknownShard {
        /// Index of the item.
        item: u32,
        /// What it names.
        shard: u32,
        /// How many there are.
        shards: usize,
    },
    /// An item names a set of allowed shards that is not there.
    #[error("item {item} names set {allowed} of allowed shards, but there are {sets} sets")]
    UnknownAllowed {
        /// Index of the item.
        item: u32,
        /// What it names.
        allowed: u32,
        /// How many there are.
        sets: usize,
    },
    /// Indices have 32 bits.
    #[error("{count} items are more than one rebalance can plan")]
    TooManyItems {
        /// How many there are.
        count: usize,
    },
}
