//! Decides what happens to each object, and why this is safe. No I/O.

use super::super::inventory::{
    About, CLOSED, Inventory, Object, ObjectKind, ObjectOwner, ObservedMove, ReleasedKeys,
};
use super::{Guards, Leftover, Sweep, SweepInput, SweepVerdict};
use crate::id::{MapName, MigrationId, ShardName};
use crate::key_set::KeySet;
use crate::names::released_keys_function;
use std::collections::BTreeSet;

mod never_open;

/// The decision about one migration's register, guards and rows.
struct MoveVerdict {
    verdict: SweepVerdict,
    why: String,
    guards: Option<Guards>,
    /// True if the decision also applies to objects that refuse no writes: slots, publications, sessions.
    of_all: bool,
}

/// Returns all objects of Shardwright on the observed shards, each with a decision, and the sweeps that carry the
/// decisions out.
#[must_use]
pub fn judge(ground: &SweepInput, inventories: &[Inventory]) -> Vec<(Vec<Leftover>, Vec<Sweep>)> {
    inventories
        .iter()
        .map(|inventory| judge_shard(ground, inventories, inventory))
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
            object: named(object),
            verdict,
            why: why.to_owned(),
        });
    }

    /// Adds all objects of a migration that is not unfinished in this store.
    fn add_orphan(&mut self, id: &MigrationId, judged: MoveVerdict) {
        let is_on_shard = self.inventory.moves.iter().any(|m| &m.migration == id);
        let mut goes = judged.guards.is_some();
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
                    if !judged.of_all =>
                {
                    goes = true;
                    self.add(object, SweepVerdict::Remove, STREAM);
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
                | ObjectKind::Schema => self.add(object, judged.verdict, &judged.why),
            }
        }
        if goes {
            self.sweeps.push(Sweep::Migration {
                migration: id.clone(),
                guards: judged.guards,
            });
        }
    }

    /// Decides about the guard of one map's released keys.
    fn judge_released_keys(
        &mut self,
        ground: &SweepInput,
        released: &ReleasedKeys,
    ) -> (SweepVerdict, String) {
        let (verdict, mut why) = judge_released_keys(ground, &self.inventory.shard, released);
        let released_moves = self.inventory.released_moves.iter();
        let mut moved = released_moves.filter(|moved| moved.map == released.map);
        if let Some(moved) = moved.next_back().filter(|_| verdict != SweepVerdict::Keep) {
            why += &format!(
                "; shard {} took {} with version {}: nobody may write them there then",
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

fn judge_shard(
    ground: &SweepInput,
    inventories: &[Inventory],
    inventory: &Inventory,
) -> (Vec<Leftover>, Vec<Sweep>) {
    let mut shard = ShardVerdicts {
        inventory,
        leftovers: Vec::new(),
        sweeps: Vec::new(),
    };
    for id in orphans(ground, inventory) {
        let own = inventory.moves.iter().find(|m| &m.migration == id);
        let judged = in_use(ground, inventory, own, id)
            .or_else(|| unexplained(ground, own))
            .unwrap_or_else(|| judge_move(ground, inventories, inventory, own));
        shard.add_orphan(id, judged);
    }
    let released: Vec<(&ReleasedKeys, (SweepVerdict, String))> = inventory
        .released_keys
        .iter()
        .map(|released| (released, shard.judge_released_keys(ground, released)))
        .collect();
    for object in &inventory.objects {
        match &object.whose {
            ObjectOwner::Migration(id) if ground.live.contains(id) => {
                shard.add(object, SweepVerdict::Keep, "its migration has not ended");
            }
            ObjectOwner::Migration(_) => {}
            ObjectOwner::ReleasedKeys => match released
                .iter()
                .find(|(released, _)| is_of(object, released))
            {
                Some((_, (verdict, why))) => shard.add(object, *verdict, why),
                None => shard.add(object, SweepVerdict::Decide, NO_ROW),
            },
            ObjectOwner::Probe => shard.add(
                object,
                SweepVerdict::Remove,
                "the look that made it has ended",
            ),
            ObjectOwner::LiveProbe => {
                shard.add(
                    object,
                    SweepVerdict::Keep,
                    "somebody looks at the shard right now",
                );
            }
            ObjectOwner::Shared => shard.add(object, SweepVerdict::Keep, SHARED),
        }
    }
    let mut objects = inventory.objects.iter();
    if objects.any(|object| object.whose == ObjectOwner::Probe) {
        shard.sweeps.push(Sweep::Probes);
    }
    let similar = inventory.similar.iter().map(|similar| Leftover {
        shard: inventory.shard.clone(),
        object: similar.object.clone(),
        verdict: SweepVerdict::Keep,
        why: format!("not made by Shardwright: {}", similar.why),
    });
    shard.leftovers.extend(similar);
    (shard.leftovers, shard.sweeps)
}

/// Returns the migrations that left objects on this shard and are not unfinished.
fn orphans<'a>(ground: &SweepInput, inventory: &'a Inventory) -> BTreeSet<&'a MigrationId> {
    let objects = inventory.objects.iter();
    let ids = objects.filter_map(|object| match &object.whose {
        ObjectOwner::Migration(id) if !ground.live.contains(id) => Some(id),
        ObjectOwner::Migration(_)
        | ObjectOwner::ReleasedKeys
        | ObjectOwner::Probe
        | ObjectOwner::LiveProbe
        | ObjectOwner::Shared => None,
    });
    ids.collect()
}

const STREAM: &str = "no live migration reads it, and it refuses no write";
const NAME_OF_SERVER: &str = "commits on all databases of the server wait for it, and no migration that is known in this one needs it: a sweep of the database of its migration removes it; if that is lost, take the name out of synchronous_standby_names by hand";
const SHARED: &str = "goes with the last thing that needs it";
const NO_ROW: &str = "shardwright.away has no row for it: find out which keys it refuses, and drop it by hand if this shard owns them";

fn named(object: &Object) -> String {
    match &object.on {
        Some(table) => format!("{} {} on {table}", object.kind, object.name),
        None => format!("{} {}", object.kind, object.name),
    }
}

fn is_of(object: &Object, released: &ReleasedKeys) -> bool {
    // The names are guard_away_<map> for the function, and shardwright_guard_away_<map>_<event> for the triggers.
    object.name.contains(&released_keys_function(&released.map))
        || object.name == released.map.as_str()
}

/// Checks for another store's migration with a live agent. It is not leftover: this may be the wrong controller.
fn in_use(
    ground: &SweepInput,
    inventory: &Inventory,
    own: Option<&ObservedMove>,
    id: &MigrationId,
) -> Option<MoveVerdict> {
    let about = own.and_then(|own| own.about.as_ref())?;
    let foreign = about.incarnation != ground.incarnation;
    let busy = inventory.objects.iter().any(|object| {
        object.kind == ObjectKind::Session
            && object.whose == ObjectOwner::Migration(id.clone())
            && !object.name.contains("/holder/")
    });
    (foreign && busy).then(|| MoveVerdict {
        verdict: SweepVerdict::Keep,
        why: format!(
            "another control store ({}) ordered it and an agent works for it right now; if that store is lost, end that agent and look again",
            about.incarnation
        ),
        guards: None,
        of_all: true,
    })
}

/// Checks for another store's migration of a map that this store does not have. It is not leftover, even without a live
/// agent: its controller may be stopped.
fn unexplained(ground: &SweepInput, own: Option<&ObservedMove>) -> Option<MoveVerdict> {
    let own = own?;
    let about = own.about.as_ref()?;
    let mut maps = ground.maps.iter();
    let known = maps.any(|map| map.name == own.map) || ground.owners.contains_key(&own.map);
    (about.incarnation != ground.incarnation && !known).then(|| MoveVerdict {
        of_all: true,
        ..MoveVerdict::decide(format!(
            "another control store ({}) ordered it, about map {}, which this one does not know; if that store is lost, say who owns the keys: --owner {}={} or --owner {}={}",
            about.incarnation, own.map, own.map, about.source, own.map, about.target
        ))
    })
}

impl MoveVerdict {
    fn remove(why: &str, guards: Guards) -> Self {
        Self {
            verdict: SweepVerdict::Remove,
            why: why.to_owned(),
            guards: Some(guards),
            of_all: false,
        }
    }

    fn decide(why: String) -> Self {
        Self {
            verdict: SweepVerdict::Decide,
            why,
            guards: None,
            of_all: false,
        }
    }
}

impl Guards {
    /// Creates the decision to remove all objects of the migration. No keys stay refused.
    fn of(own: &ObservedMove) -> Self {
        let about = own.about.as_ref();
        Self {
            map: own.map.clone(),
            version: 0,
            refuse: None,
            keys: about.map(|about| about.keys.clone()),
            tables: about.map_or_else(Vec::new, |about| about.tables.clone()),
            copied: false,
            left_too: Vec::new(),
        }
    }
}

fn judge_move(
    ground: &SweepInput,
    inventories: &[Inventory],
    inventory: &Inventory,
    own: Option<&ObservedMove>,
) -> MoveVerdict {
    let Some(own) = own else {
        return MoveVerdict::decide(
            "shardwright.move has no row for it: find out which keys it refuses, and drop it by hand if this shard owns them".to_owned(),
        );
    };
    if own.register != Some(CLOSED) {
        return judge_open(ground, inventory, own, Guards::of(own));
    }
    let Some(about) = &own.about else {
        return MoveVerdict::decide(format!(
            "it refuses keys of map {}, and does not say which: drop it by hand if this shard owns them",
            own.map
        ));
    };
    let Some(owned_keys) = owned_keys_on(ground, &own.map, &inventory.shard, &about.keys) else {
        return MoveVerdict::decide(format!(
            "it refuses {} of map {}, which this store does not know; say who owns them: --owner {}={} or --owner {}={}",
            about.keys, own.map, own.map, about.source, own.map, about.target
        ));
    };
    if own.role == "target" && own.flipped.is_none() {
        return never_open::judge(ground, inventories, inventory, (own, about), &owned_keys);
    }
    let elsewhere = about.keys.minus(&owned_keys);
    if !elsewhere.is_empty() {
        return MoveVerdict {
            verdict: SweepVerdict::Close,
            why: format!(
                "another shard owns {elsewhere}: they stay refused here for good; `map check` finds their rows"
            ),
            guards: Some(Guards {
                refuse: Some(elsewhere),
                version: own.flipped.unwrap_or(own.map_version),
                ..Guards::of(own)
            }),
            of_all: false,
        };
    }
    if !ground.owners.contains_key(&own.map)
        && let Some(doubt) = doubt(inventories, inventory, own, about)
    {
        return MoveVerdict::decide(format!(
            "the map names this shard for {}, but {doubt}; say who owns them: --owner {}=SHARD",
            about.keys, own.map
        ));
    }
    MoveVerdict::remove(
        "this shard owns the keys: it takes writes for them again",
        Guards::of(own),
    )
}

/// Returns a reason why the map may be older than the fleet.
fn doubt(
    inventories: &[Inventory],
    inventory: &Inventory,
    own: &ObservedMove,
    about: &About,
) -> Option<String> {
    if let Some(rival) = rival(inventories, inventory, own) {
        return Some(format!(
            "shard {rival} was told that it owns them, and takes writes for them"
        ));
    }
    let mut ends = [&about.source, &about.target].into_iter();
    let unseen = ends.find(|end| !inventories.iter().any(|other| &other.shard == *end))?;
    Some(format!(
        "shard {unseen}, which may own them, was not looked at"
    ))
}

/// Returns another shard that accepts writes to the keys, and that has recorded the same flip as this shard or a later
/// one.
fn rival<'a>(
    inventories: &'a [Inventory],
    inventory: &Inventory,
    own: &ObservedMove,
) -> Option<&'a ShardName> {
    let mut others = inventories
        .iter()
        .filter(|other| other.shard != inventory.shard);
    let flipped_to = |row: &ObservedMove| {
        row.migration == own.migration
            && row.flipped.is_some()
            && row.flipped >= own.flipped
            && row.register != Some(CLOSED)
    };
    let rival = others.find(|other| other.moves.iter().any(flipped_to))?;
    Some(&rival.shard)
}

