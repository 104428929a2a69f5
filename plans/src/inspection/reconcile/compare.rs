//! Compares the inventories of the shards with the control store. No I/O.
//!
//! The caller reads the control store before and after it probes the shards. The store is older than the fleet if the
//! later read lacks a flip that the shards prove. A shard is older than the map only if both reads show this, which the
//! caller checks.

use super::super::inventory::{CLOSED, Inventory, ObservedMove, ObservedServer};
use super::by_shard::KnownByShard;
use super::older;
use super::proofs::{FlipProof, proofs};
use super::server::check_server;
use super::{Closing, Contradiction, ContradictionKind};
use crate::id::{MapName, MigrationId, ShardName};
use crate::key_set::KeySet;
use crate::shard_map::ShardMap;
use crate::state::cutover::Ownership;
use crate::table::MovingTable;
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The data of the control store with which the shards are compared.
#[derive(Debug, Clone, Default)]
pub struct StoreKnowledge {
    /// The maps in force.
    pub maps: Vec<Arc<ShardMap>>,
    /// The maps that get another strategy or key at the moment: their guards of released keys are being replaced.
    pub converting: BTreeSet<MapName>,
    /// Migrations that have started and not ended, and those that were completed.
    pub moves: Vec<KnownMove>,
    /// The servers as they were last observed.
    pub servers: BTreeMap<ShardName, ObservedServer>,
}

/// A migration that has started.
#[derive(Debug, Clone)]
pub struct KnownMove {
    /// The migration.
    pub id: MigrationId,
    /// The map.
    pub map: MapName,
    /// The source of the migration.
    pub source: ShardName,
    /// The target of the migration.
    pub target: ShardName,
    /// The moving keys.
    pub keys: KeySet,
    /// The moving tables.
    pub tables: Vec<MovingTable>,
    /// The ownership state of the keys.
    pub ownership: Ownership,
    /// The current epoch.
    pub epoch: i64,
    /// True if the migration has ended.
    pub finished: bool,
    /// True if the cutover is complete and no attempt to roll back is in progress: the target is open.
    pub opened: bool,
    /// True if the target is a standby, and an agent may have promoted it for the migration.
    pub promotes: bool,
    /// The newest map version that the migration's flip has created.
    pub version: Option<i64>,
    /// The newest map version in the migration's row of the store: the version that its last flip created, or the
    /// version before its last attempt.
    pub recorded_version: i64,
}

/// Returns all contradictions, by shard.
#[must_use]
pub fn compare<I: Borrow<Inventory>>(
    known: &StoreKnowledge,
    inventories: &[I],
) -> Vec<Contradiction> {
    let mut findings: Vec<Contradiction> = inventories
        .iter()
        .filter_map(|inventory| check_server(known, inventory.borrow()))
        .collect();
    // The content of another database proves nothing about the shard, and nothing is closed there.
    let inventories = &known.from_own_databases(inventories);
    findings.extend(older::store_older(known, inventories));
    let by_shard = KnownByShard::of(known);
    for inventory in inventories {
        for m in by_shard.moves(&inventory.shard).filter(|m| !m.finished) {
            findings.extend(check_old_owner(m, inventory, inventories));
            findings.extend(check_new_owner(m, inventory));
        }
        findings.extend(check_released_keys(&by_shard, inventory));
        findings.extend(check_completed_targets(known, inventory));
    }
    findings
}

impl StoreKnowledge {
    /// Returns whether a map names the shard, or an unfinished migration has it as source or target.
    pub(super) fn uses(&self, shard: &ShardName) -> bool {
        let moves = |m: &KnownMove| !m.finished && (&m.source == shard || &m.target == shard);
        self.owns_keys(shard) || self.moves.iter().any(moves)
    }

    /// Returns whether a map names the shard.
    pub(super) fn owns_keys(&self, shard: &ShardName) -> bool {
        let owns = |map: &Arc<ShardMap>| map.mappings.iter().any(|m| &m.shard == shard);
        self.maps.iter().any(owns)
    }

    pub(super) fn map(&self, name: &MapName) -> Option<&ShardMap> {
        let mut maps = self.maps.iter();
        maps.find(|map| &map.name == name).map(Arc::as_ref)
    }

