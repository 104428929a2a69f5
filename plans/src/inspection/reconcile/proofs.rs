//! Which flips the shards prove, by the versions that they were told and by their registers.

use super::super::inventory::{CLOSED, Inventory, MoveSeen};
use crate::id::{MapName, MigrationId, ShardName};
use crate::key_set::KeySet;
use std::collections::BTreeMap;

/// A flip that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// The map.
    pub map: MapName,
    /// The version that the flip made.
    pub version: i64,
    /// The keys.
    pub keys: KeySet,
    /// Their owner since.
    pub owner: ShardName,
    /// The migration.
    pub migration: MigrationId,
    /// Its highest epoch on any shard.
    pub epoch: i64,
    /// Its newest attempt on any shard.
    pub attempt: i64,
    /// Nothing of the migration is left but the refusal of its keys: it was completed.
    pub completed: bool,
}

type Rows<'a> = Vec<(&'a ShardName, &'a MoveSeen)>;

/// The newest flip of each migration that some shard was told of, by version.
#[must_use]
pub fn proofs(seen: &[Inventory]) -> Vec<Proof> {
    let mut rows: BTreeMap<&MigrationId, Rows<'_>> = BTreeMap::new();
    for inventory in seen {
        for row in &inventory.moves {
            rows.entry(&row.migration)
                .or_default()
                .push((&inventory.shard, row));
        }
    }
    let mut proofs: Vec<Proof> = rows.values().filter_map(|rows| of_rows(rows)).collect();
    for given in seen.iter().flat_map(|inventory| &inventory.given) {
        if rows.contains_key(&given.migration) {
            continue;
        }
        proofs.push(Proof {
            map: given.map.clone(),
            version: given.version,
            keys: given.keys.clone(),
            owner: given.to.clone(),
            migration: given.migration.clone(),
            epoch: 0,
            attempt: 0,
            completed: true,
        });
    }
    proofs.sort_by(|a, b| (&a.map, a.version).cmp(&(&b.map, b.version)));
    proofs
}

fn of_rows(rows: &Rows<'_>) -> Option<Proof> {
    let version = rows.iter().filter_map(|(_, row)| row.flipped).max()?;
    let told: Rows<'_> = rows
        .iter()
        .filter(|(_, row)| row.flipped == Some(version))
        .copied()
        .collect();
    let (_, first) = told.first()?;
    let about = rows.iter().find_map(|(_, row)| row.about.as_ref())?;
    // Who was opened by us last, else who is open. The gaining shard is told first, before it opens.
    let opened = told.iter().find(|(_, row)| row.owns);
    let opened = opened.or_else(|| told.iter().find(|(_, row)| row.register != Some(CLOSED)));
    let owner = match (opened, told.as_slice()) {
        (Some((shard, _)), _) => (*shard).clone(),
        (None, [(shard, _)]) if rows.len() > 1 => (*shard).clone(),
        (None, _) => about.target.clone(),
    };
    Some(Proof {
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
