//! The orphan sweep: what of ours stands on the shards that no live migration explains, what is done
//! about each, and why that is safe.
//!
//! A register or guard that refuses keys may be what keeps two shards from owning them. It goes only where
//! the map, or the operator, says who owns the keys: on the owner it is removed, elsewhere the refusal is made
//! permanent. Slots, publications and sessions refuse nothing and always go.

use super::inventory::{AwaySeen, CLOSED, Inventory, MoveSeen, Object, ObjectKind, Whose};
use crate::id::{MapName, MigrationId, ShardName};
use crate::key_set::KeySet;
use crate::names::away_function;
use crate::plan::ShardRef;
use crate::shard_map::ShardMap;
use crate::table::MovingTable;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What becomes of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It goes.
    Remove,
    /// It goes once its keys are refused for good by another guard.
    Close,
    /// It stays: it is needed, or not ours.
    Keep,
    /// Somebody has to say who owns the keys.
    Decide,
}

/// One object and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftover {
    /// Where it is.
    pub shard: ShardName,
    /// What it is, with its name.
    pub object: String,
    /// What becomes of it.
    pub verdict: Verdict,
    /// Why that is safe, or what is to be decided.
    pub why: String,
}

/// What the control store and the operator know.
#[derive(Debug, Clone, Default)]
pub struct Ground {
    /// The maps in force.
    pub maps: Vec<ShardMap>,
    /// Migrations that have not ended.
    pub live: BTreeSet<MigrationId>,
    /// Who owns all keys of a map that are closed somewhere, as the operator says.
    pub owners: BTreeMap<MapName, ShardName>,
    /// Random id of this control store.
    pub incarnation: String,
}

/// What an agent does on one shard, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepTask {
    /// The shard.
    pub shard: ShardRef,
    /// What to sweep.
    pub sweeps: Vec<Sweep>,
}

/// One thing to sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "sweep", rename_all = "snake_case")]
pub enum Sweep {
    /// What a migration left.
    Migration {
        /// The migration.
        migration: MigrationId,
        /// What becomes of register, guards and rows; none: they stay.
        guards: Option<Guards>,
    },
    /// The guard of all keys of a map that were given away; this shard owns them again.
    Away {
        /// The map.
        map: MapName,
    },
    /// Publications that a look at the load left.
    Looks,
}

/// How a migration's register and guards go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guards {
    /// The map.
    pub map: MapName,
    /// The version that the permanent guard names at least.
    pub version: i64,
    /// Keys that stay refused for good; empty: none.
    pub refuse: Option<KeySet>,
    /// The moving keys.
    pub keys: Option<KeySet>,
    /// The migration's tables.
    pub tables: Vec<MovingTable>,
    /// Rows and tables that it brought here go too: the shard never owned the keys.
    pub brought: bool,
}

/// What a sweep did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Swept {
    /// What was done, line by line, for people.
    pub done: Vec<String>,
}

/// The answer for one migration's register, guards and rows.
struct Judged {
    verdict: Verdict,
    why: String,
    guards: Option<Guards>,
}

/// Everything of ours on the shards that were seen, with its verdict, and the tasks that carry them out.
#[must_use]
pub fn judge(ground: &Ground, seen: &[Inventory]) -> Vec<(Vec<Leftover>, Vec<Sweep>)> {
    seen.iter()
        .map(|inventory| judge_shard(ground, seen, inventory))
        .collect()
}