    pub(super) fn known(&self, id: &MigrationId) -> Option<&KnownMove> {
        self.moves.iter().find(|m| &m.id == id)
    }

    /// Returns the inventories that come from the shards' own databases. The objects of a standby are copies of its
    /// primary's, also when it was promoted and no migration has made it a shard of its own yet.
    #[must_use]
    pub fn from_own_databases<'a, I: Borrow<Inventory>>(
        &self,
        inventories: &'a [I],
    ) -> Vec<&'a Inventory> {
        let is_own = |inventory: &&Inventory| {
            let known = self.servers.get(&inventory.shard);
            !inventory.server.standby
                && known.is_none_or(|known| {
                    !known.server.standby && known.server.is_same_database(&inventory.server)
                })
        };
        inventories
            .iter()
            .map(Borrow::borrow)
            .filter(is_own)
            .collect()
    }

    /// Returns the flips that the shards prove and the store does not have, by version.
    #[must_use]
    pub fn lost_flips<I: Borrow<Inventory>>(&self, inventories: &[I]) -> Vec<FlipProof> {
        let proofs = proofs(inventories);
        let is_lost = |proof: &&FlipProof| {
            if let Some(m) = self.known(&proof.migration) {
                return m.recorded_version < proof.version;
            }
            let Some(map) = self.map(&proof.map) else {
                return false;
            };
            let later = proofs.iter().filter(|p| p.map == proof.map);
            let later = later.filter(|p| p.version > proof.version).map(|p| &p.keys);
            let moves = self.moves.iter().filter(|m| m.map == proof.map);
            let moves = moves
                .filter(|m| m.version > Some(proof.version))
                .map(|m| &m.keys);
            let keys_since = later
                .chain(moves)
                .fold(proof.keys.clone(), |keys, released| keys.minus(released));
            !map.owned_by(&proof.owner).covers(&keys_since)
        };
        proofs.iter().filter(is_lost).cloned().collect()
    }

    /// Returns the highest version of a map that any shard has recorded.
    #[must_use]
    pub fn highest_version<I: Borrow<Inventory>>(map: &MapName, inventories: &[I]) -> i64 {
        let inventories = inventories.iter().map(Borrow::borrow);
        let versions = inventories.flat_map(|inventory: &Inventory| {
            let rows = inventory.moves.iter().filter(|row| &row.map == map);
            let flipped = rows.map(|row| row.flipped.unwrap_or(0).max(row.map_version));
            let released = inventory.released_keys.iter();
            let released = released.filter(|released| &released.map == map);
            let moves = inventory.released_moves.iter();
            let moves = moves.filter(|released| &released.map == map);
            flipped
                .chain(released.map(|released| released.version))
                .chain(moves.map(|released| released.version))
        });
        versions.max().unwrap_or(0)
    }
}

pub(super) fn finding(
    kind: ContradictionKind,
    shard: &ShardName,
    message: String,
    hint: &str,
) -> Contradiction {
    Contradiction {
        kind,
        shard: shard.clone(),
        migration: None,
        map: None,
        message,
        hint: hint.to_owned(),
        close: None,
    }
}

/// Checks that the shard that does not own the keys refuses them.
fn check_old_owner(
    m: &KnownMove,
    inventory: &Inventory,
    inventories: &[&Inventory],
) -> Option<Contradiction> {
    let shard = &inventory.shard;
    let row = inventory.moves.iter().find(|row| row.migration == m.id);
    // If a shard has recorded a later version than the store has, the store is the older one.
    if row.is_some_and(|row| row.flipped > Some(m.recorded_version)) {
        return None;
    }
    let (old_owner, required) = match m.ownership {
        Ownership::Flipped | Ownership::RollbackFencing => (&m.source, RefusalProof::Refuse),
        Ownership::Completed => (&m.source, RefusalProof::RefuseRegister),
        // Before the flip and after a rollback, the target has a register while any object of the migration is on it.
        Ownership::Ready | Ownership::Fencing | Ownership::Aborted | Ownership::RolledBack => {
            (&m.target, RefusalProof::NotOpen)
        }
    };
    if old_owner != shard || refuses(m, row, inventory, required) {
        return None;
    }
    let record = row.map_or(
        "the shard has no record of the migration".to_owned(),
        |row| {
            format!(
                "register {:?}, {} guard triggers, recorded map version {:?}",
                row.register, row.guards, row.flipped
            )
        },
    );
    let owner = if old_owner == &m.source {
        &m.target
    } else {
        &m.source
    };
    let found = keys_open(
        m,
        inventory,
        format!(
            "the shard accepts writes to {} of map {}, which shard {owner} owns ({record}): the shard was restored to a state older than the map",
            m.keys, m.map
        ),
    );
    Some(if row.is_none() {
        without_record(m, found, inventories)
    } else {
        found
    })
}

