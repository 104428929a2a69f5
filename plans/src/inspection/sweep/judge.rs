//! What becomes of each object, and why that is safe; pure.

use super::super::inventory::{
    About, AwaySeen, CLOSED, Inventory, MoveSeen, Object, ObjectKind, Whose,
};
use super::{Ground, Guards, Leftover, Sweep, Verdict};
use crate::id::{MapName, MigrationId, ShardName};
use crate::key_set::KeySet;
use crate::names::away_function;
use std::collections::BTreeSet;

mod never_open;

/// The answer for one migration's register, guards and rows.
struct Judged {
    verdict: Verdict,
    why: String,
    guards: Option<Guards>,
    /// It holds for what refuses no write too: slots, publications, sessions.
    of_all: bool,
}

/// Everything of ours on the shards that were seen, with its verdict, and the tasks that carry them out.
#[must_use]
pub fn judge(ground: &Ground, seen: &[Inventory]) -> Vec<(Vec<Leftover>, Vec<Sweep>)> {
    seen.iter()
        .map(|inventory| judge_shard(ground, seen, inventory))
        .collect()
}

/// What is collected about one shard.
struct Shard<'a> {
    inventory: &'a Inventory,
    leftovers: Vec<Leftover>,
    sweeps: Vec<Sweep>,
}