fn judge_shard(
    ground: &Ground,
    seen: &[Inventory],
    inventory: &Inventory,
) -> (Vec<Leftover>, Vec<Sweep>) {
    let mut leftovers = Vec::new();
    let mut sweeps = Vec::new();
    let mut add = |object: &Object, verdict, why: &str| {
        leftovers.push(Leftover {
            shard: inventory.shard.clone(),
            object: named(object),
            verdict,
            why: why.to_owned(),
        });
    };
    let objects = inventory.objects.iter();
    let orphans: BTreeSet<&MigrationId> = objects
        .clone()
        .filter_map(|object| match &object.whose {
            Whose::Migration(id) if !ground.live.contains(id) => Some(id),
            Whose::Migration(_) | Whose::Away | Whose::Look | Whose::LiveLook | Whose::Shared => {
                None
            }
        })
        .collect();
    for id in orphans {
        let own = inventory.moves.iter().find(|m| &m.migration == id);
        let judged = in_use(ground, inventory, own, id)
            .unwrap_or_else(|| judge_move(ground, seen, inventory, own, id));
        let in_use = judged.verdict == Verdict::Keep;
        for object in objects
            .clone()
            .filter(|object| object.whose == Whose::Migration(id.clone()))
        {
            match object.kind {
                _ if in_use => add(object, Verdict::Keep, &judged.why),
                ObjectKind::Slot | ObjectKind::Publication | ObjectKind::Session => {
                    add(object, Verdict::Remove, STREAM);
                }
                ObjectKind::Trigger
                | ObjectKind::EventTrigger
                | ObjectKind::Function
                | ObjectKind::Register
                | ObjectKind::Rows
                | ObjectKind::Schema => add(object, judged.verdict, &judged.why),
            }
        }
        if !in_use {
            sweeps.push(Sweep::Migration {
                migration: id.clone(),
                guards: judged.guards,
            });
        }
    }
    let away: Vec<(&AwaySeen, Verdict, String)> = inventory
        .away
        .iter()
        .map(|away| {
            let (verdict, mut why) = judge_away(ground, &inventory.shard, away);
            let mut given = inventory.given.iter().filter(|given| given.map == away.map);
            if let Some(given) = given.next_back().filter(|_| verdict != Verdict::Keep) {
                why += &format!(
                    "; shard {} took {} with version {}: nobody may write them there then",
                    given.to, given.keys, given.version
                );
            }
            if verdict == Verdict::Remove {
                sweeps.push(Sweep::Away {
                    map: away.map.clone(),
                });
            }
            (away, verdict, why)
        })
        .collect();
    for object in objects {
        match &object.whose {
            Whose::Migration(id) if ground.live.contains(id) => {
                add(object, Verdict::Keep, "its migration has not ended");
            }
            Whose::Migration(_) => {}
            Whose::Away => match away.iter().find(|(away, ..)| is_of(object, away)) {
                Some((_, verdict, why)) => add(object, *verdict, why),
                None => add(object, Verdict::Decide, NO_ROW),
            },
            Whose::Look => add(object, Verdict::Remove, "the look that made it has ended"),
            Whose::LiveLook => add(
                object,
                Verdict::Keep,
                "somebody looks at the shard right now",
            ),
            Whose::Shared => add(object, Verdict::Keep, SHARED),
        }
    }
    if inventory
        .objects
        .iter()
        .any(|object| object.whose == Whose::Look)
    {
        sweeps.push(Sweep::Looks);
    }
    leftovers.extend(inventory.similar.iter().map(|similar| Leftover {
        shard: inventory.shard.clone(),
        object: similar.object.clone(),
        verdict: Verdict::Keep,
        why: format!("not made by Shardwright: {}", similar.why),
    }));
    (leftovers, sweeps)
}

const STREAM: &str = "no live migration reads it, and it refuses no write";
const SHARED: &str = "goes with the last thing that needs it";
const NO_ROW: &str = "shardwright.away has no row for it: find out which keys it refuses, and drop it by hand if this shard owns them";

fn named(object: &Object) -> String {
    match &object.on {
        Some(table) => format!("{} {} on {table}", object.kind, object.name),
        None => format!("{} {}", object.kind, object.name),
    }
}

fn is_of(object: &Object, away: &AwaySeen) -> bool {
    // Function guard_away_<map>, triggers shardwright_guard_away_<map>_<event>.
    object.name.contains(&away_function(&away.map)) || object.name == away.map.as_str()
}

/// Another store's migration that somebody works for is not an orphan: this controller may be the wrong one.
fn in_use(
    ground: &Ground,
    inventory: &Inventory,
    own: Option<&MoveSeen>,
    id: &MigrationId,
) -> Option<Judged> {
    let about = own.and_then(|own| own.about.as_ref())?;
    let foreign = about.incarnation != ground.incarnation;
    let busy = inventory.objects.iter().any(|object| {
        object.kind == ObjectKind::Session
            && object.whose == Whose::Migration(id.clone())
            && !object.name.contains("/holder/")
    });
    (foreign && busy).then(|| Judged {
        verdict: Verdict::Keep,
        why: format!(
            "another control store ({}) ordered it and an agent works for it right now; if that store is lost, end that agent and look again",
            about.incarnation
        ),
        guards: None,
    })
}