/// A source without any record of the migration is closed only if the target has a record. If the target has none
/// either, the migration has ended (it was rolled back), and the store is the older one.
fn without_record(
    m: &KnownMove,
    found: Contradiction,
    inventories: &[&Inventory],
) -> Contradiction {
    let target = inventories
        .iter()
        .find(|inventory| inventory.shard == m.target);
    let has_record = |target: &Inventory| target.moves.iter().any(|row| row.migration == m.id);
    match target {
        Some(target) if has_record(target) => found,
        Some(_) => Contradiction {
            kind: ContradictionKind::StoreOlder,
            message: format!(
                "neither shard {} nor shard {} has a record of migration {}, which is unfinished in the control store: the migration has ended since",
                m.source, m.target, m.id
            ),
            hint:
                "the shards do not show how the migration ended: restore a newer copy of the store"
                    .to_owned(),
            close: None,
            ..found
        },
        None => Contradiction {
            close: None,
            ..found
        },
    }
}

/// How the old owner shows that it refuses the keys.
#[derive(Clone, Copy)]
enum RefusalProof {
    /// By its register and guards, or by the guard of released keys.
    Refuse,
    /// The same, but the tables may be dropped together with their guards.
    RefuseRegister,
    /// A register, if it exists, is closed.
    NotOpen,
}

fn refuses(
    m: &KnownMove,
    row: Option<&ObservedMove>,
    inventory: &Inventory,
    required: RefusalProof,
) -> bool {
    let mut released = inventory
        .released_keys
        .iter()
        .filter(|released| released.map == m.map);
    match required {
        RefusalProof::NotOpen => {
            row.is_none_or(|row| row.register.is_none_or(|value| value == CLOSED))
        }
        RefusalProof::Refuse => {
            row.is_some_and(ObservedMove::refuses) || released.any(|a| a.keys.covers(&m.keys))
        }
        RefusalProof::RefuseRegister => {
            row.is_some_and(|row| row.register == Some(CLOSED))
                || released.any(|released| released.keys.covers(&m.keys))
        }
    }
}

const CLOSED_AUTOMATICALLY: &str = "the keys are closed on this shard automatically; rows that were written there meanwhile are missing on the owner: find them with `shardwright map check`";

/// Returns the contradiction that the shard accepts writes to keys of another shard, with the task to close them.
fn keys_open(m: &KnownMove, inventory: &Inventory, message: String) -> Contradiction {
    let role = if inventory.shard == m.source {
        "source"
    } else {
        "target"
    };
    Contradiction {
        migration: Some(m.id.clone()),
        map: Some(m.map.clone()),
        close: Some(Closing {
            migration: m.id.clone(),
            epoch: m.epoch,
            role: role.to_owned(),
            map: m.map.clone(),
            version: m.recorded_version,
            keys: m.keys.clone(),
            tables: m.tables.clone(),
            for_good: m.finished,
            // The shard must not record the flip earlier: of two shards, the one that recorded it first is considered
            // the owner.
            notify: m.opened && inventory.shard == m.source,
        }),
        ..finding(
            ContradictionKind::KeysOpen,
            &inventory.shard,
            message,
            CLOSED_AUTOMATICALLY,
        )
    }
}