impl Shard<'_> {
    fn add(&mut self, object: &Object, verdict: Verdict, why: &str) {
        self.leftovers.push(Leftover {
            shard: self.inventory.shard.clone(),
            object: named(object),
            verdict,
            why: why.to_owned(),
        });
    }

    /// Everything of a migration that this store does not hold for live.
    fn add_orphan(&mut self, id: &MigrationId, judged: Judged) {
        let is_here = self.inventory.moves.iter().any(|m| &m.migration == id);
        let mut goes = judged.guards.is_some();
        let whose = Whose::Migration(id.clone());
        let objects = self.inventory.objects.iter();
        for object in objects.filter(|object| object.whose == whose) {
            match object.kind {
                // The setting is the server's: a migration of another database of it may need the name.
                ObjectKind::StandbyName if !is_here => {
                    self.add(object, Verdict::Decide, NAME_OF_SERVER);
                }
                ObjectKind::Slot
                | ObjectKind::Publication
                | ObjectKind::StandbyName
                | ObjectKind::Session
                    if !judged.of_all =>
                {
                    goes = true;
                    self.add(object, Verdict::Remove, STREAM);
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

    /// The guard of one map's keys that were given away.
    fn judge_away(&mut self, ground: &Ground, away: &AwaySeen) -> (Verdict, String) {
        let (verdict, mut why) = judge_away(ground, &self.inventory.shard, away);
        let given = self.inventory.given.iter();
        let mut given = given.filter(|given| given.map == away.map);
        if let Some(given) = given.next_back().filter(|_| verdict != Verdict::Keep) {
            why += &format!(
                "; shard {} took {} with version {}: nobody may write them there then",
                given.to, given.keys, given.version
            );
        }
        if verdict == Verdict::Remove {
            self.sweeps.push(Sweep::Away {
                map: away.map.clone(),
            });
        }
        (verdict, why)
    }
}

fn judge_shard(
    ground: &Ground,
    seen: &[Inventory],
    inventory: &Inventory,
) -> (Vec<Leftover>, Vec<Sweep>) {
    let mut shard = Shard {
        inventory,
        leftovers: Vec::new(),
        sweeps: Vec::new(),
    };
    for id in orphans(ground, inventory) {
        let own = inventory.moves.iter().find(|m| &m.migration == id);
        let judged = in_use(ground, inventory, own, id)
            .or_else(|| unexplained(ground, own))
            .unwrap_or_else(|| judge_move(ground, seen, inventory, own));
        shard.add_orphan(id, judged);
    }
    let away: Vec<(&AwaySeen, (Verdict, String))> = inventory
        .away
        .iter()
        .map(|away| (away, shard.judge_away(ground, away)))
        .collect();
    for object in &inventory.objects {
        match &object.whose {
            Whose::Migration(id) if ground.live.contains(id) => {
                shard.add(object, Verdict::Keep, "its migration has not ended");
            }
            Whose::Migration(_) => {}
            Whose::Away => match away.iter().find(|(away, _)| is_of(object, away)) {
                Some((_, (verdict, why))) => shard.add(object, *verdict, why),
                None => shard.add(object, Verdict::Decide, NO_ROW),
            },
            Whose::Look => shard.add(object, Verdict::Remove, "the look that made it has ended"),
            Whose::LiveLook => {
                shard.add(
                    object,
                    Verdict::Keep,
                    "somebody looks at the shard right now",
                );
            }
            Whose::Shared => shard.add(object, Verdict::Keep, SHARED),
        }
    }
    let mut objects = inventory.objects.iter();
    if objects.any(|object| object.whose == Whose::Look) {
        shard.sweeps.push(Sweep::Looks);
    }
    let similar = inventory.similar.iter().map(|similar| Leftover {
        shard: inventory.shard.clone(),
        object: similar.object.clone(),
        verdict: Verdict::Keep,
        why: format!("not made by Shardwright: {}", similar.why),
    });
    shard.leftovers.extend(similar);
    (shard.leftovers, shard.sweeps)
}

/// Migrations that left something here and are not live.
fn orphans<'a>(ground: &Ground, inventory: &'a Inventory) -> BTreeSet<&'a MigrationId> {
    let objects = inventory.objects.iter();
    let ids = objects.filter_map(|object| match &object.whose {
        Whose::Migration(id) if !ground.live.contains(id) => Some(id),
        Whose::Migration(_) | Whose::Away | Whose::Look | Whose::LiveLook | Whose::Shared => None,
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
        of_all: true,
    })
}

/// Another store's migration about a map that this store does not have is not an orphan either, though nobody works for
/// it right now: its controller may be stopped.
fn unexplained(ground: &Ground, own: Option<&MoveSeen>) -> Option<Judged> {
    let own = own?;
    let about = own.about.as_ref()?;
    let mut maps = ground.maps.iter();
    let known = maps.any(|map| map.name == own.map) || ground.owners.contains_key(&own.map);
    (about.incarnation != ground.incarnation && !known).then(|| Judged {
        of_all: true,
        ..Judged::decide(format!(
            "another control store ({}) ordered it, about map {}, which this one does not know; if that store is lost, say who owns the keys: --owner {}={} or --owner {}={}",
            about.incarnation, own.map, own.map, about.source, own.map, about.target
        ))
    })
}

impl Judged {
    fn remove(why: &str, guards: Guards) -> Self {
        Self {
            verdict: Verdict::Remove,
            why: why.to_owned(),
            guards: Some(guards),
            of_all: false,
        }
    }

    fn decide(why: String) -> Self {
        Self {
            verdict: Verdict::Decide,
            why,
            guards: None,
            of_all: false,
        }
    }
}

impl Guards {
    /// Everything of the migration goes, and nothing stays refused.
    fn of(own: &MoveSeen) -> Self {
        let about = own.about.as_ref();
        Self {
            map: own.map.clone(),
            version: 0,
            refuse: None,
            keys: about.map(|about| about.keys.clone()),
            tables: about.map_or_else(Vec::new, |about| about.tables.clone()),
            brought: false,
            left_too: Vec::new(),
        }
    }
}

fn judge_move(
    ground: &Ground,
    seen: &[Inventory],
    inventory: &Inventory,
    own: Option<&MoveSeen>,
) -> Judged {
    let Some(own) = own else {
        return Judged::decide(
            "shardwright.move has no row for it: find out which keys it refuses, and drop it by hand if this shard owns them".to_owned(),
        );
    };
    if own.register != Some(CLOSED) {
        return judge_open(ground, inventory, own, Guards::of(own));
    }
    let Some(about) = &own.about else {
        return Judged::decide(format!(
            "it refuses keys of map {}, and does not say which: drop it by hand if this shard owns them",
            own.map
        ));
    };
    let Some(here) = owned_here(ground, &own.map, &inventory.shard, &about.keys) else {
        return Judged::decide(format!(
            "it refuses {} of map {}, which this store does not know; say who owns them: --owner {}={} or --owner {}={}",
            about.keys, own.map, own.map, about.source, own.map, about.target
        ));
    };
    if own.role == "target" && own.flipped.is_none() {
        return never_open::judge(ground, seen, inventory, (own, about), &here);
    }
    let elsewhere = about.keys.minus(&here);
    if !elsewhere.is_empty() {
        return Judged {
            verdict: Verdict::Close,
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
        && let Some(doubt) = doubt(seen, inventory, own, about)
    {
        return Judged::decide(format!(
            "the map names this shard for {}, but {doubt}; say who owns them: --owner {}=SHARD",
            about.keys, own.map
        ));
    }
    Judged::remove(
        "this shard owns the keys: it takes writes for them again",
        Guards::of(own),
    )
}

/// Why the map may be older than the fleet.
fn doubt(
    seen: &[Inventory],
    inventory: &Inventory,
    own: &MoveSeen,
    about: &About,
) -> Option<String> {
    if let Some(rival) = rival(seen, inventory, own) {
        return Some(format!(
            "shard {rival} was told that it owns them, and takes writes for them"
        ));
    }
    let mut ends = [&about.source, &about.target].into_iter();
    let unseen = ends.find(|end| !seen.iter().any(|other| &other.shard == *end))?;
    Some(format!(
        "shard {unseen}, which may own them, was not looked at"
    ))
}

/// Another shard that takes writes for the keys and was told of the flip that this one was told of, or of a later one.
fn rival<'a>(
    seen: &'a [Inventory],
    inventory: &Inventory,
    own: &MoveSeen,
) -> Option<&'a ShardName> {
    let mut others = seen.iter().filter(|other| other.shard != inventory.shard);
    let told = |row: &MoveSeen| {
        row.migration == own.migration
            && row.flipped.is_some()
            && row.flipped >= own.flipped
            && row.register != Some(CLOSED)
    };
    let rival = others.find(|other| other.moves.iter().any(told))?;
    Some(&rival.shard)
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
            of_all: false,
        };
    };
    let elsewhere = about.keys.minus(&here);
    if elsewhere.is_empty() {
        return Judged {
            verdict: Verdict::Remove,
            why: "this shard owns the keys and takes writes for them".to_owned(),
            guards: Some(plain),
            of_all: false,
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
            of_all: false,
        };
    }
    Judged {
        verdict: Verdict::Decide,
        why: format!(
            "this shard takes writes for {elsewhere} since version {version}, but the map names another: `reconcile`, or say who owns them: --owner {}=SHARD",
            own.map
        ),
        guards: None,
        of_all: false,
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
