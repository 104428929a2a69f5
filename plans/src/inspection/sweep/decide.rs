//! Decides what a sweep does with each object, and why this is safe. No I/O.

use super::super::inventory::{Inventory, Object, ObjectKind, ObjectOwner, ReleasedKeys};
use super::{Leftover, Sweep, SweepInput, SweepVerdict};
use crate::id::{MapName, MigrationId, ShardName};
use crate::key_set::KeySet;
use crate::names::released_keys_function;
use moves::{MoveVerdict, decide_move, started_by_other_store, used_by_other_store};
use std::collections::BTreeSet;

mod moves;
mod never_open;
mod standby_slot;

/// Returns all objects of Shardwright on the observed shards, each with a decision, and the sweeps that carry the
/// decisions out.
#[must_use]
pub fn decide_sweeps(
    input: &SweepInput,
    inventories: &[Inventory],
) -> Vec<(Vec<Leftover>, Vec<Sweep>)> {
    inventories
        .iter()
        .map(|inventory| decide_shard(input, inventories, inventory))
        .collect()
}

/// The decisions for one shard.
struct ShardVerdicts<'a> {
    inventory: &'a Inventory,
    leftovers: Vec<Leftover>,
    sweeps: Vec<Sweep>,
}

impl ShardVerdicts<'_> {
    fn add(&mut self, object: &Object, verdict: SweepVerdict, why: &str) {
        self.leftovers.push(Leftover {
            shard: self.inventory.shard.clone(),
            object: object_text(object),
            verdict,
            why: why.to_owned(),
        });
    }

    /// Adds all objects of a migration that has ended or that this store does not have.
    fn add_migration(&mut self, id: &MigrationId, decision: MoveVerdict) {
        let is_on_shard = self.inventory.moves.iter().any(|m| &m.migration == id);
        let mut is_swept = decision.guards.is_some();
        let whose = ObjectOwner::Migration(id.clone());
        let objects = self.inventory.objects.iter();
        for object in objects.filter(|object| object.whose == whose) {
            match object.kind {
                // The setting belongs to the whole server. A migration in another database of this server may need the
                // name.
                ObjectKind::StandbyName if !is_on_shard => {
                    self.add(object, SweepVerdict::Decide, NAME_OF_SERVER);
                }
                ObjectKind::Slot
                | ObjectKind::Publication
                | ObjectKind::StandbyName
                | ObjectKind::Session
                    if !decision.for_all_objects =>
                {
                    is_swept = true;
                    self.add(object, SweepVerdict::Remove, NOT_NEEDED);
                }
                ObjectKind::Slot
                | ObjectKind::Publication
                | ObjectKind::StandbyName
                | ObjectKind::Session
                | ObjectKind::Trigger
                | ObjectKind::EventTrigger
                | ObjectKind::Function
                | ObjectKind::Register
                | ObjectKind::Refusals
                | ObjectKind::Rows
                | ObjectKind::Schema => self.add(object, decision.verdict, &decision.why),
            }
        }
        if is_swept {
            self.sweeps.push(Sweep::Migration {
                migration: id.clone(),
                guards: decision.guards,
            });
        }
    }

    /// Decides about the guard of one map's released keys.
    fn decide_released_keys(
        &mut self,
        input: &SweepInput,
        released: &ReleasedKeys,
    ) -> (SweepVerdict, String) {
        let (verdict, mut why) = decide_released_keys(input, &self.inventory.shard, released);
        let released_moves = self.inventory.released_moves.iter();
        let mut moved = released_moves.filter(|moved| moved.map == released.map);
        if let Some(moved) = moved.next_back().filter(|_| verdict != SweepVerdict::Keep) {
            why += &format!(
                "; shard {} received {} with version {}: make sure that no application writes these keys there",
                moved.to, moved.keys, moved.version
            );
        }
        if verdict == SweepVerdict::Remove {
            self.sweeps.push(Sweep::ReleasedKeys {
                map: released.map.clone(),
            });
        }
        (verdict, why)
    }
}

