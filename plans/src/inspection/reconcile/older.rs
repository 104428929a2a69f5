//! Finds what a shard has recorded and the control store does not have: the store was restored to an older state (R1).

use super::super::inventory::Inventory;
use super::compare::{StoreKnowledge, finding};
use super::proofs::FlipProof;
use super::{Contradiction, ContradictionKind};
use crate::id::{MapName, MigrationId, ShardName};

const REPAIR_STORE: &str = "no migration continues until the store is repaired: read the report of `shardwright reconcile`, then run `shardwright reconcile --apply`, which adds the flips that the shards prove";

pub(super) fn store_older(
    known: &StoreKnowledge,
    inventories: &[&Inventory],
) -> Vec<Contradiction> {
    let lost = known.lost_flips(inventories);
    let mut findings = Vec::new();
    for inventory in inventories {
        let shard = &inventory.shard;
        let mut add = |migration: Option<&MigrationId>, map: &MapName, message: String| {
            findings.push(older(shard, migration, map, message));
        };
        for row in &inventory.moves {
            let Some(map) = known.map(&row.map) else {
                continue;
            };
            let id = Some(&row.migration);
            if let Some(proof) = lost.iter().find(|proof| proof.migration == row.migration) {
                add(
                    id,
                    &row.map,
                    format!(
                        "migration {} moved {} to shard {} with version {} of map {}, which the control store does not have",
                        row.migration, proof.keys, proof.owner, proof.version, row.map
                    ),
                );
            } else if row.map_version > map.version.0 {
                add(
                    id,
                    &row.map,
                    format!(
                        "migration {} began at version {} of map {}, but the control store is at version {}",
                        row.migration, row.map_version, row.map, map.version
                    ),
                );
            } else if let Some(m) = known
                .known(&row.migration)
                // A sweep of an ended migration's leftover objects has increased its epoch, and may have failed (ADR
                // 18).
                .filter(|m| !m.finished && m.epoch < row.epoch)
            {
                add(
                    id,
                    &row.map,
                    format!(
                        "migration {} has epoch {} on this shard, but only epoch {} in the control store",
                        row.migration, row.epoch, m.epoch
                    ),
                );
            }
        }
        findings.extend(unknown_released_moves(&lost, inventory));
        findings.extend(unknown_released_keys(known, inventory));
    }
    findings
}

/// Returns the contradiction that the store is older than a record on the shard.
fn older(
    shard: &ShardName,
    migration: Option<&MigrationId>,
    map: &MapName,
    message: String,
) -> Contradiction {
    Contradiction {
        migration: migration.cloned(),
        map: Some(map.clone()),
        ..finding(ContradictionKind::StoreOlder, shard, message, REPAIR_STORE)
    }
}

/// Returns completed moves that the store does not have.
fn unknown_released_moves(lost: &[FlipProof], inventory: &Inventory) -> Vec<Contradiction> {
    let completed = lost.iter().filter(|proof| proof.completed);
    let on_this_shard = completed.filter(|proof| {
        let mut released = inventory.released_moves.iter();
        released.any(|released| released.migration == proof.migration)
    });
    on_this_shard.map(|proof| {
        older(&inventory.shard, Some(&proof.migration), &proof.map, format!(
            "this shard released {} to shard {} with version {} of map {}, which the control store does not have",
            proof.keys, proof.owner, proof.version, proof.map
        ))
    })
    .collect()
}

/// Returns map versions that released keys and that the store has not reached.
fn unknown_released_keys(known: &StoreKnowledge, inventory: &Inventory) -> Vec<Contradiction> {
    let unknown = inventory.released_keys.iter().filter_map(|released| {
        let map = known.map(&released.map)?;
        (map.version.0 < released.version).then(|| {
            older(&inventory.shard, None, &released.map, format!(
                "this shard released keys with version {} of map {}, but the control store is at version {}",
                released.version, released.map, map.version
            ))
        })
    });
    unknown.collect()
}