/// Decides about a shard that accepts writes to the keys. It continues to accept them, unless another shard is known to
/// own them.
fn judge_open(
    ground: &SweepInput,
    inventory: &Inventory,
    own: &ObservedMove,
    plain: Guards,
) -> MoveVerdict {
    let recorded = own.about.as_ref().zip(own.flipped);
    let owned_keys = recorded
        .and_then(|(about, _)| owned_keys_on(ground, &own.map, &inventory.shard, &about.keys));
    let (Some((about, version)), Some(owned_keys)) = (recorded, owned_keys) else {
        return MoveVerdict {
            verdict: SweepVerdict::Remove,
            why: "it refuses no write: the keys are open here".to_owned(),
            guards: Some(plain),
            of_all: false,
        };
    };
    let elsewhere = about.keys.minus(&owned_keys);
    if elsewhere.is_empty() {
        return MoveVerdict {
            verdict: SweepVerdict::Remove,
            why: "this shard owns the keys and takes writes for them".to_owned(),
            guards: Some(plain),
            of_all: false,
        };
    }
    if ground.owners.contains_key(&own.map) {
        return MoveVerdict {
            verdict: SweepVerdict::Close,
            why: format!(
                "another shard owns {elsewhere}, as you say: they are refused here for good"
            ),
            guards: Some(Guards {
                refuse: Some(elsewhere),
                version,
                ..plain
            }),
            of_all: false,
        };
    }
    MoveVerdict {
        verdict: SweepVerdict::Decide,
        why: format!(
            "this shard takes writes for {elsewhere} since version {version}, but the map names another: `reconcile`, or say who owns them: --owner {}=SHARD",
            own.map
        ),
        guards: None,
        of_all: false,
    }
}