fn decide_shard(
    input: &SweepInput,
    inventories: &[Inventory],
    inventory: &Inventory,
) -> (Vec<Leftover>, Vec<Sweep>) {
    let mut shard = ShardVerdicts {
        inventory,
        leftovers: Vec::new(),
        sweeps: Vec::new(),
    };
    for id in migrations_to_sweep(input, inventory) {
        let own = inventory.moves.iter().find(|m| &m.migration == id);
        let decision = used_by_other_store(input, inventory, own, id)
            .or_else(|| started_by_other_store(input, own))
            .unwrap_or_else(|| decide_move(input, inventories, inventory, own));
        shard.add_migration(id, decision);
    }
    let released: Vec<(&ReleasedKeys, (SweepVerdict, String))> = inventory
        .released_keys
        .iter()
        .map(|released| (released, shard.decide_released_keys(input, released)))
        .collect();
    let mut unused_slots = Vec::new();
    for object in &inventory.objects {
        match &object.whose {
            ObjectOwner::Migration(id) if input.unfinished.contains(id) => {
                shard.add(object, SweepVerdict::Keep, "its migration has not ended");
            }
            ObjectOwner::Migration(_) => {}
            ObjectOwner::ReleasedKeys => match released
                .iter()
                .find(|(released, _)| guards_released_keys(object, released))
            {
                Some((_, (verdict, why))) => shard.add(object, *verdict, why),
                None => shard.add(object, SweepVerdict::Decide, NO_ROW),
            },
            ObjectOwner::Probe => shard.add(
                object,
                SweepVerdict::Remove,
                "the measurement that created it has ended",
            ),
            ObjectOwner::LiveProbe => {
                shard.add(object, SweepVerdict::Keep, "a running inspection uses it");
            }
            ObjectOwner::Standby { in_use } => {
                let (verdict, why) = standby_slot::decide(input, &object.name, *in_use);
                shard.add(object, verdict, &why);
                if verdict == SweepVerdict::Remove {
                    unused_slots.push(object.name.clone());
                }
            }
            ObjectOwner::Shared => shard.add(object, SweepVerdict::Keep, SHARED),
        }
    }
    if !unused_slots.is_empty() {
        let slots = unused_slots;
        shard.sweeps.push(Sweep::StandbySlots { slots });
    }
    let mut objects = inventory.objects.iter();
    if objects.any(|object| object.whose == ObjectOwner::Probe) {
        shard.sweeps.push(Sweep::Probes);
    }
    let similar = inventory.similar.iter().map(|similar| Leftover {
        shard: inventory.shard.clone(),
        object: similar.object.clone(),
        verdict: SweepVerdict::Keep,
        why: format!("Shardwright did not create it: {}", similar.why),
    });
    shard.leftovers.extend(similar);
    (shard.leftovers, shard.sweeps)
}

/// Returns the migrations that have objects on this shard and are not among the unfinished migrations of this store.
fn migrations_to_sweep<'a>(
    input: &SweepInput,
    inventory: &'a Inventory,
) -> BTreeSet<&'a MigrationId> {
    let objects = inventory.objects.iter();
    let ids = objects.filter_map(|object| match &object.whose {
        ObjectOwner::Migration(id) if !input.unfinished.contains(id) => Some(id),
        ObjectOwner::Migration(_)
        | ObjectOwner::ReleasedKeys
        | ObjectOwner::Probe
        | ObjectOwner::LiveProbe
        | ObjectOwner::Standby { .. }
        | ObjectOwner::Shared => None,
    });
    ids.collect()
}

const NOT_NEEDED: &str = "no unfinished migration needs it, and it refuses no writes";
const NAME_OF_SERVER: &str = "commits in all databases of the server wait for this name, and no known migration of this database needs it: a sweep of the database of its migration removes the name; if that database is lost, remove the name from synchronous_standby_names yourself";
const SHARED: &str = "it is removed together with the last object that needs it";
const NO_ROW: &str = "shardwright.away has no row for it: find out which keys it refuses, and drop it yourself if this shard owns these keys";

fn object_text(object: &Object) -> String {
    match &object.on {
        Some(table) => format!("{} {} on {table}", object.kind, object.name),
        None => format!("{} {}", object.kind, object.name),
    }
}

fn guards_released_keys(object: &Object, released: &ReleasedKeys) -> bool {
    // The names are guard_away_<map> for the function, and shardwright_guard_away_<map>_<event> for the triggers.
    object.name.contains(&released_keys_function(&released.map))
        || object.name == released.map.as_str()
}

/// Returns those of `keys` that `shard` owns; `None`: the owner is unknown.
fn owned_keys_on(
    input: &SweepInput,
    map: &MapName,
    shard: &ShardName,
    keys: &KeySet,
) -> Option<KeySet> {
    if let Some(owner) = input.owners.get(map) {
        return Some(if owner == shard {
            keys.clone()
        } else {
            keys.empty_set()
        });
    }
    let map = input.maps.iter().find(|known| &known.name == map)?;
    Some(map.owned_by(shard).intersection(keys))
}

fn decide_released_keys(
    input: &SweepInput,
    shard: &ShardName,
    released: &ReleasedKeys,
) -> (SweepVerdict, String) {
    let owner_is_named = input.owners.contains_key(&released.map);
    match owned_keys_on(input, &released.map, shard, &released.keys) {
        None => (
            SweepVerdict::Decide,
            format!(
                "it permanently refuses {} of map {}, which this store does not have; if this shard owns the keys: --owner {}={shard}",
                released.keys, released.map, released.map
            ),
        ),
        Some(owned_keys) if owned_keys.is_empty() => (
            SweepVerdict::Keep,
            format!(
                "another shard owns {}: this shard refuses them permanently",
                released.keys
            ),
        ),
        Some(_) if owner_is_named => (
            SweepVerdict::Remove,
            "this shard owns the keys: it accepts writes to them again".to_owned(),
        ),
        Some(owned_keys) => (
            SweepVerdict::Decide,
            format!(
                "by the map this shard owns {owned_keys}, but it released them with version {}; if it owns all of these keys: --owner {}={shard}",
                released.version, released.map
            ),
        ),
    }
}