/// Checks that the owner of the keys has recorded that it owns them.
fn check_new_owner(m: &KnownMove, inventory: &Inventory) -> Option<Contradiction> {
    let owns = m.ownership == Ownership::Flipped && m.opened && inventory.shard == m.target;
    if !owns {
        return None;
    }
    let of_migration = |finding: Contradiction| Contradiction {
        migration: Some(m.id.clone()),
        map: Some(m.map.clone()),
        ..finding
    };
    let row = inventory.moves.iter().find(|row| row.migration == m.id);
    let flipped = row.and_then(|row| row.flipped);
    if flipped < m.version {
        return Some(of_migration(finding(
            ContradictionKind::DataMissing,
            &inventory.shard,
            format!(
                "by the map the shard owns {} since version {}, but it has no record of this: it was restored to an earlier time; rows are missing, so its register stays closed",
                m.keys,
                m.version.unwrap_or(0)
            ),
            "restore the shard to its newest state; or return the keys to the source yourself, whose rows are as new as the reverse stream was",
        )));
    }
    let closed = row.is_some_and(|row| row.register == Some(CLOSED));
    closed.then(|| {
        of_migration(finding(
            ContradictionKind::KeysRefused,
            &inventory.shard,
            format!(
                "the shard owns {} since version {}, but refuses writes to them: the opening of its register was lost",
                m.keys,
                m.version.unwrap_or(0)
            ),
            "a standby that did not receive the opening may lack writes too: restore the shard to its newest state",
        ))
    })
}

/// Checks that shards refuse the keys of completed moves that they have released.
fn check_released_keys(known: &KnownByShard<'_>, inventory: &Inventory) -> Vec<Contradiction> {
    let shard = &inventory.shard;
    let mut findings = Vec::new();
    let maps = known.store.maps.iter();
    for map in maps.filter(|map| !known.store.converting.contains(&map.name)) {
        let mut moves: Vec<&KnownMove> = known.moves(shard).filter(|m| m.map == map.name).collect();
        moves.sort_by_key(|m| m.version);
        let released = inventory
            .released_keys
            .iter()
            .find(|released| released.map == map.name);
        let mut completed = moves
            .iter()
            .filter(|m| m.finished && m.ownership == Ownership::Completed && &m.source == shard)
            .peekable();
        if released.is_none() && completed.peek().is_none() {
            continue;
        }
        let refused =
            released.map_or_else(|| map.empty_key_set(), |released| released.keys.clone());
        let owned = known.owned(map, shard);
        let incoming = moves.iter().filter(|m| !m.finished && &m.target == shard);
        let own_keys = incoming.fold(owned.clone(), |all, m| all.union(&m.keys));
        for m in completed {
            let not_refused = m.keys.minus(&own_keys).minus(&refused);
            let row = inventory.moves.iter().find(|row| row.migration == m.id);
            if not_refused.is_empty() || row.is_some_and(ObservedMove::refuses) {
                continue;
            }
            let part = KnownMove {
                keys: not_refused.clone(),
                ..(*m).clone()
            };
            findings.push(keys_open(&part, inventory, format!(
                "the shard accepts writes to {not_refused} of map {}, which it released with version {}: the shard was restored to a state older than the map",
                map.name, m.version.unwrap_or(0)
            )));
        }
        let owned = owned.intersection(&refused);
        if !owned.is_empty() {
            findings.push(Contradiction {
                map: Some(map.name.clone()),
                ..finding(
                    ContradictionKind::DataMissing,
                    shard,
                    format!("the shard owns {owned} of map {}, but refuses them as released keys: it was restored to a time before it received them again; rows are missing", map.name),
                    "restore the shard to its newest state; its register stays closed",
                )
            });
        }
    }
    findings
}

/// Finds closed registers of completed migrations: the target was restored to a time before its opening.
fn check_completed_targets(known: &StoreKnowledge, inventory: &Inventory) -> Vec<Contradiction> {
    let rows = inventory
        .moves
        .iter()
        .filter(|row| row.register == Some(CLOSED));
    let ended = rows.filter_map(|row| {
        let m = known.known(&row.migration)?;
        let owns = m.finished && m.ownership == Ownership::Completed && m.target == inventory.shard;
        owns.then(|| Contradiction {
            migration: Some(m.id.clone()),
            map: Some(m.map.clone()),
            ..finding(
                ContradictionKind::DataMissing,
                &inventory.shard,
                format!("the shard refuses {} of map {}, which it has owned since the migration completed: it was restored to an earlier time; rows are missing", m.keys, m.map),
                "restore the shard to its newest state; its register stays closed",
            )
        })
    });
    ended.collect()
}
