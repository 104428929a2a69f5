//! What a shard was told of and the control store does not know: the store was restored from an older state (R1).

use super::super::inventory::Inventory;
use super::compare::{Known, finding};
use super::proofs::Proof;
use super::{Finding, FindingKind};
use crate::id::{MapName, MigrationId, ShardName};

const MEND_STORE: &str = "nothing is moved until the store is mended: look at `shardwright reconcile`, then `shardwright reconcile --apply` moves it forward to what the shards prove";

pub(super) fn store_older(known: &Known, seen: &[Inventory]) -> Vec<Finding> {
    let lost = known.lost(seen);
    let mut findings = Vec::new();
    for inventory in seen {
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
                        "migration {} gave {} to shard {} with version {} of map {}, which the control store does not know",
                        row.migration, proof.keys, proof.owner, proof.version, row.map
                    ),
                );
            } else if row.map_version > map.version.0 {
                add(
                    id,
                    &row.map,
                    format!(
                        "migration {} began at version {} of map {}, the control store is at version {}",
                        row.migration, row.map_version, row.map, map.version
                    ),
                );
            } else if let Some(m) = known
                .known(&row.migration)
                // A sweep of what an ended one left has raised its epoch, and may have failed (ADR 18).
                .filter(|m| !m.finished && m.epoch < row.epoch)
            {
                add(
                    id,
                    &row.map,
                    format!(
                        "migration {} had an owner of epoch {}, the control store knows of epoch {} only",
                        row.migration, row.epoch, m.epoch
                    ),
                );
            }
        }
        findings.extend(given_unknown(&lost, inventory));
        findings.extend(away_unknown(known, inventory));
    }
    findings
}

fn older(
    shard: &ShardName,
    migration: Option<&MigrationId>,
    map: &MapName,
    message: String,
) -> Finding {
    Finding {
        migration: migration.cloned(),
        map: Some(map.clone()),
        ..finding(FindingKind::StoreOlder, shard, message, MEND_STORE)
    }
}

/// Moves away that were completed, and that the store does not know.
fn given_unknown(lost: &[Proof], inventory: &Inventory) -> Vec<Finding> {
    let lost = lost.iter().filter(|proof| proof.completed);
    let here = lost.filter(|proof| {
        let mut given = inventory.given.iter();
        given.any(|given| given.migration == proof.migration)
    });
    here.map(|proof| {
        older(&inventory.shard, Some(&proof.migration), &proof.map, format!(
            "this shard gave {} to shard {} with version {} of map {}, which the control store does not know",
            proof.keys, proof.owner, proof.version, proof.map
        ))
    })
    .collect()
}

/// Versions that took keys away, and that the store has not reached.
fn away_unknown(known: &Known, inventory: &Inventory) -> Vec<Finding> {
    let beyond = inventory.away.iter().filter_map(|away| {
        let map = known.map(&away.map)?;
        (map.version.0 < away.version).then(|| {
            older(&inventory.shard, None, &away.map, format!(
                "this shard gave keys away with version {} of map {}, the control store is at version {}",
                away.version, away.map, map.version
            ))
        })
    });
    beyond.collect()
}