/// Returns those of `keys` that `shard` owns; `None`: the owner is unknown.
fn owned_keys_on(
    ground: &SweepInput,
    map: &MapName,
    shard: &ShardName,
    keys: &KeySet,
) -> Option<KeySet> {
    if let Some(owner) = ground.owners.get(map) {
        return Some(if owner == shard {
            keys.clone()
        } else {
            keys.empty_set()
        });
    }
    let map = ground.maps.iter().find(|known| &known.name == map)?;
    Some(map.owned_by(shard).intersection(keys))
}

fn judge_released_keys(
    ground: &SweepInput,
    shard: &ShardName,
    released: &ReleasedKeys,
) -> (SweepVerdict, String) {
    let stated = ground.owners.contains_key(&released.map);
    match owned_keys_on(ground, &released.map, shard, &released.keys) {
        None => (
            SweepVerdict::Decide,
            format!(
                "it refuses {} of map {}, which this store does not know, for good; if this shard owns them: --owner {}={shard}",
                released.keys, released.map, released.map
            ),
        ),
        Some(owned_keys) if owned_keys.is_empty() => (
            SweepVerdict::Keep,
            format!(
                "another shard owns {}: they are refused here for good",
                released.keys
            ),
        ),
        Some(_) if stated => (
            SweepVerdict::Remove,
            "this shard owns the keys: it takes writes for them again".to_owned(),
        ),
        Some(owned_keys) => (
            SweepVerdict::Decide,
            format!(
                "the map names this shard for {owned_keys}, which it gave away with version {}; if it owns all of them: --owner {}={shard}",
                released.version, released.map
            ),
        ),
    }
}
