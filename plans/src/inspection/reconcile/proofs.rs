//! Determines which flips the shards prove, from the versions that they have recorded and from their registers.

use super::super::inventory::{CLOSED, Inventory, ObservedMove};
use crate::id::{MapName, MigrationId, ShardName};
use crate::key_set::KeySet;
use std::borrow::Borrow;
use std::collections::BTreeMap;

/// A flip that has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlipProof {
    /// The map.
    pub map: MapName,
    /// The map version that the flip created.
    pub version: i64,
    /// The keys.
    pub keys: KeySet,
    /// The owner of the keys since the flip.
    pub owner: ShardName,
    /// The migration.
    pub migration: MigrationId,
    /// The highest epoch of the migration on any shard.
    pub epoch: i64,
    /// The newest attempt of the migration on any shard.
    pub attempt: i64,
    /// True if only the refusal of released keys remains of the migration: it was completed.
    pub completed: bool,
}

type ObservedMoves<'a> = Vec<(&'a ShardName, &'a ObservedMove)>;

/// Returns the newest flip of each migration that any shard has recorded, by version.
#[must_use]
pub fn proofs<I: Borrow<Inventory>>(inventories: &[I]) -> Vec<FlipProof> {
    let inventories: Vec<&Inventory> = inventories.iter().map(Borrow::borrow).collect();
    let mut rows: BTreeMap<&MigrationId, ObservedMoves<'_>> = BTreeMap::new();
    for inventory in &inventories {
        for row in &inventory.moves {
            rows.entry(&row.migration)
                .or_default()
                .push((&inventory.shard, row));
        }
    }
    let mut proofs: Vec<FlipProof> = rows.values().filter_map(|rows| newest_flip(rows)).collect();
    for released in inventories
        .iter()
        .flat_map(|inventory| &inventory.released_moves)
    {
        if rows.contains_key(&released.migration) {
            continue;
        }
        proofs.push(FlipProof {
            map: released.map.clone(),
            version: released.version,
            keys: released.keys.clone(),
            owner: released.to.clone(),
            migration: released.migration.clone(),
            epoch: 0,
            attempt: 0,
            completed: true,
        });
    }
    proofs.sort_by(|a, b| (&a.map, a.version).cmp(&(&b.map, b.version)));
    proofs
}

/// Returns the newest flip that these rows of one migration prove.
fn newest_flip(rows: &ObservedMoves<'_>) -> Option<FlipProof> {
    let version = rows.iter().filter_map(|(_, row)| row.flipped).max()?;
    let flipped_rows: ObservedMoves<'_> = rows
        .iter()
        .filter(|(_, row)| row.flipped == Some(version))
        .copied()
        .collect();
    let (_, first) = flipped_rows.first()?;
    let about = rows.iter().find_map(|(_, row)| row.about.as_ref())?;
    // The owner is the shard that an agent opened last, or else the open one. If there is none, and only one shard has
    // recorded the flip, this shard is the owner, because the new owner records a flip before it opens.
    let opened = flipped_rows.iter().find(|(_, row)| row.owns);
    let opened = opened.or_else(|| {
        flipped_rows
            .iter()
            .find(|(_, row)| row.register != Some(CLOSED))
    });
    let owner = match (opened, flipped_rows.as_slice()) {
        (Some((shard, _)), _) => (*shard).clone(),
        (None, [(shard, _)]) if rows.len() > 1 => (*shard).clone(),
        (None, _) => about.target.clone(),
    };
    Some(FlipProof {
        map: first.map.clone(),
        version,
        keys: about.keys.clone(),
        owner,
        migration: first.migration.clone(),
        epoch: rows.iter().map(|(_, row)| row.epoch).max().unwrap_or(0),
        attempt: rows
            .iter()
            .map(|(_, row)| row.newest_attempt())
            .max()
            .unwrap_or(0),
        completed: false,
    })
}