fn judge_move(
    ground: &Ground,
    seen: &[Inventory],
    inventory: &Inventory,
    own: Option<&MoveSeen>,
    id: &MigrationId,
) -> Judged {
    let Some(own) = own else {
        return Judged {
            verdict: Verdict::Decide,
            why: "shardwright.move has no row for it: find out which keys it refuses, and drop it by hand if this shard owns them".to_owned(),
            guards: None,
        };
    };
    let plain = |brought| Guards {
        map: own.map.clone(),
        version: 0,
        refuse: None,
        keys: own.about.as_ref().map(|about| about.keys.clone()),
        tables: own
            .about
            .as_ref()
            .map_or_else(Vec::new, |about| about.tables.clone()),
        brought,
    };
    let remove = |why: &str, brought| Judged {
        verdict: Verdict::Remove,
        why: why.to_owned(),
        guards: Some(plain(brought)),
    };
    let decide = |why: String| Judged {
        verdict: Verdict::Decide,
        why,
        guards: None,
    };
    if own.register != Some(CLOSED) {
        return judge_open(ground, inventory, own, plain(false));
    }
    let Some(about) = &own.about else {
        return decide(format!(
            "it refuses keys of map {}, and does not say which: drop it by hand if this shard owns them",
            own.map
        ));
    };
    let Some(here) = owned_here(ground, &own.map, &inventory.shard, &about.keys) else {
        return decide(format!(
            "it refuses {} of map {}, which this store does not know; say who owns them: --owner {}={} or --owner {}={}",
            about.keys, own.map, own.map, about.source, own.map, about.target
        ));
    };
    let never_open = own.role == "target" && own.flipped.is_none();
    if never_open && !here.is_empty() {
        return decide(format!(
            "this shard never took writes for {}, so its copy may lack rows; shard {} has them",
            about.keys, about.source
        ));
    }
    if never_open {
        return remove(
            "this shard never owned the keys: what was brought here is on the shard that they were to leave",
            own.brought,
        );
    }
    if here.is_empty() || here != about.keys {
        return Judged {
            verdict: Verdict::Close,
            why: format!(
                "another shard owns {}: they stay refused here for good; `map check` finds their rows",
                about.keys.minus(&here)
            ),
            guards: Some(Guards {
                refuse: Some(about.keys.minus(&here)),
                version: own.flipped.unwrap_or(own.map_version),
                ..plain(false)
            }),
        };
    }
    let rival = seen.iter().find(|other| {
        let rows = other.moves.iter();
        other.shard != inventory.shard
            && rows.clone().any(|row| {
                &row.migration == id && row.flipped > own.flipped && row.register != Some(CLOSED)
            })
    });
    match rival.filter(|_| !ground.owners.contains_key(&own.map)) {
        Some(rival) => decide(format!(
            "the map names this shard, but shard {} was told later that it owns {}; say who does: --owner {}=SHARD",
            rival.shard, about.keys, own.map
        )),
        None => remove(
            "this shard owns the keys: it takes writes for them again",
            false,
        ),
    }
}

/// A shard that takes writes for the keys goes on so, unless it is known that another one owns them.
fn judge_open(ground: &Ground, inventory: &Inventory, own: &MoveSeen, plain: Guards) -> Judged {
    let told = own.about.as_ref().zip(own.flipped);
    let here =
        told.and_then(|(about, _)| owned_here(ground, &own.map, &inventory.shard, &about.keys));
    let (Some((about, version)), Some(here)) = (told, here) else {
        return Judged {
            verdict: Verdict::Remove,
            why: "it refuses no write: the keys are open here".to_owned(),
            guards: Some(plain),
        };
    };
    let elsewhere = about.keys.minus(&here);
    if elsewhere.is_empty() {
        return Judged {
            verdict: Verdict::Remove,
            why: "this shard owns the keys and takes writes for them".to_owned(),
            guards: Some(plain),
        };
    }
    if ground.owners.contains_key(&own.map) {
        return Judged {
            verdict: Verdict::Close,
            why: format!(
                "another shard owns {elsewhere}, as you say: they are refused here for good"
            ),
            guards: Some(Guards {
                refuse: Some(elsewhere),
                version,
                ..plain
            }),
        };
    }
    Judged {
        verdict: Verdict::Decide,
        why: format!(
            "this shard takes writes for {elsewhere} since version {version}, but the map names another: `reconcile`, or say who owns them: --owner {}=SHARD",
            own.map
        ),
        guards: None,
    }
}

/// Those of `keys` that `shard` owns; none: nobody knows.
fn owned_here(ground: &Ground, map: &MapName, shard: &ShardName, keys: &KeySet) -> Option<KeySet> {
    if let Some(owner) = ground.owners.get(map) {
        return Some(if owner == shard {
            keys.clone()
        } else {
            keys.none()
        });
    }
    let map = ground.maps.iter().find(|known| &known.name == map)?;
    Some(map.owned_by(shard).intersection(keys))
}

fn judge_away(ground: &Ground, shard: &ShardName, away: &AwaySeen) -> (Verdict, String) {
    let stated = ground.owners.contains_key(&away.map);
    match owned_here(ground, &away.map, shard, &away.keys) {
        None => (
            Verdict::Decide,
            format!(
                "it refuses {} of map {}, which this store does not know, for good; if this shard owns them: --owner {}={shard}",
                away.keys, away.map, away.map
            ),
        ),
        Some(here) if here.is_empty() => (
            Verdict::Keep,
            format!(
                "another shard owns {}: they are refused here for good",
                away.keys
            ),
        ),
        Some(_) if stated => (
            Verdict::Remove,
            "this shard owns the keys: it takes writes for them again".to_owned(),
        ),
        Some(here) => (
            Verdict::Decide,
            format!(
                "the map names this shard for {here}, which it gave away with version {}; if it owns all of them: --owner {}={shard}",
                away.version, away.map
            ),
        ),
    }
}

#[cfg(test)]
mod tests;
